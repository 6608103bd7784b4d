"""Sockets that tell an open page that there is news. They carry no data and read nothing."""

import math
from typing import Any
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.core.cache import cache

from ladder.notices import HOME_GROUP, ladder_group, told_key

TOO_MUCH = 4008
MESSAGES_ALLOWED = 20


class NoticeConsumer(AsyncJsonWebsocketConsumer):
    """Passes on `{"type": "changed"}`; a page has nothing to say here, and one that keeps talking is cut off."""

    heard = 0

    def group(self) -> str:
        """Return the group to listen to."""
        return HOME_GROUP

    async def connect(self) -> None:
        await self.channel_layer.group_add(self.group(), self.channel_name)
        await self.accept()
        if await cache.aget(told_key(self.group()), 0) >= self.rendered_at():
            await self.changed({})

    def rendered_at(self) -> float:
        """Return when the page was made that listens here, in seconds since the epoch, as its `?since=` says."""
        since = parse_qs(self.scope["query_string"]).get(b"since", [b""])[0]
        return int(since) if since.isdigit() and len(since) < 20 else math.inf

    async def disconnect(self, code: int) -> None:
        await self.channel_layer.group_discard(self.group(), self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        self.heard += 1
        if self.heard > MESSAGES_ALLOWED:
            await self.close(TOO_MUCH)

    async def changed(self, event: dict[str, Any]) -> None:
        """Pass a notice of the group on."""
        await self.send_json({"type": "changed"})


class LadderConsumer(NoticeConsumer):
    """News of one ladder. A slug that no ladder has is never spoken of."""

    def group(self) -> str:
        return ladder_group(self.scope["url_route"]["kwargs"]["slug"])
