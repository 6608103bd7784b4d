"""Start one bot in its jail: bubblewrap outside, the boot script inside.

Mode A: an unprivileged uid in a user namespace. Mode B: root without a user namespace, for hosts
that forbid them; the boot script drops to a uid that no other live bot has. Which one holds here
is for `probing` to say. Nothing is written to any disk; the bot's files travel through memory.
"""

import json
import logging
import os
import resource
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from .cgroups import BotCgroup, own_cgroups
from .ending import Ending, signal_name
from .errors import SandboxError
from .limits import THREADS, Limits
from .policy import filter_program
from .runtime import PACKAGES, Runtime, compiled, runtime

logger = logging.getLogger(__name__)

BOT_UID = 61001
# Mode B: a bot's uid is this plus a process id of its own, which no other live process has.
BOT_UID_BASE = 2_000_000_000
BOOT_S = 30.0
KILL_S = 10.0

# The bot is process 1 of its namespace: one process fewer to start, and bwrap names its pid.
MODE_A = ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL", "--as-pid-1"]
# Here bwrap could not signal a bot of another uid when the worker dies. It can its own process 1,
# and with that the kernel ends the whole namespace.
MODE_B = [
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    # For the boot script, to drop to the bot's uid; the bot has none of them.
    *("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"),
]
MODES = {"A": MODE_A, "B": MODE_B}
COMMON = [
    *("--die-with-parent", "--new-session", "--clearenv", "--setenv", "OPENBLAS_NUM_THREADS", "1"),
    # The host's name is nobody's business.
    *("--hostname", "bot"),
]


