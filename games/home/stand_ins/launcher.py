"""Start one bot as an ordinary process, in a folder of its own. Stands in for `bots.sandbox.launcher`.

No jail: the bot has the user's files and network. What is the same is how it is run, its pipes and how its end is told.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bots.faults import BotFault
from bots.sandbox.ending import Ending
from bots.sandbox.errors import SandboxError
from bots.sandbox.limits import Limits

HERE = Path(__file__).parent
KILL_S = 10.0


class Jail:
    """One running bot. Its pipes are the three non-blocking file descriptors."""

    def __init__(self, process: subprocess.Popen[bytes], folder: str) -> None:
        if not (process.stdin and process.stdout and process.stderr):
            raise AssertionError("expected a process with three pipes")
        self.pid = process.pid
        self.stdin, self.stdout, self.stderr = process.stdin.fileno(), process.stdout.fileno(), process.stderr.fileno()
        self._process, self._folder = process, folder
        self._bot = os.pidfd_open(process.pid)
        self._ending: Ending | None = None
        for fd in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(fd, False)

    def wait(self, timeout_s: float) -> Ending | None:
        """Return how the bot ended.

        Raises:
            BotFault: it closed its output and lives on: on a site it would be waited for until its time is up.
        """
        if self._ending is None:
            poller = select.poll()
            poller.register(self._bot, select.POLLIN)
            if not poller.poll(timeout_s * 1000):
                raise BotFault("timeout", "wall_s ran out", "closed its standard output and lived on")
            self._ending = self._reap()
        return self._ending

    def send(self, number: int) -> None:
        """Send the bot a signal, unless it has ended."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._bot, number)

    def end_input(self) -> None:
        """Let the bot read to the end of what it was sent."""
        if self._process.stdin:
            self._process.stdin.close()

    def kill(self) -> None:
        """Kill and reap the bot, and what it started; its pipes stay open, to be read to their end."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if self._process.returncode is None:
            self._process.wait(KILL_S)

    def close(self) -> None:
        """Kill the bot, close every descriptor, remove its folder. Safe to call twice."""
        if self._bot < 0:
            return
        try:
            self.kill()
        finally:
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe:
                    pipe.close()
            os.close(self._bot)
            self._bot = -1
            shutil.rmtree(self._folder, ignore_errors=True)

    def _reap(self) -> Ending:
        _, status, usage = os.wait4(self.pid, 0)
        code = self._process.returncode = os.waitstatus_to_exitcode(status)
        cpu_s = usage.ru_utime + usage.ru_stime
        return Ending(None, -code, cpu_s) if code < 0 else Ending(code, None, cpu_s)


class Start:
    """A bot that was started; `finish` gives its process."""

    def __init__(self, files: Mapping[str, bytes], *, limits: Limits, mode: str) -> None:
        """Start it. Raises SandboxError: the folder or the process could not be made."""
        try:
            folder = tempfile.mkdtemp(prefix="soureh-bot-")
            try:
                self._jail = Jail(_spawn(files, folder, limits), folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        except OSError as error:
            raise SandboxError(f"the bot's process did not start: {error}") from error

    def finish(self) -> Jail:
        """Return the running bot."""
        return self._jail

    def abandon(self) -> None:
        """End it."""
        self._jail.close()


def _spawn(files: Mapping[str, bytes], folder: str, limits: Limits) -> subprocess.Popen[bytes]:
    for name, content in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    argv = [sys.executable, "-I", "-S", "-B", "-X", "utf8", str(HERE / "run.py"), str(HERE / "boot.py")]
    # An interpreter that keeps its shared library elsewhere may need to be told where.
    kept = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*argv, str(limits.address_space)],
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        bufsize=0,
        cwd=folder,
        env={"OPENBLAS_NUM_THREADS": "1", **kept},
        # An interrupt from the keyboard is the referee's business.
        start_new_session=True,
    )
