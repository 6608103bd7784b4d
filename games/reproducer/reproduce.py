"""Ask a bot once more what it was asked in a match, here, as an ordinary program and WITHOUT A SANDBOX.

Beside this file lie `bot/` (the version that played, and the kit), `lines.jsonl` (what the bot was sent, from `hello`
to the turn in question) and `case.json` (what it answered, and what went wrong). `python3 reproduce.py` starts the
bot, feeds it the lines, and says whether it does again what was recorded. With `--debug` it gets them under pdb.

Exit status: 0 the same as recorded, 1 something else (under pdb: it failed), 2 the bot could not be started. Python 3.8
or newer, no packages.
"""

from __future__ import annotations

import argparse
import bdb
import contextlib
import json
import os
import pdb
import queue
import runpy
import signal
import subprocess
import sys
import threading
import time
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

HERE = Path(__file__).resolve().parent
LINE_MAX = 4096
FLOOD = 65536
LOG_MAX = 8 << 20
FREE_CPU_S = 0.05
LOOK_S = 0.02
# How long to watch for an answer that nobody asked for, before the turn in question is put.
EARLY_S = 0.2
INTERPRETER_MB = 32
SHOWN = 200
# After these it is asked where it was: it had not answered.
UNANSWERED = ("start", "timeout", "output")


class Fault(Exception):
    """What the bot did wrong: `kind` as the site names it, and what was seen."""

    def __init__(self, kind: str, seen: str) -> None:
        super().__init__(kind, seen)
        self.kind, self.seen = kind, seen

    def __str__(self) -> str:
        return f"fault {self.kind}: {self.seen}"


class Bot:
    """The bot as a process. `cpu_s` and `wall_s` are what its last answer, or its failing, took."""

    def __init__(self, folder: Path, limits: dict[str, Any]) -> None:
        self.limits = limits
        self.cpu_s: float | None = None
        self.wall_s = 0.0
        self._chunks: queue.Queue[bytes] = queue.Queue()
        self._said = b""
        self._is_closed = False
        self._log = bytearray()
        # As on the site a print reaches us at once; and a bot that hangs can be asked where.
        options = ["-u", "-B", "-E", "-s", "-X", "utf8", "-X", "faulthandler"]
        self._process = subprocess.Popen(
            [sys.executable, *options, "bot.py"],
            cwd=str(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **_memory_limit(limits),
        )
        self._threads = [threading.Thread(target=read, daemon=True) for read in (self._read_words, self._read_log)]
        for thread in self._threads:
            thread.start()
        self._cpu_mark = 0.0

    @property
    def log(self) -> str:
        """What it wrote to its stderr."""
        return self._log.decode("utf-8", "replace")

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            # It has ended, or reads no more: seen when it is asked.
            return

    def refuse_early_words(self, within_s: float) -> None:
        """Fault a bot that said something, or ended, before it was asked."""
        end = time.monotonic() + within_s
        self._take(0.0)
        while not self._said and self._process.poll() is None and time.monotonic() < end:
            self._take(LOOK_S)
        if self._said:
            raise Fault("protocol", f"an answer before the question: {self._said[:SHOWN]!r}")

    def answer(self, *, cpu_s: float, bank_s: float, wall_s: float, name: str) -> bytes:
        """Return the bot's next line within these limits; `name` is what the one on the wall is called."""
        asked = time.monotonic()
        try:
            while b"\n" not in self._said:
                if len(self._said) >= FLOOD:
                    raise Fault("output", f"{len(self._said)} bytes without a newline: {self._said[:SHOWN]!r}")
                if len(self._log) > LOG_MAX:
                    raise Fault("output", f"more than {LOG_MAX} bytes on stderr")
                if self._is_closed and not self._said and self._process.poll() is not None:
                    raise self._ending()
                self._take(LOOK_S)
                self._look(time.monotonic() - asked, cpu_s, bank_s, wall_s, name)
        finally:
            self.wall_s, self.cpu_s = time.monotonic() - asked, self._used_s()
        self._cpu_mark += self.cpu_s or 0.0
        line, _, rest = self._said.partition(b"\n")
        self._said = b""
        if len(line) > LINE_MAX:
            raise Fault("protocol", f"a line of more than {LINE_MAX} bytes: {line[:SHOWN]!r}")
        if rest:
            raise Fault("protocol", f"more than one line: {(line + rest)[:SHOWN]!r}")
        return line

    def close(self) -> None:
        """End the bot, having heard where it was if it still runs."""
        if self._process.poll() is None and hasattr(signal, "SIGABRT") and os.name == "posix":
            # The fault handler prints what every thread is doing.
            self._process.send_signal(signal.SIGABRT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
        self.kill()

    def kill(self) -> None:
        """End the bot without a question."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for thread in self._threads:
            thread.join(1)

    def _read_words(self) -> None:
        assert self._process.stdout is not None
        while True:
            chunk = os.read(self._process.stdout.fileno(), FLOOD)
            self._chunks.put(chunk)
            if not chunk:
                return

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        while True:
            chunk = os.read(self._process.stderr.fileno(), FLOOD)
            if not chunk:
                return
            if len(self._log) <= LOG_MAX:
                self._log += chunk

    def _take(self, within_s: float) -> None:
        try:
            chunk = self._chunks.get(timeout=within_s) if within_s else self._chunks.get_nowait()
        except queue.Empty:
            return
        self._is_closed = self._is_closed or not chunk
        self._said += chunk

    def _used_s(self) -> float | None:
        """Return the CPU seconds since the last answer; None where this system does not tell."""
        if not sys.platform.startswith("linux"):
            return None
        if self._process.returncode is None:
            try:
                # clock_getcpuclockid(3): the CPU clock of all threads of a process.
                return max(0.0, time.clock_gettime((~self._process.pid << 3) | 2) - self._cpu_mark)
            except OSError:
                return None
        import resource

        # It has ended, and is the only child that ever did.
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return max(0.0, used.ru_utime + used.ru_stime - self._cpu_mark)

    def _look(self, waited_s: float, cpu_s: float, bank_s: float, wall_s: float, name: str) -> None:
        used_s = self._used_s() or 0.0
        if used_s > cpu_s:
            raise Fault("timeout", f"move_s ran out: {used_s:.3f} s of CPU (move_s {cpu_s:g})")
        if used_s - FREE_CPU_S > bank_s:
            raise Fault("timeout", f"bank_s ran out: {used_s:.3f} s of CPU, {bank_s:.3f} s left in the bank")
        if waited_s > wall_s:
            kind = "start" if name == "start_s" else "timeout"
            raise Fault(kind, f"{name} ran out: {waited_s:.3f} s of {wall_s:g} s")

    def _ending(self) -> Fault:
        status = self._process.wait()
        self._threads[1].join(1)
        last = self.log.strip().rpartition("\n")[2][:SHOWN]
        if last.startswith("MemoryError"):
            return Fault("memory", f"MemoryError, with memory_mb {self.limits['memory_mb']}")
        how = f"exited with status {status}" if status >= 0 else f"killed by {signal.Signals(-status).name}"
        return Fault("crash", f"{how}: {last}" if last else how)


def _memory_limit(limits: dict[str, Any]) -> dict[str, Any]:
    """Return what has the bot started with the site's memory, where that can be had."""
    if not sys.platform.startswith("linux"):
        return {}
    import resource

    most = (limits["memory_mb"] + INTERPRETER_MB) << 20
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))}


