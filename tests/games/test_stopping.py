"""SIGTERM interrupts what is played, once, and nothing beside it.

Each in a process of its own: in this one a thread of some other test might take the signal.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRELUDE = """
import os, signal
from games.stopping import TERM, Stopped, hold_off, stoppable

def stop():
    os.kill(os.getpid(), signal.SIGTERM)

def mask():
    return signal.pthread_sigmask(signal.SIG_BLOCK, set())
"""

PENDING = """
hold_off()
stop()
print(signal.sigpending() == TERM)
try:
    with stoppable():
        print("went on")
except Stopped:
    print("stopped", not signal.sigpending() & TERM, mask() >= TERM)
"""

TWICE = """
hold_off()
try:
    with stoppable():
        try:
            stop()
        finally:
            stop()
            print("cleaned up")
except Stopped:
    print("stopped", signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
"""

NEVER = """
before = mask()
with stoppable():
    print(not mask() & TERM)
print(mask() == before, signal.getsignal(signal.SIGTERM) == signal.SIG_DFL)
"""


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param(PENDING, ["True", "stopped True True"], id="signal-outside-a-block-waits-for-it"),
        pytest.param(TWICE, ["cleaned up", "stopped True"], id="second-signal-does-not-interrupt-the-cleaning-up"),
        pytest.param(NEVER, ["True", "True True"], id="block-without-a-signal-leaves-everything-as-it-was"),
    ],
)
def test_signal_interrupts_what_is_played_alone(script: str, said: list[str]) -> None:
    command = [sys.executable, "-c", PRELUDE + script]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout.splitlines(), done.stderr, done.returncode) == (said, "", 0)