class Jail:
    """One running bot. Its pipes are the three non-blocking file descriptors; `pid` as this process sees it."""

    def __init__(
        self, process: subprocess.Popen[bytes], first: int, report: int, cgroup: BotCgroup | None = None
    ) -> None:
        """`first` is process 1 of the namespace: the bot itself, or in mode B its parent."""
        assert process.stdin and process.stdout and process.stderr
        self.pid = first
        self.stdin, self.stdout, self.stderr = process.stdin.fileno(), process.stdout.fileno(), process.stderr.fileno()
        self._process = process
        self._bot = self._first = os.pidfd_open(first)
        self._bwrap = os.pidfd_open(process.pid)
        # bwrap reports the end there too, and would die of a pipe that nobody holds open.
        self._report = report
        self._cgroup = cgroup
        self._ending: Ending | None = None
        for fd in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(fd, False)

    def wait(self, timeout_s: float) -> Ending | None:
        """Return how the bot ended, or None if it still runs after `timeout_s`.

        Raises:
            SandboxError: bwrap itself was killed, so that nothing is known about the bot.
        """
        if self._ending is None:
            if not _is_readable(self._bwrap, timeout_s):
                return None
            self._ending = self._reap()
        return self._ending

    def end_input(self) -> None:
        """Let the bot read to the end of what it was sent."""
        self._process.stdin.close()  # type: ignore[union-attr]

    def note_bot(self, pid: int) -> None:
        """Note that the bot is this child of the namespace's process 1, rather than that itself."""
        self.pid, self._bot = pid, os.pidfd_open(pid)

    def send(self, number: int) -> None:
        """Send the bot a signal, unless it has ended."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._bot, number)

    def close(self) -> None:
        """Kill the bot, reap bwrap, close every descriptor. Safe to call twice."""
        if self._bot < 0:
            return
        try:
            self.kill()
        finally:
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                pipe.close()  # type: ignore[union-attr]
            for fd in {self._bot, self._first, self._bwrap, self._report}:
                os.close(fd)
            self._bot = -1
            if self._cgroup is not None:
                self._cgroup.remove()

    def kill(self) -> None:
        """Kill and reap the bot; its pipes stay open, to be read to their end."""
        if self._process.returncode is not None:
            return
        if self._cgroup is not None:
            self._cgroup.kill()
        # It may have ended by itself meanwhile.
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._first, signal.SIGKILL)
        if not _is_readable(self._bwrap, KILL_S):
            logger.error("bwrap outlived its bot pid=%d", self._process.pid)
            self._process.kill()
        self._process.wait()

    def _reap(self) -> Ending:
        _, status, usage = os.wait4(self._process.pid, 0)
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        cpu_s = usage.ru_utime + usage.ru_stime
        if code < 0:
            raise SandboxError(f"bwrap was ended by {signal_name(-code)}")
        if code < 128:
            return Ending(code, None, cpu_s)
        is_out_of_memory = self._cgroup is not None and self._cgroup.is_out_of_memory()
        return Ending(None, code - 128, cpu_s, is_out_of_memory)


def launch(files: Mapping[str, bytes], *, limits: Limits, mode: str) -> Jail:
    """Start `/bot/bot.py` of `files` (path inside /bot -> content) and return when its locks hold.

    A bot dies with the thread that started it, not only with the process.

    Raises:
        SandboxError: bwrap is missing or did not come up, or a lock did not hold.
    """
    return Start(files, limits=limits, mode=mode).finish()


class Start:
    """A jail on its way up: it comes up by itself until `finish`. Either that or `abandon` must be called.

    Several that are begun before the first is finished share the waiting, most of which is the kernel's.
    """

    def __init__(
        self, files: Mapping[str, bytes | Path], *, limits: Limits | None, mode: str, modules: str = ""
    ) -> None:
        """Begin it. Raises SandboxError as `launch` does.

        Of the host's files it is given those that `files` has a path for. `modules` of the standard library
        (separated by commas) are imported before its orders are awaited.
        """
        self._limits, self._mode, self._modules = limits, mode, modules
        self._is_up = False
        self._program = filter_program()
        # Before anything is started: what runs beside this process would keep it from moving away.
        self._cgroups = own_cgroups().cgroups
        self._fds = _Descriptors()
        self._cgroup: BotCgroup | None = None
        self._jail: Jail | None = None
        try:
            self._process = self._spawn(files)
        except OSError as error:
            self._fds.close_all()
            raise SandboxError(f"the sandbox did not start: {error}") from error
        except BaseException:
            self._fds.close_all()
            raise

    def finish(self) -> Jail:
        """Return the jail when its locks hold; if they do not, nothing is left of it. Raises SandboxError."""
        try:
            return self._bring_up()
        except BaseException as error:
            self.abandon()
            if isinstance(error, OSError):
                raise SandboxError(f"the sandbox did not start: {error}") from error
            raise
        finally:
            self._fds.close_all()

    def abandon(self) -> None:
        """End it half-made; nothing of the bot has run, or what has is killed."""
        self._fds.close_all()
        try:
            if self._jail is not None:
                self._jail.close()
            _abandon(self._process)
        finally:
            if self._cgroup is not None:
                self._cgroup.remove()

    def _await_up(self) -> None:
        """Wait until the boot script waits for its orders. Raises SandboxError."""
        if not self._is_up:
            _await_mark(self._process, self._mark, b".", time.monotonic() + BOOT_S)
            self._is_up = True

    def _spawn(self, files: Mapping[str, bytes | Path]) -> subprocess.Popen[bytes]:
        fds, bot = self._fds, runtime()
        orders, self._orders_end = fds.pipe()
        self._mark, mark_end = fds.pipe()
        self._report, report_end = fds.pipe()
        argv = [bwrap_path(), *MODES[self._mode], *COMMON, "--json-status-fd", str(report_end)]
        argv += [*_tree(files, fds, bot), "--", bot.python, "-I", "-S", "-B", "-X", "utf8"]
        argv += ["/boot.py", str(orders), str(mark_end), self._modules, *_landlocked(bot)]
        # bwrap gets the reading end of its report too: were it to die of a closed pipe just after
        # a worker that was killed, its child would wait for it for ever.
        theirs = [orders, mark_end, report_end, *fds.memory]
        process = _spawn(argv, mode=self._mode, pass_fds=[*theirs, self._report])
        for fd in theirs:
            fds.close(fd)
        return process

    def _bring_up(self) -> Jail:
        """Open the jail's pidfd while the boot script still waits for its orders, then give them."""
        process, mode, limits = self._process, self._mode, self._limits
        if limits is None:
            raise RuntimeError("a jail wants limits")
        deadline = time.monotonic() + BOOT_S
        if self._cgroups:
            self._cgroup = self._cgroups.add(limits)
        first = _first_process(process, self._report, deadline)
        try:
            jail = self._jail = Jail(process, first, self._report, self._cgroup)
        except ProcessLookupError as error:
            # It has ended already, and bwrap says why.
            raise _failure(process) from error
        self._fds.give_away(self._report)
        if self._cgroup:
            self._cgroup.take(first)
        self._await_up()
        if mode == "B":
            jail.note_bot(_only_child(first))
            if self._cgroup and not self._cgroup.holds(jail.pid):
                self._cgroup.take(jail.pid)
        os.write(self._orders_end, _orders(first, mode, limits) + self._program)
        self._fds.close(self._orders_end)
        _await_mark(process, self._mark, b"k", deadline)
        return jail


