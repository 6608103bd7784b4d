"""Give each bot a control group (cgroup v2) of its own, where a subtree of them is this worker's to shape.

A second wall behind the rlimits, never in their place. It counts what they do not (the kernel's own memory), ends
whatever is left of a bot at once, and tells a bot that ran into its own limit from one that the host killed in need.
Where there is no such subtree nothing is changed, and the rlimits stand alone.

Never touches a process but this one and the bots that it starts, nor a cgroup that was not given away: the root of
the hierarchy, or one that systemd holds without `Delegate=`.
"""

import errno
import functools
import itertools
import logging
import os
import re
import select
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .limits import THREADS, Limits
from .makers import is_gone, own_mark

logger = logging.getLogger(__name__)

PROC = Path("/proc")
SYSTEMD = Path("/run/systemd/system")
CONTROLLERS = ("memory", "pids")
# By the rule of no internal processes a cgroup that passes controllers on holds none: ours move in here.
LEAF = "soureh-workers"
# The mark of the process that made it, and a number.
BOT = re.compile(r"soureh-bot-(\d+-\d+)-\d+")
# How a mount table writes blanks.
OCTAL = re.compile(r"\\([0-7]{3})")
REMOVE_S = 2.0


class NotDelegated(Exception):
    """There is no subtree of cgroups for this process; the text says why."""


class BotCgroup:
    """The cgroup of one bot, at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take(self, pid: int) -> None:
        """Move a process in; whatever it starts is in it too. Takes some milliseconds of waiting in the kernel."""
        _write(self.path / "cgroup.procs", str(pid))

    def holds(self, pid: int) -> bool:
        """Tell whether a process is in it."""
        return str(pid) in (self.path / "cgroup.procs").read_text().split()

    def kill(self) -> None:
        """Kill everything in it."""
        # Linux 5.14 brought it; before that the bot's pidfd has to do.
        with suppress(FileNotFoundError):
            _write(self.path / "cgroup.kill", "1")

    def is_out_of_memory(self) -> bool:
        """Tell whether the kernel killed in it because of this cgroup's own limit.

        `oom_kill` alone counts those too whom the host killed for its own want of memory, and those are not to blame.
        """
        try:
            lines = (self.path / "memory.events").read_text().splitlines()
        except FileNotFoundError:
            return False
        events = dict(line.split() for line in lines)
        return int(events.get("oom", 0)) > 0 and int(events.get("oom_kill", 0)) > 0

    def remove(self) -> None:
        """Remove it once it is empty, which its members' end makes it within a moment. Safe to call twice."""
        deadline = time.monotonic() + REMOVE_S
        while not self._is_removed():
            if time.monotonic() > deadline:
                logger.error("cgroup not removed path=%s", self.path)
                return
            self._await_change(deadline)

    def _is_removed(self) -> bool:
        try:
            self.path.rmdir()
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True

    def _await_change(self, deadline: float) -> None:
        """Wait until its last member has left, or for a moment: the last reference may outlive the last member."""
        with suppress(FileNotFoundError), open(self.path / "cgroup.events") as events:
            poller = select.poll()
            poller.register(events, select.POLLPRI)
            if "populated 1" in events.read():
                poller.poll(max(0.0, deadline - time.monotonic()) * 1000)
            else:
                poller.poll(5)


class Cgroups:
    """The subtree at `base` that was given to this worker, with `controllers` switched on for its children."""

    def __init__(self, base: Path, controllers: tuple[str, ...] = CONTROLLERS) -> None:
        self.base, self.controllers = base, controllers
        self._numbers = itertools.count()

    def add(self, limits: Limits) -> BotCgroup:
        """Make the cgroup of one bot.

        Raises:
            OSError: the kernel refused it.
        """
        cgroup = BotCgroup(self.base / f"soureh-bot-{own_mark()}-{next(self._numbers)}")
        cgroup.path.mkdir()
        try:
            for name, value in self._limits(limits):
                # A kernel without swap, or that does not count it, has no such file.
                if name != "memory.swap.max" or (cgroup.path / name).exists():
                    _write(cgroup.path / name, value)
        except BaseException:
            cgroup.remove()
            raise
        return cgroup

    def _limits(self, limits: Limits) -> Iterator[tuple[str, str]]:
        if "memory" in self.controllers:
            yield "memory.max", str(limits.address_space)
            yield "memory.oom.group", "1"
            yield "memory.swap.max", "0"
        if "pids" in self.controllers:
            # Threads count one by one; in mode B there is a process 1 beside the bot.
            yield "pids.max", str(THREADS + 2)

    def sweep(self) -> int:
        """Kill and remove what workers have left that were killed; return how many cgroups."""
        removed = 0
        for path in self.base.iterdir():
            name = BOT.fullmatch(path.name)
            if name is None or not is_gone(name[1]):
                continue
            left = BotCgroup(path)
            left.kill()
            left.remove()
            removed += 1
        if removed:
            logger.warning("removed cgroups of killed workers count=%d", removed)
        return removed


