"""What the fixtures are made of: a throw-away Valkey, the whole site under `manage.py up`, waiting for a fact."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from soureh_site import valkey

ROOT = Path(__file__).resolve().parent.parent
Found = TypeVar("Found")

CHROMIUM_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def until(ask: Callable[[], Found], *, within_s: float = 60.0, every_s: float = 0.05, what: str = "") -> Found:
    """Return the first true answer of `ask`; AssertionError if there is none in time."""
    end = time.monotonic() + within_s
    while not (found := ask()):
        assert time.monotonic() < end, f"not within {within_s:.0f} s: {what or ask}"
        time.sleep(every_s)
    return found


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def children(pid: int) -> list[int]:
    """Return the processes that a process has started (Linux)."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def descendants(pid: int) -> list[int]:
    """Return the processes below one (Linux)."""
    return [one for child in children(pid) for one in (child, *descendants(child))]


def chromium() -> str | None:
    """Return the path of the browser, if this machine has one."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


class Valkey:
    """An embedded Valkey as the site starts it, for the length of a `with`."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="soureh-test-"))
        self.server = valkey.Valkey(run=self.folder, data=self.folder)
        self.url, self.sandbox_url = self.server.url, self.server.sandbox_url

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(self.server.prepare(), stdout=subprocess.DEVNULL)
        try:
            until(self.server.is_ready, what="valkey answers")
        except BaseException:
            self.process.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)


class Site:
    """The whole site under `manage.py up`: its own folder, database and port; every process is real."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.lines: list[str] = []
        removed = {"REDIS_URL", "SANDBOX_REDIS_URL", "DJANGO_ALLOW_ASYNC_UNSAFE", "DATABASE_URL"}
        self.environment = {key: value for key, value in os.environ.items() if key not in removed}
        self.environment |= {"SOUREH_VAR": str(folder), "PYTHONUNBUFFERED": "1", **environment}
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, *, within_s: float = 150.0) -> None:
        """Start `up` and return once it has said that it is ready."""
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--port", str(self.port)],
            env=self.environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        end = time.monotonic() + within_s
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith("Ready:"):
                return
            assert time.monotonic() < end, self.lines
        self.process.stdout.close()
        raise AssertionError(f"up ended with {self.process.wait()}: {self.lines}")

    def stop(self, number: int = signal.SIGINT) -> int:
        """Signal the manager, and return its exit status once it has ended."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=60)
        self.lines += rest.splitlines()
        return self.process.returncode

    def manage(self, *arguments: str) -> str:
        """Run a management command with the site's own settings and return what it printed."""
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            env=self.environment,
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def ask(self, expression: str) -> Any:
        """Return the value of a Python expression in the site's Django (models imported, value through JSON)."""
        code = (
            "import json;from bots.models import *;from games.models import *;from ladder.models import *;"
            "from django.db.models import *;from soureh_site.accounts.models import User;"
            f"print('=' + json.dumps({expression}, default=str))"
        )
        return json.loads(self.manage("shell", "--no-imports", "-c", code).rpartition("=")[2])

    def processes(self) -> dict[int, str]:
        """Return the command line of every process that runs for this site, but the manager itself, by pid (Linux)."""
        marks = {f"SOUREH_UP={self.folder}".encode(), f"SOUREH_VAR={self.folder}".encode()}
        return {pid: line for pid, line, held in _processes() if marks & held or str(self.folder) in line}


def _processes() -> list[tuple[int, str, set[bytes]]]:
    """Return pid, command line and environment of every process that can be read."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            held = set((entry / "environ").read_bytes().split(b"\0"))
        except OSError:
            continue
        if line:
            found.append((int(entry.name), line, held))
    return found
