"""How often one person may have the site do what costs it work, by whichever door: page, socket or API.

Counted in Redis, so that all web processes count together. While Redis is away nothing is refused here:
without it there are no workers to overload either.
"""

import logging
from time import time

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

MINUTE_S, HOUR_S = 60, 3600
UPLOAD_TRIES_PER_HOUR = 60


def may(what: str, user_id: int | None, *, most: int, within_s: int) -> bool:
    """Count one more `what` of a person; False if that is more than `most` in this stretch of `within_s` seconds."""
    key = f"rate:{what}:{user_id}:{int(time()) // within_s}"
    try:
        cache.add(key, 0, timeout=within_s)
        count = cache.incr(key)
    except (RedisError, OSError, ValueError) as error:  # ValueError: Redis has lost the key just now
        logger.warning("not counted what=%s error=%s", what, type(error).__name__)
        return True
    return count <= most


def left_s(within_s: int) -> int:
    """Return how many seconds the present stretch still lasts."""
    return within_s - int(time()) % within_s


def upload_tries() -> int:
    """Return how often one person may try to upload within an hour."""
    return max(UPLOAD_TRIES_PER_HOUR, settings.UPLOADS_PER_DAY)


def may_try_upload(user_id: int | None) -> bool:
    """Count a try to upload, whatever becomes of it: checking a file is work, too."""
    return may("uploads", user_id, most=upload_tries(), within_s=HOUR_S)


def too_often(request: HttpRequest, *, within_s: int) -> HttpResponse:
    """Return the page that asks to wait."""
    response = render(request, "429.html", status=429)
    response["Retry-After"] = str(left_s(within_s))
    return response
