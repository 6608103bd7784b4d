"""A file of a jail that gets its content late, when the jail has come up. No disk sees it, and no other process.

bwrap binds nothing but what has a name. So the file has one while the jail comes up, and is empty then, in a folder
that nobody else may enter; it gets its content when only the jail and this process still reach it.
"""

import logging
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path

from .makers import is_gone, own_mark

logger = logging.getLogger(__name__)

MEMORY = Path("/dev/shm")
BOT = "bot.py"
# The mark of the process that made it, and what makes it the only one of its name.
FOLDER = re.compile(r"soureh-bot-(\d+-\d+)-\w+")


class LateFile:
    """It is at `path` until `hide`, and is written to once, by `fill`. For reading by everybody who gets at it."""

    def __init__(self, *, group: int | None) -> None:
        """`group` is that of the bwrap that will bind it, if its uid is another one than ours. Raises OSError."""
        self.path = Path(tempfile.mkdtemp(prefix=f"soureh-bot-{own_mark()}-", dir=MEMORY)) / BOT
        self._fd = -1
        try:
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC)
            os.fchmod(self._fd, 0o444)
            if group is not None:
                os.chown(self.path.parent, -1, group)
                self.path.parent.chmod(0o710)
        except BaseException:
            self.close()
            raise

    def hide(self) -> None:
        """Take its name away; safe to call twice."""
        with suppress(FileNotFoundError):
            self.path.unlink()
        with suppress(FileNotFoundError):
            self.path.parent.rmdir()

    def fill(self, content: bytes) -> None:
        """Give it its content, for good. Raises OSError."""
        view = memoryview(content)
        while view:
            view = view[os.write(self._fd, view) :]
        self.close()

    def close(self) -> None:
        """Hide it, and let go of it; safe to call twice."""
        self.hide()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def sweep() -> int:
    """Remove the folders that killed processes have left, with nothing in them but an empty file; return how many."""
    removed = 0
    for path in MEMORY.glob("soureh-bot-*"):
        name = FOLDER.fullmatch(path.name)
        # What belongs to somebody else is no leftover of ours, whatever it is called, and a link leads nowhere of ours.
        if name is not None and is_gone(name[1]):
            with suppress(OSError):
                _remove(path)
                removed += 1
    if removed:
        logger.warning("removed folders of killed workers count=%d", removed)
    return removed


def _remove(path: Path) -> None:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        with suppress(FileNotFoundError):
            os.unlink(BOT, dir_fd=folder)
    finally:
        os.close(folder)
    path.rmdir()
