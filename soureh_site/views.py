"""Pages of the site itself: is it healthy, and what is shown when something is wrong."""

import logging
from collections.abc import Callable

from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)


@never_cache
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if the database and Redis answer, else 503; the body says which of them do."""
    checks: dict[str, Callable[[], object]] = {"database": _ask_database, "redis": lambda: cache.get("healthz")}
    found = {name: _is_well(name, ask) for name, ask in checks.items()}
    return JsonResponse(found | {"ok": all(found.values())}, status=200 if all(found.values()) else 503)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Show the page for a form whose token was missing or stale; the reason is for the log."""
    logger.warning("csrf failed path=%s reason=%r", request.path, reason)
    return render(request, "403_csrf.html", status=403)


def _ask_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _is_well(name: str, ask: Callable[[], object]) -> bool:
    try:
        ask()
    except (DatabaseError, RedisError, OSError) as error:
        logger.error("health check failed part=%s error=%s", name, type(error).__name__)
        return False
    return True
