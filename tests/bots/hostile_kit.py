"""What the hostile bots share; lies beside each of them in the sandbox as `kit.py`.

An attempt that is not refused ends the bot with a message, which its test sees as a crash.
System call numbers are those of x86-64.
"""

import ctypes
import json
import sys

libc = ctypes.CDLL(None, use_errno=True)


def hear():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def ready():
    hear()
    say('{"type":"ready"}')


def turn():
    """Return the next question."""
    while True:
        message = hear()
        if message["type"] == "turn":
            return message


def answer(message):
    say(json.dumps({"id": message["id"], "move": "d"}))


def reply(template):
    """Await a question and answer by this line, with the question's number for ID."""
    say(template.replace("ID", str(turn()["id"])))


def play():
    """Play as a good bot does, to the end."""
    while True:
        answer(turn())


def refused(call, *args, **kwargs):
    """Insist that a Python call fails."""
    try:
        result = call(*args, **kwargs)
    except (OSError, RuntimeError, ValueError):
        return
    sys.exit(f"not refused: {call.__name__}{args} gave {result!r}")


def refused_call(number, *args):
    """Insist that a raw system call fails; return its errno."""
    ctypes.set_errno(0)
    result = libc.syscall(number, *args)
    if result != -1:
        sys.exit(f"not refused: call {number}{args} gave {result}")
    return ctypes.get_errno()


def spin(seconds):
    """Burn CPU for a while."""
    import time

    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
