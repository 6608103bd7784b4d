"""Everything that `games` says to Redis: tasks by name, sources by content, attempt numbers, notices to web processes.

The database is the queue and Redis may be away or empty at any time: nothing here raises for that; it
logs, and a sweep sends again what got lost.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import redis
from asgiref.sync import async_to_sync
from celery import current_app
from channels.layers import get_channel_layer
from django.conf import settings
from kombu.exceptions import OperationalError

from games.keys import attempt_key, pause_key, source_key

logger = logging.getLogger(__name__)

SOURCE_TTL_S = 2 * 3600
ATTEMPT_TTL_S = 24 * 3600
OVER = "over"  # in place of an attempt's number: no attempt of this match is to be played any more
AWAY = (OperationalError, redis.RedisError, OSError)


@cache
def client() -> redis.Redis:
    """Return this process's client of the Redis server."""
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5, socket_connect_timeout=5)


def send(name: str, *args: Any, queue: str, shown: str, expires_s: float) -> bool:
    """Send a task by name; `shown` is all that logs and monitors see of its arguments. False if the broker is away."""
    try:
        current_app.send_task(
            name,
            args=args,
            queue=queue,
            argsrepr=shown,
            kwargsrepr="{}",
            expires=expires_s,
            retry=False,
            ignore_result=True,
        )
    except AWAY as error:
        logger.warning("task not sent task=%s args=%s error=%s", name, shown, type(error).__name__)
        return False
    return True


def put_sources(hashes: Iterable[str], load: Callable[[list[str]], Mapping[str, bytes]]) -> bool:
    """Make sure that `source:<sha256>` is there for a while; `load(hashes)` gives {sha256: bytes} of the missing."""
    wanted = sorted(set(hashes))
    try:
        with client().pipeline(transaction=False) as pipe:
            for sha256 in wanted:
                pipe.expire(source_key(sha256), SOURCE_TTL_S)
            present = pipe.execute()
        missing = [sha256 for sha256, is_there in zip(wanted, present, strict=True) if not is_there]
        sources = load(missing) if missing else {}
        for sha256, data in sources.items():
            client().set(source_key(sha256), data, ex=SOURCE_TTL_S)
    except AWAY as error:
        logger.warning("sources not put count=%s error=%s", len(wanted), type(error).__name__)
        return False
    return True


def put_attempt(code: str, attempt: int | str) -> bool:
    """Say which attempt of a match is the present one, so that a worker drops an outdated message unplayed."""
    try:
        client().set(attempt_key(code), str(attempt), ex=ATTEMPT_TTL_S)
    except AWAY as error:
        logger.warning("attempt not put match=%s error=%s", code, type(error).__name__)
        return False
    return True


def table_group(code: str) -> str:
    """Return the channel-layer group of one table: what its spectators may see travels on it, and no card does."""
    return f"table.{code}"


def notify_table(code: str, kind: str = "table.changed", **content: Any) -> None:
    """Tell every web process that something happened at a table; they read what from the database."""
    layer = get_channel_layer()
    if layer is None:
        return
    try:
        async_to_sync(layer.group_send)(table_group(code), {"type": kind, "code": code, **content})
    except AWAY as error:
        logger.warning("notice not sent match=%s kind=%s error=%s", code, kind, type(error).__name__)


def put_pause(worker: str, is_paused: bool) -> bool:
    """Say whether a worker is to take up nothing new; it looks before each job."""
    try:
        if is_paused:
            client().set(pause_key(worker), "1")
        else:
            client().delete(pause_key(worker))
    except AWAY as error:
        logger.warning("pause not put worker=%s error=%s", worker, type(error).__name__)
        return False
    return True


def queue_lengths(queues: Iterable[str]) -> list[tuple[str, int | None]]:
    """Return how many messages wait in each queue; None if Redis is away."""
    names = list(queues)
    try:
        with client().pipeline(transaction=False) as pipe:
            for name in names:
                pipe.llen(name)
            return list(zip(names, pipe.execute(), strict=True))
    except AWAY as error:
        logger.warning("queues not counted error=%s", type(error).__name__)
        return [(name, None) for name in names]
