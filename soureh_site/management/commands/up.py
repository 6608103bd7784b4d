"""`manage.py up`: run the whole site on this machine, until Ctrl-C.

Migrates, seeds, starts Valkey (unless REDIS_URL names a Redis), the web server, the trusted and the sandboxed
workers and beat, and keeps them alive. A guard process stops all of them if this one is killed.
"""

import fcntl
import json
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, Any, NoReturn

import redis
from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import OperationalError

from bots.sandbox import own_cgroups, probe
from soureh_site import guard, logs
from soureh_site.children import ChildFailed, Children
from soureh_site.collecting import collect_if_changed
from soureh_site.first_start import create_first_administrator
from soureh_site.redis_address import use_redis
from soureh_site.valkey import Valkey

HOST = "127.0.0.1"
LOCK_WAIT_S = 20.0
ROTATE_S = 10.0
# All that a sandboxed worker inherits of this environment: nothing by which it could find the site's secrets.
SANDBOX_INHERITS = ("PATH", "LANG", "LC_ALL", "TZ", "LOG_LEVEL", "BOT_PYTHON", "BOT_PACKAGES")


class Command(BaseCommand):
    """Run everything, say where, and end cleanly."""

    help = "Run the whole site: database, Valkey, workers and web server, until Ctrl-C."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the port."""
        parser.add_argument("--port", type=_port, default=8000, help="port on 127.0.0.1 (default: 8000)")

    def handle(self, *, port: int, **_: Any) -> None:
        """Start, stay, stop; CommandError (status 1) if something keeps failing."""
        self.address = f"http://{HOST}:{port}/"
        _log_to_file(settings.VAR / "log" / "up.log")
        lock = self._lock(settings.VAR / "up.lock")
        mark = f"SOUREH_UP={settings.VAR}"
        self._clear_remains(lock, mark)
        _require_free(port)
        # Whatever starts from here on must not stand in the way of the bots' cgroups.
        own_cgroups()
        run_dir = Path(tempfile.mkdtemp(prefix="soureh-"))
        _write(lock, {"pid": os.getpid(), "address": self.address, "run_dir": str(run_dir)})
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupt)
        children = Children(folder=settings.VAR, run_dir=run_dir, mark=mark, keep_open=[lock.fileno()], say=self._say)
        try:
            self._start(children, run_dir, port)
            self._stay(children)
        except KeyboardInterrupt:
            self._say("stopping")
        except ChildFailed as error:
            raise CommandError(str(error)) from None
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            children.stop()

    def _start(self, children: Children, run_dir: Path, port: int) -> None:
        """Start everything in the order in which it is needed, and say where the site is."""
        sandbox_url = self._start_redis(children, run_dir)
        self._prepare_database()
        if password := create_first_administrator():
            self.stdout.write(f"First start: log in as admin with the one-time password {password}")
        collect_if_changed()
        trusted = {**os.environ, "SOUREH_VAR": str(settings.VAR), "PYTHONUNBUFFERED": "1"}
        web = children.start("web", _python("soureh_site.web", "--host", HOST, "--port", str(port)), trusted)
        children.start("results", _trusted_worker("results", slots=2), trusted)
        children.start("slow", _trusted_worker("slow", slots=1), trusted)
        beat = ("-A", "soureh_site.celery", "beat", "-s", str(settings.VAR / "beat"), "--max-interval", "1")
        children.start("beat", _python("celery", *beat), trusted)
        sandboxed = {key: os.environ[key] for key in SANDBOX_INHERITS if key in os.environ}
        sandboxed |= {"SANDBOX_REDIS_URL": sandbox_url, "PYTHONUNBUFFERED": "1"}
        children.start("matches", _sandboxed_worker("matches", "prefork", settings.SANDBOX_SLOTS), sandboxed)
        children.start("tables", _sandboxed_worker("tables", "solo", 1), sandboxed)
        children.start("answers", _sandboxed_worker("answers", "prefork", 1), sandboxed)
        children.wait_ready(web, self._is_healthy)
        self.stdout.write(f"Ready: {self.address}  (Ctrl-C stops it; logs are in {settings.VAR / 'log'})")
        self.stdout.flush()

    def _prepare_database(self) -> None:
        """Bring the database up to date and seed it. CommandError if it cannot be reached or written to."""
        try:
            call_command("migrate", verbosity=0, interactive=False)
            call_command("seed")
        except OperationalError as error:
            where = "DATABASE_URL" if os.environ.get("DATABASE_URL") else settings.DATABASES["default"]["NAME"]
            raise CommandError(f"{where}: this database cannot be used: {str(error).strip()}") from None

    def _start_redis(self, children: Children, run_dir: Path) -> str:
        """Start Valkey, or reach the Redis of REDIS_URL; return the address for sandboxed workers."""
        if os.environ.get("REDIS_URL"):
            try:
                redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=5).ping()
            except (redis.RedisError, OSError) as error:
                raise CommandError(f"REDIS_URL: no answer from there ({type(error).__name__})") from None
            return settings.SANDBOX_REDIS_URL
        server = Valkey(run=run_dir, data=settings.VAR / "valkey")
        child = children.start("valkey", server.prepare(), {"PATH": os.environ.get("PATH", "")})
        children.wait_ready(child, server.is_ready)
        use_redis(server.url)
        return server.sandbox_url

    def _stay(self, children: Children) -> NoReturn:
        """Keep everything alive, for ever."""
        if not (seen := probe()).ok:
            self._say(f"bots cannot be run on this machine, so no match is played: {seen.reason}")
        next_rotation = 0.0
        while True:
            children.tend()
            if time.monotonic() > next_rotation:
                children.rotate_logs()
                next_rotation = time.monotonic() + ROTATE_S
            time.sleep(0.2)

    def _is_healthy(self) -> bool:
        # By a name under which the site answers, which its own address need not be.
        name = settings.ALLOWED_HOSTS[0].lstrip(".").replace("*", HOST)
        asked = urllib.request.Request(self.address + "healthz", headers={"Host": name})
        try:
            with urllib.request.urlopen(asked, timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def _lock(self, path: Path) -> IO[str]:
        """Return the locked lock file; a killed run's guard keeps it until all is down, a live run for ever."""
        file = path.open("a+")
        end = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            except BlockingIOError:
                holder = _read(file)
            if _is_alive(holder.get("pid")) or time.monotonic() > end:
                where = f" at {holder['address']}" if "address" in holder else ""
                raise CommandError(f"it is running already{where} (process {holder.get('pid', 'unknown')})")
            time.sleep(0.1)

    def _clear_remains(self, lock: IO[str], mark: str) -> None:
        """End what a run has left over whose manager and guard were both killed."""
        if killed := guard.stop_marked(mark):
            self._say(f"ended {killed} processes of a run that was killed")
        if run_dir := _read(lock).get("run_dir"):
            shutil.rmtree(run_dir, ignore_errors=True)

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _log_to_file(path: Path) -> None:
    """Keep this process's log off the terminal, which shows changes of state alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = RotatingFileHandler(path, maxBytes=1_000_000, backupCount=1)
    handler.setFormatter(logs.OneLine(logs.FORMAT))
    logging.getLogger().handlers = [handler]


def _interrupt(*_: Any) -> NoReturn:
    raise KeyboardInterrupt


def _port(written: str) -> int:
    """Return the number of a port that one can listen on."""
    port = int(written)
    if not 1 <= port <= 65535:
        raise ValueError(f"expected 1 to 65535: {port}")
    return port


def _require_free(port: int) -> None:
    """Raise CommandError if another program listens on `port`."""
    with socket.socket() as probe_socket:
        probe_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe_socket.bind((HOST, port))
        except OSError as error:
            raise CommandError(f"port {port} cannot be used ({error.strerror}); choose another with --port") from None


def _read(file: IO[str]) -> dict[str, Any]:
    """Return what a run has written into its lock file; nothing if it was killed at it."""
    file.seek(0)
    try:
        return dict(json.loads(file.read() or "{}"))
    except ValueError:
        return {}


def _write(file: IO[str], content: dict[str, Any]) -> None:
    file.seek(0)
    file.truncate()
    file.write(json.dumps(content))
    file.flush()


def _is_alive(pid: Any) -> bool:
    if not isinstance(pid, int):
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _python(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", module, *arguments]


def _worker(app: str, queue: str, *options: str) -> list[str]:
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    return _python("celery", "-A", app, "-q", "worker", "-n", f"{queue}@%h", "-Q", queue, *quiet, *options)


def _trusted_worker(queue: str, *, slots: int) -> list[str]:
    return _worker("soureh_site.celery", queue, "-c", str(slots))


def _sandboxed_worker(queue: str, pool: str, slots: int) -> list[str]:
    return _worker("soureh_site.sandbox_worker", queue, "-P", pool, "-c", str(slots))
