"""Tell open pages that a ladder has changed. Public and empty: a page fetches what it may show."""

import logging

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)

HOME_GROUP = "home"


def ladder_group(slug: str) -> str:
    """Return the channel-layer group of those who look at a ladder."""
    return f"ladder.{slug}"


def announce(slug: str) -> None:
    """Send `{"type": "changed"}` to everybody who looks at this ladder or at the home page.

    Call it once the change is committed. While Redis is away the notice is lost, which costs open
    pages one update and nobody anything else.
    """
    send = async_to_sync(get_channel_layer().group_send)
    try:
        for group in (ladder_group(slug), HOME_GROUP):
            send(group, {"type": "changed"})
    except (RedisError, OSError) as error:
        logger.warning("notice not sent ladder=%s error=%s", slug, type(error).__name__)