def judge(line: bytes, turn: dict[str, Any]) -> str:
    """Return the move that a line answers to a turn with. Raises Fault."""
    try:
        answer = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Fault("protocol", f"not JSON ({error}): {line[:SHOWN]!r}") from error
    if not isinstance(answer, dict):
        raise Fault("protocol", f"expected one JSON object: {line[:SHOWN]!r}")
    if type(answer.get("id")) is not int or answer["id"] != turn["id"]:
        raise Fault("protocol", f"expected an answer with id {turn['id']}: {line[:SHOWN]!r}")
    move = answer.get("move")
    if not isinstance(move, str) or move not in turn["legal"]:
        raise Fault("illegal", f"answered {json.dumps(answer)[:SHOWN]}, which is none of {' '.join(turn['legal'])}")
    return move


def play(bot: Bot, lines: list[dict[str, Any]], recorded: dict[str, str], differs: list[str]) -> str:
    """Feed the bot and return what it does at the last line: a move, or "ready". Fills `differs`. Raises Fault."""
    for message in lines:
        is_last = message is lines[-1]
        if message["type"] == "turn":
            bot.refuse_early_words(EARLY_S if is_last else 0.0)
        bot.send(message)
        if message["type"] == "hello":
            _await_ready(bot, is_last)
        elif message["type"] == "turn":
            move = judge(_await_answer(bot, message, is_last), message)
            if is_last:
                return move
            if move != recorded[str(message["id"])]:
                differs.append(f"decision {message['id']}: recorded {recorded[str(message['id'])]}, here {move}")
    return "ready"


def _await_ready(bot: Bot, is_last: bool) -> None:
    start_s = bot.limits["start_s"] * (1 if is_last else 10)
    line = bot.answer(cpu_s=1e9, bank_s=1e9, wall_s=start_s, name="start_s")
    try:
        is_ready = json.loads(line.decode("utf-8")).get("type") == "ready"
    except (ValueError, AttributeError):
        is_ready = False
    if not is_ready:
        raise Fault("protocol", f'expected {{"type":"ready"}}: {line[:SHOWN]!r}')


