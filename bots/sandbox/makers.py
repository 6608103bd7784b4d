"""Tell by its name which process made a thing that may outlive it, so that what a killed one has left is found."""

import os
from pathlib import Path

PROC = Path("/proc")


def own_mark() -> str:
    """Return what no other process since the boot is called: `<id>-<ticks since the boot at which it started>`."""
    pid = os.getpid()
    return f"{pid}-{_started(pid)}"


def is_gone(mark: str) -> bool:
    """Tell whether the process with this `own_mark` has ended; another may have its id by now."""
    pid, started = map(int, mark.split("-"))
    return _started(pid) != started


def _started(pid: int) -> int | None:
    """Return when a process started, in ticks since the boot; None if it is gone."""
    try:
        stat = (PROC / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rpartition(b")")[2].split()[19])
