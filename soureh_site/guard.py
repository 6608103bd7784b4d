"""Stop what `manage.py up` started once it is gone, however it went (kill -9 too). Standard library only.

`python guard.py RUN_DIR MARK` reads one line per process group on stdin: `+<group>` started, `-<group>` ended. Only
the manager holds the other end, so end-of-file means that it is gone or wants everything down: TERM the groups,
wait, KILL what is left, then whatever else carries MARK in its environment, and remove RUN_DIR.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

GRACE_S = 4.0


def main() -> None:
    """Follow the manager's lines to their end, then clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    run_dir, mark = sys.argv[1:]
    groups: dict[int, None] = {}
    for line in sys.stdin.buffer:
        group = int(line[1:])
        if line.startswith(b"+"):
            groups[group] = None
        else:
            groups.pop(group, None)
    stop(groups)
    stop_marked(mark)
    shutil.rmtree(run_dir, ignore_errors=True)


def stop(groups: Iterable[int]) -> None:
    """Stop the groups, the oldest, the broker, after the rest, so that they can still say goodbye to it."""
    in_order = [*groups]
    for batch in (in_order[1:], in_order[:1]):
        living = [group for group in batch if send(group, signal.SIGTERM)]
        end = time.monotonic() + GRACE_S
        while living and time.monotonic() < end:
            time.sleep(0.03)
            living = [group for group in living if send(group, 0)]
        for group in living:
            send(group, signal.SIGKILL)


def send(group: int, number: int) -> bool:
    """Signal a process group; False if it is gone."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def stop_marked(mark: str) -> int:
    """Kill every process whose environment holds `mark`, and return how many there were (Linux only).

    It finds what was started in the very moment in which its manager was killed, or has left its group.
    """
    wanted, killed = mark.encode(), 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0") and int(entry.name) != os.getpid():
                os.kill(int(entry.name), signal.SIGKILL)
                killed += 1
        except OSError:
            continue  # gone meanwhile, or another user's
    return killed


if __name__ == "__main__":
    main()
