"""A real sandboxed worker process: it announces itself, and heeds the operator's pause."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
import redis

from games import broker
from games.engine import Rules
from tests.live import ROOT, until

NAME = "tables@test"
QUEUE = "tables"


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def worker(client: redis.Redis) -> Iterator[subprocess.Popen]:
    """The worker of people's clicks, which needs no jail."""
    command = [sys.executable, "-m", "celery", "-A", "soureh_site.sandbox_worker", "-q", "worker", "-n", NAME]
    command += ["-Q", QUEUE, "-c", "1", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    environment = {key: value for key, value in os.environ.items() if key != "REDIS_URL"}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()


def click() -> None:
    """Send an opening, as the web process would."""
    job = {
        "match": "0" * 16, "attempt": 0, "rules": Rules.preset().to_json(), "server_seed": "00" * 32,
        "player_seeds": ["", ""], "seating": "draw", "entrants": [{"name": "a", "kind": "human"}] * 2,
        "limits": {}, "moves": [], "faults": [], "action": {"do": "open"},
    }  # fmt: skip
    assert broker.send("sandbox.table_move", job, queue=QUEUE, shown="()", expires_s=60)


def test_paused_worker_takes_nothing_up_until_it_is_resumed(client, worker):
    until(lambda: client.llen("results"), what="the worker announces itself")
    click()
    until(lambda: not client.llen(QUEUE), what="the worker takes a task up")
    broker.put_pause(NAME, True)
    # It looks every few seconds: before each announcement.
    for _ in range(2):
        client.delete("results")
        until(lambda: client.llen("results"), what="the paused worker announces itself")
    client.delete("results")
    click()
    until(lambda: client.llen("results"), what="another announcement")
    assert client.llen(QUEUE) == 1
    broker.put_pause(NAME, False)
    until(lambda: not client.llen(QUEUE), what="the resumed worker takes the task up")
