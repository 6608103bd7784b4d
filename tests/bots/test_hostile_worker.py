"""The worst of the hostile bots, one after the other, in a real sandboxed worker; and that worker killed in a match."""

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis

from bots.process import Limits
from games import broker
from games.keys import attempt_key
from games.warm import SPARES
from tests.bots.hostile import FIXTURES, QUICK, hostile_job, kind_of, upload_of
from tests.games.jobs import CAREFUL
from tests.live import children, descendants, until
from tests.workers import jails_below, put_sources, reports, sandbox_worker

pytestmark = pytest.mark.usefixtures("sandbox")

WORST = [
    "harmless_fork_bomb",
    "memory_bomb",
    "output_flood_without_newline",
    "timeout_sleeping_for_ever",
    "crash_exit_in_the_middle",
    "harmless_killing_everybody",
    "timeout_ignoring_all_signals",
    "start_busy_in_threads",
    "violation_ptrace",
    "harmless_killing_itself",
]
# It would rather outlive whoever started it.
SURVIVOR = b"""
import signal, time
import kit

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        continue
kit.ready()
while True:
    time.sleep(1)
"""
LONG = Limits(wall_s=60.0, move_s=15.0)


@pytest.fixture
def worker(redis_url: str, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of the queue `matches` with one slot."""
    with sandbox_worker("matches@hostile", "matches", tmp_path / "stderr") as process:
        yield process


def send(client: redis.Redis, code: str, uploads: Sequence[bytes], limits: Limits) -> None:
    """Send a match to the worker, as the site would."""
    job, sources = hostile_job(uploads, limits)
    put_sources(client, sources)
    client.set(attempt_key(code), "1")
    assert broker.send("sandbox.play_match", {**job, "match": code}, queue="matches", shown="()", expires_s=600)


def told(client: redis.Redis) -> list[tuple[str, list[Any]]]:
    """Return what the worker has reported of matches, oldest first: task and arguments."""
    return [report for report in reports(client) if report[0].startswith("match_") and report[0] != "match_heartbeat"]


def test_worker_takes_the_next_match_after_each_of_the_worst(
    site_redis: redis.Redis, worker: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    for name in WORST:
        send(site_redis, name, [CAREFUL, upload_of(FIXTURES / f"{name}.py"), CAREFUL], QUICK)
    send(site_redis, "honest", [CAREFUL] * 4, QUICK)
    until(lambda: told(site_redis), within_s=120, what="the worker starts to play")
    [slot] = children(worker.pid)
    until(lambda: told(site_redis)[-1][:1] == ("match_result",) and len(results(site_redis)) > len(WORST), within_s=300)

    due = {name: [] if kind_of(Path(name)) == "harmless" else [(1, kind_of(Path(name)))] for name in WORST}
    assert results(site_redis) == {**due, "honest": []}
    # None failed, none had to be played twice, and it was one process that played them all.
    assert {name for name, _ in told(site_redis)} == {"match_started", "match_result"}
    assert children(worker.pid) == [slot]
    # Nothing of a bot is left; for the next ones there are empty jails, of two processes each.
    until(lambda: len(descendants(slot)) == 2 * SPARES, what="jails wait for bots")
    log = (tmp_path / "stderr").read_text()
    assert "ERROR" not in log and "Traceback" not in log


def results(client: redis.Redis) -> dict[str, list[tuple[int, str]]]:
    """Return the faults, seat and kind, of every match that was played to its end."""
    return {
        args[0]: [(fault["seat"], fault["kind"]) for fault in args[2]["faults"]]
        for name, args in told(client)
        if name == "match_result"
    }


def test_no_bot_outlives_a_worker_that_is_killed(
    site_redis: redis.Redis, worker: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    script = tmp_path / "survivor.py"
    script.write_bytes(SURVIVOR)
    # First the slot that plays, in whose place the worker puts a new one; then the worker with all its processes,
    # while the jails are in sessions of their own.
    for code, kill in (
        ("first", lambda: os.kill(children(worker.pid)[0], signal.SIGKILL)),
        ("second", lambda: os.killpg(worker.pid, signal.SIGKILL)),
    ):
        send(site_redis, code, [upload_of(script)] * 3, LONG)
        jails = until(lambda: jails_of(worker.pid, bots=3), within_s=120, what="three bots live")
        pidfds = [os.pidfd_open(pid) for pid in jails]
        try:
            kill()
            dead_by = time.monotonic() + 5
            for pidfd in pidfds:
                assert select.select([pidfd], [], [], max(0, dead_by - time.monotonic()))[0], "outlived its worker"
        finally:
            for pidfd in pidfds:
                os.close(pidfd)
        assert told(site_redis)[-1] == ("match_started", [code, 1, "matches@hostile"])


def jails_of(pid: int, *, bots: int) -> list[int]:
    """Return the processes of the jails below a worker once there are two for each of so many bots."""
    try:
        found = jails_below(pid)
    except (FileNotFoundError, ProcessLookupError):
        # One ended while it was looked at.
        return []
    return found if len(found) >= 2 * bots else []
