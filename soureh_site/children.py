"""The processes of `manage.py up`: start them, keep them alive, stop them by way of the guard."""

import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from soureh_site import guard

logger = logging.getLogger(__name__)

GIVE_UP_DEATHS, GIVE_UP_S = 5, 60.0
LONGEST_DELAY_S = 5.0
LOG_BYTES = 10_000_000
TAIL_BYTES, TAIL_LINES = 8000, 15


class ChildFailed(Exception):
    """A child did not start, or keeps dying; the message names it and ends with the last lines of its log."""


@dataclass
class Child:
    """One process group: how it is started, and what became of it."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(repr=False)
    log: Path
    process: subprocess.Popen[bytes] | None = None
    deaths: deque[float] = field(default_factory=lambda: deque(maxlen=GIVE_UP_DEATHS))
    start_at: float = 0.0

    def tail(self) -> str:
        """Return the last lines of the child's log."""
        data = self.log.read_bytes()[-TAIL_BYTES:] if self.log.exists() else b""
        return "\n".join(data.decode(errors="replace").splitlines()[-TAIL_LINES:])


class Children:
    """All children of one manager. Its guard gets to know each of them and outlives it."""

    def __init__(self, *, folder: Path, run_dir: Path, mark: str, keep_open: Sequence[int], say: Callable[[str], None]):
        self.folder, self.run_dir, self.mark, self.say = folder, run_dir, mark, say
        self.keep_open = tuple(keep_open)
        self.children: dict[str, Child] = {}
        self.guard = self._start_guard()
        (folder / "log").mkdir(parents=True, exist_ok=True)

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Child:
        """Start a child in a group of its own, its output in `log/<name>.log`."""
        key, value = self.mark.split("=", 1)
        child = Child(name, command, {**environment, key: value}, self.folder / "log" / f"{name}.log")
        self.children[name] = child
        self._spawn(child)
        return child

    def wait_ready(self, child: Child, is_ready: Callable[[], bool], *, within_s: float = 120.0) -> None:
        """Return once `is_ready()`, keeping every child alive meanwhile.

        Raises:
            ChildFailed: it was not ready in time, or some child keeps dying.
        """
        end = time.monotonic() + within_s
        while not is_ready():
            self.tend()
            if time.monotonic() > end:
                raise ChildFailed(f"{child.name} did not start within {within_s:.0f} s; its log ends:\n{child.tail()}")
            time.sleep(0.05)

    def tend(self) -> None:
        """Start again what has ended, after a growing pause, and the guard at once.

        Raises:
            ChildFailed: one has ended too often in a minute.
        """
        if self.guard.poll() is not None:
            self.say("the guard ended; starting another")
            self._replace_guard()
        for child in self.children.values():
            if child.process is not None and child.process.poll() is not None:
                self._bury(child)
            if child.process is None and time.monotonic() >= child.start_at:
                self._spawn(child)

    def rotate_logs(self) -> None:
        """Move each log that has grown too long to `<name>.log.1`; the children go on writing."""
        for child in self.children.values():
            if child.log.exists() and child.log.stat().st_size > LOG_BYTES:
                shutil.copyfile(child.log, child.log.with_suffix(".log.1"))
                os.truncate(child.log, 0)  # they append, so that their next line comes first

    def stop(self) -> None:
        """Stop everything: the guard does it, here the ended are reaped."""
        while True:
            if self.guard.stdin is not None:
                self.guard.stdin.close()
            while self.guard.poll() is None:
                for child in self.children.values():
                    if child.process is not None:
                        child.process.poll()
                time.sleep(0.03)
            if self.guard.returncode == 0:
                return
            self._replace_guard()  # killed at its last work: another one does it

    def _spawn(self, child: Child) -> None:
        with child.log.open("ab") as log:
            child.process = subprocess.Popen(
                child.command,
                env=child.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=Path(__file__).resolve().parent.parent,
            )
        self._tell_guard(f"+{child.process.pid}")

    def _bury(self, child: Child) -> None:
        """Note that a child has ended, end what is left of its group, and set when it starts again."""
        process, child.process = child.process, None
        if process is None:
            return
        guard.send(process.pid, signal.SIGKILL)
        self._tell_guard(f"-{process.pid}")
        now = time.monotonic()
        child.deaths.append(now)
        recent = sum(now - death < GIVE_UP_S for death in child.deaths)
        how = f"signal {-process.returncode}" if process.returncode < 0 else f"status {process.returncode}"
        if recent >= GIVE_UP_DEATHS:
            raise ChildFailed(f"{child.name} keeps ending ({how}); its log ends:\n{child.tail()}")
        child.start_at = now + min(0.1 * 2**recent, LONGEST_DELAY_S)
        self.say(f"{child.name} ended ({how}); starting it again")

    def _start_guard(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(self.run_dir), self.mark],
            env={"PATH": os.environ.get("PATH", "")},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=self.keep_open,
        )

    def _replace_guard(self) -> None:
        self.guard = self._start_guard()
        for child in self.children.values():
            if child.process is not None:
                self._tell_guard(f"+{child.process.pid}")

    def _tell_guard(self, line: str) -> None:
        if self.guard.stdin is None:
            return
        try:
            self.guard.stdin.write(line.encode() + b"\n")
            self.guard.stdin.flush()
        except BrokenPipeError:
            logger.warning("guard gone; the next look at the children replaces it")
