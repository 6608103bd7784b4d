"""Real sandboxed workers: started, given work, and asked what they have reported and what runs below them."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from games.keys import source_key
from tests.live import ROOT, descendants

CELERY = ("-m", "celery")


@contextmanager
def sandbox_worker(
    name: str, queue: str, log: Path, *, program: Sequence[str] = CELERY, **environment: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a sandboxed worker of one slot in a session of its own, which writes its log there; `program` is Celery's."""
    command = [sys.executable, *program, "-A", "soureh_site.sandbox_worker", "-q", "worker", "-n", name]
    command += ["-Q", queue, "-c", "1", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    # Such a worker has neither the address of the site's own Redis nor its settings.
    own = {key: value for key, value in os.environ.items() if key not in ("REDIS_URL", "DJANGO_SETTINGS_MODULE")}
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, cwd=ROOT, env=own | environment, stderr=stderr, start_new_session=True)
    try:
        yield process
    finally:
        # Its slot ends by itself when it is gone.
        process.kill()
        process.wait()


def put_sources(client: redis.Redis, sources: Mapping[str, bytes]) -> None:
    """Put the sources of a job, by hash, where its worker looks for them."""
    for sha256, source in sources.items():
        client.set(source_key(sha256), source)


def read_report(message: bytes) -> tuple[str, list[Any]]:
    """Return the task that a worker's message asks for, and its arguments."""
    document = json.loads(message)
    return document["headers"]["task"].removeprefix("games.tasks."), json.loads(base64.b64decode(document["body"]))[0]


def reports(client: redis.Redis) -> list[tuple[str, list[Any]]]:
    """Return what workers have reported, oldest first: task and arguments."""
    return [read_report(message) for message in reversed(client.lrange("results", 0, -1))]


def jails_below(pid: int) -> list[int]:
    """Return the processes of all jails below one: of each its bwrap and the bot (Linux)."""
    return [one for one in descendants(pid) if b"/boot.py" in Path(f"/proc/{one}/cmdline").read_bytes()]