@dataclass(frozen=True)
class Found:
    """This process's subtree, or why there is none."""

    cgroups: Cgroups | None
    reason: str = ""


@functools.cache
def own_cgroups() -> Found:
    """Move this process to a leaf of the subtree that was given to it, and sweep there. Done once a process.

    Processes forked from this one later share what was found.
    """
    try:
        cgroups = take_over(delegated())
    except NotDelegated as error:
        logger.info("no cgroups, rlimits alone reason=%r", str(error))
        return Found(None, str(error))
    cgroups.sweep()
    logger.info("cgroups base=%s", cgroups.base)
    return Found(cgroups)


def delegated() -> Path:
    """Return the cgroup that holds this process, if it is its own to shape.

    Raises:
        NotDelegated: there is none, it lacks a controller, or it belongs to somebody else.
    """
    own = _own_cgroup()
    base = own.parent if own.name == LEAF else own
    if not (base / "cgroup.events").exists():
        raise NotDelegated("in the root cgroup, which is nobody's own")
    missing = set(CONTROLLERS) - set(_read(base / "cgroup.controllers").split())
    if missing:
        raise NotDelegated(f"no controllers here: {' '.join(sorted(missing))}")
    for path in (base, base / "cgroup.procs", base / "cgroup.subtree_control"):
        if not os.access(path, os.W_OK):
            raise NotDelegated(f"not delegated: {path} cannot be written to")
    # Root may write everywhere; systemd marks what it has given away.
    if os.geteuid() == 0 and SYSTEMD.exists() and not _is_marked(base):
        raise NotDelegated(f"not delegated: systemd holds {base} itself")
    return base


def take_over(base: Path, controllers: tuple[str, ...] = CONTROLLERS) -> Cgroups:
    """Leave `base` for a leaf below it and switch its controllers on.

    Raises:
        NotDelegated: others live in it, or the kernel refused; nothing is changed then.
    """
    leaf = base / LEAF
    is_in = _own_cgroup() == leaf
    try:
        if not is_in:
            leaf.mkdir(exist_ok=True)
            _write(leaf / "cgroup.procs", str(os.getpid()))
        wanted = set(controllers) - set(_read(base / "cgroup.subtree_control").split())
        if wanted:
            _write(base / "cgroup.subtree_control", " ".join(f"+{name}" for name in sorted(wanted)))
    except OSError as error:
        if not is_in:
            _go_back(base, leaf)
        why = "other processes live there" if error.errno == errno.EBUSY else str(error)
        raise NotDelegated(f"{base} cannot be shaped: {why}") from error
    return Cgroups(base, controllers)


def _go_back(base: Path, leaf: Path) -> None:
    with suppress(OSError):
        _write(base / "cgroup.procs", str(os.getpid()))
        leaf.rmdir()


def _own_cgroup() -> Path:
    """Return the folder of the v2 cgroup of this process."""
    lines = _read(PROC / "self" / "cgroup").splitlines()
    own = next((line[3:] for line in lines if line.startswith("0::/")), None)
    if own is None:
        raise NotDelegated("no cgroup v2 here")
    if ".." in own.split("/"):
        raise NotDelegated("in a cgroup outside of this namespace")
    for line in _read(PROC / "self" / "mountinfo").splitlines():
        fields, _, more = line.partition(" - ")
        if not more.startswith("cgroup2 "):
            continue
        root, point = (OCTAL.sub(lambda code: chr(int(code[1], 8)), field) for field in fields.split()[3:5])
        if own == root or own.startswith(root.rstrip("/") + "/"):
            return Path(point) / own[len(root.rstrip("/")) :].lstrip("/")
    raise NotDelegated(f"the cgroup {own} is mounted nowhere here")


def _is_marked(base: Path) -> bool:
    for name in ("user.delegate", "trusted.delegate"):
        with suppress(OSError):
            if os.getxattr(base, name) == b"1":
                return True
    return False


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError as error:
        raise NotDelegated(f"{path} cannot be read: {error.strerror}") from error


def _write(path: Path, value: str) -> None:
    """Write in one call, as the kernel wants it, without making a file that is not there."""
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)
