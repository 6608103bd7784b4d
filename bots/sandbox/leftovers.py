"""End what workers that were killed have left half-made.

bwrap's child waits for its parent before it knows whose death is to be its own. If the worker, and
so the parent, is killed in that moment, the child waits for ever: idle, no line of the bot run.
Never ends anything that still has its bwrap.
"""

import logging
import os
import signal
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)


def end_leftovers() -> int:
    """Kill every half-made jail without a parent that this process may kill; return how many."""
    ended = 0
    for folder in Path("/proc").iterdir():
        # Whatever ends, or belongs to somebody else, while it is looked at is no leftover of ours.
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            ended += folder.name.isdigit() and _end_if_left(int(folder.name))
    if ended:
        logger.warning("ended half-made jails count=%d", ended)
    return ended


def _end_if_left(pid: int) -> bool:
    # The descriptor first: then it is this very process that is looked at, and that is killed.
    process = os.pidfd_open(pid)
    try:
        if not _is_left(pid):
            return False
        signal.pidfd_send_signal(process, signal.SIGKILL)
        return True
    finally:
        os.close(process)


def _is_left(pid: int) -> bool:
    if not _is_bwrap_of_a_bot(pid):
        return False
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    is_first_of_its_own = fields["NSpid"].split()[1:] == ["1"]
    return is_first_of_its_own and not _is_bwrap_of_a_bot(int(fields["PPid"]))


def _is_bwrap_of_a_bot(pid: int) -> bool:
    argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if pid else []
    return argv[0:1] != [] and argv[0].endswith(b"/bwrap") and b"--die-with-parent" in argv and b"/boot.py" in argv