def _await_answer(bot: Bot, turn: dict[str, Any], is_last: bool) -> bytes:
    # What it took on the way was within the limits when it was played; this machine may be slower.
    wall_s = bot.limits["wall_s"]
    if not is_last:
        return bot.answer(cpu_s=1e9, bank_s=1e9, wall_s=10 * wall_s, name="wall_s")
    return bot.answer(cpu_s=bot.limits["move_s"], bank_s=turn["bank_s"], wall_s=wall_s, name="wall_s")


def report(case: dict[str, Any], bot: Bot, lines: list[dict[str, Any]], done: str, differs: list[str]) -> None:
    """Print what happened here beside what was recorded."""
    expected = case["expected"]
    recorded = expected.get("move") or f"fault {expected['fault']}: {expected['seen'] or expected['reason']}"
    print(f"asked      {json.dumps(lines[-1], ensure_ascii=False)}")
    print(f"recorded   {recorded}")
    print(f"here       {done}")
    cpu = "CPU not known on this system" if bot.cpu_s is None else f"{bot.cpu_s * 1000:.1f} ms of CPU"
    print(f"time       {cpu}, {bot.wall_s * 1000:.1f} ms on the clock")
    print(f"           recorded {case['cpu_us'] / 1000:.1f} ms of CPU, {case['ms']} ms on the clock")
    limits = case["limits"]
    print(f"           limits: {limits['move_s']:g} s of CPU, {limits['wall_s']:g} s on the clock; the bank", end="")
    print(f" pays for more than {FREE_CPU_S * 1000:g} ms of CPU")
    for text in differs:
        print(f"differs    {text}")
    print("its log" if bot.log else "its log    is empty")
    for text in bot.log.splitlines()[-60:]:
        print(f"    {text}")


def debug(folder: Path, lines: Path) -> None:
    """Run the bot in this process on its lines; pdb opens where it fails, at `breakpoint()`, or on Ctrl-C."""
    # What the bot reads is the file; the debugger keeps the terminal.
    debugger = pdb.Pdb(stdin=sys.stdin, stdout=sys.stdout)

    def look(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if kind is not bdb.BdbQuit:
            traceback.print_exception(kind, error, trace)
            debugger.reset()
            debugger.interaction(None, trace)

    sys.excepthook = look
    sys.breakpointhook = lambda *_arguments, **_options: debugger.set_trace(sys._getframe(1))
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.argv = ["bot.py"]
    sys.stdin = lines.open(encoding="utf-8")
    runpy.run_path("bot.py", run_name="__main__")
    print("It came to its end. Put breakpoint() into it where you want it to stop.")


def main() -> int:
    """Reproduce the case beside this file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--debug", action="store_true", help="run the bot under pdb, without clocks and limits")
    options = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        # A console of another encoding shows what it can.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    case = json.loads((HERE / "case.json").read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in (HERE / "lines.jsonl").read_text(encoding="utf-8").split("\n") if line]
    place = f"hand {case['hand']}, decision {case['turn']}" if case["turn"] else "at the start"
    print(f"{case['bot']}, version {case['version']}, match {case['match']}, {place}")
    print("The bot runs here without a sandbox: it can do whatever you can.\n")
    if options.debug:
        debug(HERE / "bot", HERE / "lines.jsonl")
        return 0
    return reproduce(case, lines)


def reproduce(case: dict[str, Any], lines: list[dict[str, Any]]) -> int:
    """Run the bot, print what it did beside what was recorded, and return the exit status."""
    try:
        bot = Bot(HERE / "bot", case["limits"])
    except OSError as error:
        print(f"the bot could not be started: {error}")
        return 2
    expected = case["expected"]
    differs: list[str] = []
    try:
        done = play(bot, lines, case["moves"], differs)
        is_same = done == expected.get("move")
        bot.kill()
    except Fault as fault:
        if fault.kind in UNANSWERED:
            bot.close()
        else:
            bot.kill()
        done, is_same = str(fault), fault.kind == expected.get("fault")
    report(case, bot, lines, done, differs)
    print("\nThe same as recorded." if is_same else f"\nNot the same as recorded.{_excuse(expected)}")
    return 0 if is_same else 1


def _excuse(expected: dict[str, str]) -> str:
    if expected.get("fault") == "violation":
        return " On the site the sandbox's filter stopped a system call that bots may not make; there is none here."
    if expected.get("fault") in ("timeout", "start", "memory"):
        return " This machine may be faster, or give the bot more memory."
    return " If the bot draws lots, or looks at a clock, it may decide otherwise every time."


if __name__ == "__main__":
    sys.exit(main())
