"""Pages of the site itself: is it healthy, and what is shown when something is wrong."""

import errno
import logging
import os
import shutil
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from redis.exceptions import RedisError

from games.health import bots_run

logger = logging.getLogger(__name__)

LEAST_FREE_BYTES = 20_000_000


@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if the database answers, Redis takes what it is given and there is room on the disk, else 503.

    The body says which of them do, and in `bots` whether bots can be run and which workers refuse why. That changes
    nothing of the status: the site itself is well without, and another web server would not help.
    """
    checks: dict[str, Callable[[], object]] = {
        "database": _ask_database,
        # It answers still when it can write nothing any more.
        "redis": lambda: cache.set("healthz", 1, 10),
        "disk": _ask_disk,
    }
    found = {name: _is_well(name, ask) for name, ask in checks.items()}
    body = {**found, "ok": all(found.values()), "bots": _ask_bots() if found["database"] else None}
    return JsonResponse(body, status=200 if body["ok"] else 503)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Show the page for a form whose token was missing or stale; the reason is for the log."""
    logger.warning("csrf failed path=%s reason=%r", request.path, reason)
    return render(request, "403_csrf.html", status=403)


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _ask_bots() -> dict[str, Any] | None:
    try:
        return bots_run()
    except DatabaseError as error:
        logger.error("health check failed part=bots error=%s", type(error).__name__)
        return None


def _ask_disk() -> None:
    if shutil.disk_usage(settings.VAR).free < LEAST_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _is_well(name: str, ask: Callable[[], object]) -> bool:
    try:
        ask()
    except (DatabaseError, RedisError, OSError) as error:
        logger.error("health check failed part=%s error=%s", name, getattr(error, "strerror", type(error).__name__))
        return False
    return True
