"""Jails that were started ahead: empty ones, which the next match's bots move into.

In an empty jail the interpreter is up and waits in the boot script for its orders. Of a bot it has nothing: the
source comes with the orders, and so do the limits and the uid, so that no jail is for a certain bot. It is never
used twice, and dies with its worker as every jail does. Where none fits, the jail is started when it is wanted.
"""

import logging
import os
import threading
from collections.abc import Mapping

from .errors import SandboxError
from .late_file import BOT, LateFile
from .launcher import BOT_UID, Start
from .limits import Limits

logger = logging.getLogger(__name__)

# What about every bot imports: a third of its start. No bot that moves in has a file that could shadow it.
MODULES = "json"


class Spare(Start):
    """A jail that comes up without a bot, until `give`; then it is a start like any other."""

    def __init__(self, files: Mapping[str, bytes], *, mode: str) -> None:
        """Begin it, with these files beside the bot. Raises SandboxError."""
        try:
            self._source = LateFile(group=BOT_UID if mode == "A" and os.geteuid() == 0 else None)
        except OSError as error:
            raise SandboxError(f"no place for the source of a bot: {error}") from error
        try:
            super().__init__({**files, BOT: self._source.path}, limits=None, mode=mode, modules=MODULES)
        except BaseException:
            self._source.close()
            raise

    @property
    def is_alive(self) -> bool:
        """Whether it is there and waits, as far as can be told."""
        return self._process.poll() is None

    def await_up(self) -> None:
        """Wait until it waits for its orders; at once if it does already. Raises SandboxError."""
        self._await_up()
        self._source.hide()

    def give(self, source: bytes, limits: Limits) -> None:
        """Make it the jail of a bot. Raises SandboxError."""
        self._limits = limits
        try:
            self._source.fill(source)
        except OSError as error:
            raise SandboxError(f"the source did not go into its jail: {error}") from error

    def abandon(self) -> None:
        """End it."""
        try:
            super().abandon()
        finally:
            self._source.close()


class Spares:
    """The empty jails of one process, all with the same files. Of its main thread: they die with who started them."""

    def __init__(self) -> None:
        self._waiting: list[Spare] = []
        self._files: Mapping[str, bytes] = {}
        self._mode = ""

    def __len__(self) -> int:
        """Return how many there are, dead ones included."""
        return len(self._waiting)

    def fill(self, count: int, *, files: Mapping[str, bytes], mode: str) -> None:
        """Have so many wait, with `files` beside the bot to come, and return when they are up.

        It takes its time, and a core: to be called when no bot is thinking there. That there are too few is no
        failure, and is only logged.
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("expected to be called from the main thread")
        if (files, mode) != (self._files, self._mode):
            self.close()
            self._files, self._mode = files, mode
        self._drop_dead()
        try:
            while len(self._waiting) < count:
                self._waiting.append(Spare(files, mode=mode))
            for spare in self._waiting:
                spare.await_up()
        except SandboxError as error:
            logger.warning("not started ahead error=%s", error)
            self.close()

    def take(self, files: Mapping[str, bytes], *, limits: Limits, mode: str) -> Spare | None:
        """Return a jail that has become that of a bot of these files, or None if none fits."""
        beside = {name: content for name, content in files.items() if name != BOT}
        if (beside, mode) != (self._files, self._mode):
            return None
        self._drop_dead()
        if not self._waiting:
            return None
        spare = self._waiting.pop()
        try:
            spare.give(files[BOT], limits)
        except SandboxError as error:
            logger.warning("not started ahead error=%s", error)
            spare.abandon()
            return None
        return spare

    def close(self) -> None:
        """End all that wait."""
        while self._waiting:
            self._waiting.pop().abandon()

    def _drop_dead(self) -> None:
        dead = [spare for spare in self._waiting if not spare.is_alive]
        self._waiting = [spare for spare in self._waiting if spare not in dead]
        for spare in dead:
            logger.warning("a jail that was started ahead has died")
            spare.abandon()


spares = Spares()


def begin(files: Mapping[str, bytes], *, limits: Limits, mode: str) -> Start:
    """Return a jail for a bot of these files, on its way up: one that waits, if it fits, or a new one.

    Raises:
        SandboxError: it cannot be had.
    """
    return spares.take(files, limits=limits, mode=mode) or Start(files, limits=limits, mode=mode)
