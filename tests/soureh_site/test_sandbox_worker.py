"""A real sandboxed worker process: it announces itself, and heeds the operator's pause."""

import hashlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from bots.process import Limits
from games import broker
from games.engine import Rules
from games.keys import attempt_key, source_key
from tests.games.test_warm import Table
from tests.live import descendants, start_sandbox_worker, until

NAME = "tables@test"
QUEUE = "tables"


@pytest.fixture
def client(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def worker(client: redis.Redis) -> Iterator[subprocess.Popen]:
    """The worker of people's clicks, which needs no jail."""
    process = start_sandbox_worker(NAME, QUEUE, subprocess.DEVNULL)
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


SLEEPER = b"""
import time
import soureh_bot

def choose(turn):
    time.sleep(0.5)
    return turn.best_pick() if turn.is_pick else turn.legal[0]

soureh_bot.run(choose)
"""


def reports(client: redis.Redis) -> list[str]:
    """Return the names of the reports that wait, oldest first."""
    return [json.loads(message)["headers"]["task"] for message in reversed(client.lrange("results", 0, -1))]


def command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["parent", "group"])
def test_stopping_worker_hands_its_match_back_and_blames_nobody(client, tmp_path: Path, send):
    sha256 = hashlib.sha256(SLEEPER).hexdigest()
    client.set(source_key(sha256), SLEEPER)
    client.set(attempt_key("1" * 16), "1")
    job = {
        "match": "1" * 16, "attempt": 1, "rules": Rules.preset().to_json(), "server_seed": "00" * 32,
        "player_seeds": ["", ""], "seating": "draw",
        "entrants": [{"name": name, "kind": "bot", "sha256": sha256} for name in "ab"],
        "limits": Limits().to_json(), "moves": [], "faults": [],
    }  # fmt: skip
    with (tmp_path / "stderr").open("wb") as stderr:
        process = start_sandbox_worker("matches@test", "matches", stderr)
    try:
        assert broker.send("sandbox.play_match", job, queue="matches", shown="()", expires_s=60)
        # A first heartbeat: the match is well under way.
        until(lambda: "games.tasks.match_heartbeat" in reports(client), what="the match is played")
        # A slot, its referee and its bots share one core.
        bots = [pid for pid in descendants(process.pid) if b"/boot.py" in command_line(pid)]
        assert len(bots) >= 2
        assert len({frozenset(os.sched_getaffinity(pid)) for pid in bots}) == 1
        assert len(os.sched_getaffinity(bots[0])) == 1
        send(process.pid, signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
    told = [name for name in reports(client) if "match" in name and "heartbeat" not in name]
    assert told == ["games.tasks.match_started", "games.tasks.match_handed_back"]
    log = (tmp_path / "stderr").read_text()
    assert "match handed back match=1111111111111111 attempt=1" in log
    assert "ERROR" not in log and "Traceback" not in log


def test_stopping_worker_lets_the_bots_go_that_wait_at_tables(client, tmp_path: Path):
    table = Table(SLEEPER)
    for sha256, source in table.sources.items():
        client.set(source_key(sha256), source)
    with (tmp_path / "stderr").open("wb") as stderr:
        process = start_sandbox_worker("answers@test", "answers", stderr)
    try:
        assert broker.send("sandbox.bot_answers", table.job, queue="answers", shown="()", expires_s=60)
        until(lambda: "games.tasks.table_result" in reports(client), what="the bot has answered")
        bots = [pid for pid in descendants(process.pid) if b"/boot.py" in command_line(pid)]
        assert bots
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in bots)
    finally:
        process.kill()
    log = (tmp_path / "stderr").read_text()
    assert "ERROR" not in log and "Traceback" not in log