def bwrap_path() -> str:
    """Return where bubblewrap is.

    Raises:
        SandboxError: it is not installed.
    """
    path = shutil.which("bwrap", path=f"/usr/bin{os.pathsep}{os.environ.get('PATH', '')}")
    if path is None:
        raise SandboxError("bubblewrap is not installed (apt install bubblewrap)")
    return path


def _spawn(argv: list[str], *, mode: str, pass_fds: list[int]) -> subprocess.Popen[bytes]:
    identity: dict[str, Any] = {}
    if mode == "A" and os.geteuid() == 0:
        # Root is exempt from RLIMIT_NPROC, even inside a user namespace.
        identity = {"user": BOT_UID, "group": BOT_UID, "extra_groups": []}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        argv, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, cwd="/", env={}, pass_fds=pass_fds, **identity
    )


def _orders(first: int, mode: str, limits: Limits) -> bytes:
    if mode == "A":
        return f"- {limits.address_space} {limits.cpu_s} {THREADS + 1}\n".encode()
    # With a process 1 of its own bwrap does not tell what the bot used, so that the kernel's
    # SIGKILL at a CPU limit could not be told from the host's: the clocks do without.
    return f"{BOT_UID_BASE + first} {limits.address_space} {resource.RLIM_INFINITY} {THREADS + 1}\n".encode()


def _await_mark(process: subprocess.Popen[bytes], mark: int, expected: bytes, deadline: float) -> None:
    if not _is_readable(mark, deadline - time.monotonic()) or os.read(mark, 1) != expected:
        raise _failure(process)


def _only_child(pid: int) -> int:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    children = path.read_text().split()
    if len(children) != 1:
        raise SandboxError(f"expected one process of a bot in {path}: {len(children)}")
    return int(children[0])


def _first_process(process: subprocess.Popen[bytes], report: int, deadline: float) -> int:
    """Read the process id of the namespace's process 1: the first of the JSON lines that bwrap reports."""
    text = b""
    while b"\n" not in text:
        chunk = _is_readable(report, deadline - time.monotonic()) and os.read(report, 4096)
        if not chunk:
            raise _failure(process)
        text += chunk
    return int(json.loads(text.split(b"\n")[0])["child-pid"])


def _failure(process: subprocess.Popen[bytes]) -> SandboxError:
    """Return why the jail did not come up, in the words of bwrap or of the boot script."""
    assert process.stderr
    os.set_blocking(process.stderr.fileno(), False)
    said = (process.stderr.read() or b"") if _is_readable(process.stderr.fileno(), 1.0) else b""
    lines = said.decode(errors="replace").strip().splitlines()
    return SandboxError(f"the sandbox did not start: {lines[-1] if lines else 'no reason given'}")


