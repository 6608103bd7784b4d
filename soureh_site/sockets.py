"""Which room answers which socket: each room that has any lists them in its `routing.py`."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer

ROOMS = ("ladder", "games")
websocket_urlpatterns: list[Any] = [
    pattern
    for room in ROOMS
    if find_spec(f"{room}.routing")
    for pattern in import_module(f"{room}.routing").websocket_urlpatterns
]


class NoSuchSocket(AsyncWebsocketConsumer):
    """Every other address: the connection is refused, and that is no error of ours."""

    async def connect(self) -> None:
        await self.close()
