"""Tell open pages that a ladder has changed. Public and empty: a page fetches what it may show."""

import logging
import time

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.core.cache import cache
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

HOME_GROUP = "home"
# How long the time of the last notice is kept: longer than any page takes from its rendering to its socket.
KEPT_S = 600


def ladder_group(slug: str) -> str:
    """Return the channel-layer group of those who look at a ladder."""
    return f"ladder.{slug}"


def told_key(group: str) -> str:
    """Return where the cache holds the time of a group's last notice, in seconds since the epoch."""
    return f"told:{group}"


def announce(slug: str) -> None:
    """Send `{"type": "changed"}` to everybody who looks at this ladder or at the home page.

    Call it once the change is committed. While Redis is away the notice is lost, which costs open
    pages one update and nobody anything else.
    """
    send = async_to_sync(get_channel_layer().group_send)
    try:
        for group in (ladder_group(slug), HOME_GROUP):
            # First for those who are on their way here, then for those who listen.
            cache.set(told_key(group), time.time(), KEPT_S)
            send(group, {"type": "changed"})
    except (RedisError, OSError) as error:
        logger.warning("notice not sent ladder=%s error=%s", slug, type(error).__name__)
