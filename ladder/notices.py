"""Tell open pages that a ladder has changed. Public and empty: a page fetches what it may show."""

import logging

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer

logger = logging.getLogger(__name__)

HOME_GROUP = "home"


def ladder_group(slug: str) -> str:
    """Return the channel-layer group of those who look at a ladder."""
    return f"ladder.{slug}"


def announce(slug: str) -> None:
    """Send `{"type": "changed"}` to everybody who looks at this ladder or at the home page.

    Call it once the change is committed. Raises what the channel layer raises when it is away:
    callers run it after the commit, where a lost notice costs an open page its update and no more.
    """
    send = async_to_sync(get_channel_layer().group_send)
    for group in (ladder_group(slug), HOME_GROUP):
        send(group, {"type": "changed"})
    logger.debug("announced ladder=%s", slug)
