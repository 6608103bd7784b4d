"""A real sandboxed worker process: it announces itself, and heeds the operator's pause."""

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
from games.keys import attempt_key
from tests.games.jobs import Table, make_job
from tests.live import until
from tests.workers import jails_below, put_sources, reports, sandbox_worker

NAME = "tables@test"
QUEUE = "tables"


@pytest.fixture
def worker(redis_url: str, tmp_path: Path) -> Iterator[subprocess.Popen]:
    """The worker of people's clicks, which needs no jail."""
    with sandbox_worker(NAME, QUEUE, tmp_path / "stderr") as process:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def click() -> None:
    """Send an opening, as the web process would."""
    job, _ = make_job([None, None], rules=Rules.preset(), seating="draw", match="0" * 16, attempt=0)
    assert broker.send("sandbox.table_move", {**job, "action": {"do": "open"}}, queue=QUEUE, shown="()", expires_s=60)


def test_paused_worker_takes_nothing_up_until_it_is_resumed(site_redis, worker):
    until(lambda: site_redis.llen("results"), what="the worker announces itself")
    click()
    until(lambda: not site_redis.llen(QUEUE), what="the worker takes a task up")
    broker.put_pause(NAME, True)
    # It looks every few seconds: before each announcement.
    for _ in range(2):
        site_redis.delete("results")
        until(lambda: site_redis.llen("results"), what="the paused worker announces itself")
    site_redis.delete("results")
    click()
    until(lambda: site_redis.llen("results"), what="another announcement")
    assert site_redis.llen(QUEUE) == 1
    broker.put_pause(NAME, False)
    until(lambda: not site_redis.llen(QUEUE), what="the resumed worker takes the task up")


SLEEPER = b"""
import time
import soureh_bot

def choose(turn):
    time.sleep(0.5)
    return turn.best_pick() if turn.is_pick else turn.legal[0]

soureh_bot.run(choose)
"""


def told(client: redis.Redis) -> list[str]:
    """Return the names of the reports that wait, oldest first."""
    return [name for name, _ in reports(client)]


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["parent", "group"])
def test_stopping_worker_hands_its_match_back_and_blames_nobody(site_redis, tmp_path: Path, send):
    job, sources = make_job(
        [SLEEPER] * 2, rules=Rules.preset(), limits=Limits(), seating="draw", match="1" * 16, attempt=1
    )
    put_sources(site_redis, sources)
    site_redis.set(attempt_key(job["match"]), "1")
    with sandbox_worker("matches@test", "matches", tmp_path / "stderr") as process:
        assert broker.send("sandbox.play_match", job, queue="matches", shown="()", expires_s=60)
        # A first heartbeat: the match is well under way.
        until(lambda: "match_heartbeat" in told(site_redis), what="the match is played")
        # A slot, its referee and its bots share one core.
        bots = jails_below(process.pid)
        assert len(bots) >= 2
        assert len({frozenset(os.sched_getaffinity(pid)) for pid in bots}) == 1
        assert len(os.sched_getaffinity(bots[0])) == 1
        send(process.pid, signal.SIGTERM)
        assert process.wait(30) == 0
    assert [name for name in told(site_redis) if "match" in name and "heartbeat" not in name] == [
        "match_started",
        "match_handed_back",
    ]
    log = (tmp_path / "stderr").read_text()
    assert "match handed back match=1111111111111111 attempt=1" in log
    assert "ERROR" not in log and "Traceback" not in log


def test_stopping_worker_lets_the_bots_go_that_wait_at_tables(site_redis, tmp_path: Path):
    table = Table(SLEEPER)
    put_sources(site_redis, table.sources)
    with sandbox_worker("answers@test", "answers", tmp_path / "stderr") as process:
        assert broker.send("sandbox.bot_answers", table.job, queue="answers", shown="()", expires_s=60)
        until(lambda: "table_result" in told(site_redis), what="the bot has answered")
        bots = jails_below(process.pid)
        assert bots
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in bots)
    log = (tmp_path / "stderr").read_text()
    assert "ERROR" not in log and "Traceback" not in log