def _abandon(process: subprocess.Popen[bytes]) -> None:
    """Let a bwrap that was not wanted after all end by itself: without orders the boot script fails."""
    try:
        process.wait(KILL_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe and not pipe.closed:
            pipe.close()


def _tree(files: Mapping[str, bytes | Path], fds: "_Descriptors", bot: Runtime) -> Iterator[str]:
    """Yield the options that make the bot's whole world: read-only, /usr in part, no /proc, two devices."""
    # What bwrap makes unasked is for its owner alone, whom the bot is not in mode B.
    parents = {str(folder) for path in (bot.python, *bot.folders) for folder in Path(path).parents if folder.name}
    for folder in sorted({"/usr", "/usr/bin", "/usr/share", "/dev"} | parents):
        yield from ("--perms", "0555", "--dir", folder)
    for path in ("/usr/lib", "/usr/lib64", "/usr/share/zoneinfo"):
        yield from ("--ro-bind-try", path, path)
    for path in (*bot.folders, bot.python):
        yield from ("--ro-bind", path, path)
    if bot.packages:
        yield from ("--perms", "0555", "--dir", PACKAGES, "--ro-bind", bot.packages, PACKAGES)
    if bot.folders:
        # Its own shared library is found by the host's cache of them, which no bot has; `boot.py` takes the name away.
        yield from ("--setenv", "LD_LIBRARY_PATH", os.pathsep.join(bot.folders))
    for link in ("/lib", "/lib64"):
        yield from ("--symlink", "usr" + link, link)
    for device in ("/dev/null", "/dev/urandom"):
        yield from ("--dev-bind", device, device)
    yield from ("--perms", "0444", "--ro-bind-data", str(fds.file(_boot_code())), "/boot.py")
    for folder in sorted({"/bot", *(f"/bot/{folder}" for name in files for folder in _folders(name))}):
        yield from ("--perms", "0555", "--dir", folder)
    for name, content in files.items():
        if isinstance(content, Path):
            yield from ("--ro-bind", str(content), f"/bot/{name}")
        else:
            yield from ("--perms", "0444", "--ro-bind-data", str(fds.file(content)), f"/bot/{name}")
    yield from ("--remount-ro", "/", "--chdir", "/bot")


def _landlocked(bot: Runtime) -> list[str]:
    """Return what the boot script must allow beyond what every bot may read."""
    return [*bot.folders, bot.python, *([PACKAGES] if bot.packages else [])]


def _folders(name: str) -> list[str]:
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"expected a path inside /bot: {name!r}")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _boot_code() -> bytes:
    """Return the boot script as bytecode, which an interpreter runs under any name: a tenth of a start is spared."""
    return compiled("/boot.py", Path(__file__).with_name("boot.py").read_bytes())[1]


def _is_readable(fd: int, timeout_s: float) -> bool:
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(max(0, timeout_s * 1000)))


class _Descriptors:
    """The descriptors of one start, all closed at its end."""

    def __init__(self) -> None:
        self.memory: list[int] = []
        self._open: set[int] = set()

    def pipe(self) -> tuple[int, int]:
        ends = os.pipe()
        self._open.update(ends)
        return ends

    def file(self, content: bytes) -> int:
        """Return a descriptor of an anonymous file with this content, at its start."""
        fd = os.memfd_create("bot")
        self._open.add(fd)
        self.memory.append(fd)
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def close(self, fd: int) -> None:
        """Close one now; nothing happens if it is closed already."""
        if fd in self._open:
            self._open.discard(fd)
            os.close(fd)

    def give_away(self, fd: int) -> None:
        """Leave the closing of this one to somebody else."""
        self._open.discard(fd)

    def close_all(self) -> None:
        for fd in list(self._open):
            self.close(fd)
