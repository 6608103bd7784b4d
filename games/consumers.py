"""The table socket, `/ws/tables/<match>/`: what a client may say, and who he is; what he hears is the hub's.

An identity comes from the session only, and lasts as long as it. A bad message is answered and the socket lives on;
a flood closes it.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable
from importlib import import_module
from typing import Annotated, Any

import msgspec
from channels.auth import get_user
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.utils.translation import gettext as _

from games import hub as hubs
from games import tables
from games.models import Match
from games.outcome import MoveText, Number
from games.sight import visible_matches

logger = logging.getLogger(__name__)

SIGNED_OUT = 4003
FLOODED = 4008
TOO_SLOW = 4009
UNKNOWN = 4004
MESSAGE_CHARS = 4096
BURST = 30
PER_SECOND = 5.0
UNSENT_MAX = 2000
LOOK_AGAIN_S = 30.0


class MoveSent(msgspec.Struct, tag="move", tag_field="type"):
    id: Number
    move: MoveText


class SinceSent(msgspec.Struct, tag="since", tag_field="type"):
    seq: Number


class SeedSent(msgspec.Struct, tag="seed", tag_field="type"):
    player_seed: Annotated[str, msgspec.Meta(max_length=64)]


class ResignSent(msgspec.Struct, tag="resign", tag_field="type"):
    pass


Sent = MoveSent | SinceSent | SeedSent | ResignSent
DECODER = msgspec.json.Decoder(Sent)


class Allowance:
    """How many messages a client may still send: a burst, and then so many a second."""

    def __init__(self) -> None:
        self.left, self.at = float(BURST), time.monotonic()

    def take(self) -> bool:
        """Take one; False if none is left."""
        now = time.monotonic()
        self.left = min(BURST, self.left + (now - self.at) * PER_SECOND)
        self.at = now
        self.left -= 1
        return self.left >= 0


class TableConsumer(AsyncWebsocketConsumer):
    """One connection to one table: a hub's watcher."""

    user_id: int | None = None
    hub: hubs.Hub | None = None
    writer: asyncio.Task[None] | None = None
    guard: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        """Let everybody watch who may know of the match."""
        code = self.scope["url_route"]["kwargs"]["code"]
        self.user = self.scope["user"]
        self.user_id = self.user.pk if self.user.is_authenticated else None
        self.allowance = Allowance()
        self.unsent: asyncio.Queue[str] = asyncio.Queue(UNSENT_MAX)
        self.match = await database_sync_to_async(visible_matches(self.user).filter(code=code).first)()
        if self.match is None:
            await self.close(UNKNOWN)
            return
        await self.accept()
        self.writer = asyncio.create_task(self._write())
        self.hub = await hubs.join(code, self)
        if self.hub.facts is not None and self.user_id in self.hub.facts.people:
            self.guard = asyncio.create_task(self._look_again())

    async def disconnect(self, code: int) -> None:
        """Leave the table."""
        if self.hub is not None:
            await self.hub.remove(self)
        for task in (self.writer, self.guard):
            if task is not None:
                task.cancel()

    async def _look_again(self) -> None:
        """Cut a player off who has logged out, or may not log in any more: the cards are for his eyes only."""
        while await self._is_signed_in():
            await asyncio.sleep(LOOK_AGAIN_S)
        self.drop(SIGNED_OUT)

    async def _is_signed_in(self) -> bool:
        """Tell whether the session with which the socket was opened still stands for the same person."""
        opened = self.scope.get("session")
        if opened is None or self.user_id is None:
            return True
        # What the scope holds was read when the socket was opened.
        session = import_module(settings.SESSION_ENGINE).SessionStore(opened.session_key)
        return bool((await get_user({"session": session})).pk == self.user_id)

    # A hub's watcher

    def deliver(self, text: str) -> None:
        """Queue a message; a client that does not read is cut off and may come again."""
        try:
            self.unsent.put_nowait(text)
        except asyncio.QueueFull:
            self.drop(TOO_SLOW)

    def drop(self, code: int) -> None:
        """Close the connection without waiting for it."""
        if self.hub is not None:
            self.hub.watchers.discard(self)
        if self.writer is not None:
            self.writer.cancel()
        self.writer = asyncio.create_task(self.close(code))

    async def _write(self) -> None:
        while True:
            await self.send(text_data=await self.unsent.get())

    # What a client says

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **kwargs: Any) -> None:
        """Do what one message asks for."""
        if not self.allowance.take():
            self.drop(FLOODED)
            return
        if text_data is None or len(text_data) > MESSAGE_CHARS:
            self._complain(f"expected a text message of at most {MESSAGE_CHARS} characters")
            return
        try:
            sent = DECODER.decode(text_data)
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            self._complain(str(error))
            return
        if await self._is_signed_in():
            await self._do(sent)
        else:
            self.drop(SIGNED_OUT)

    async def _do(self, sent: Sent) -> None:
        hub = self.hub
        if hub is None:
            return
        match sent:
            case SinceSent(seq):
                hub.catch_up(self, seq)
            case MoveSent(id, move):
                await self._move(hub, id, move)
            case SeedSent(player_seed):
                await self._seed(player_seed)
            case ResignSent():
                await self._resign(hub)

    async def _move(self, hub: hubs.Hub, id: int, move: str) -> None:
        if hub.judge(hub.seat_of(self), id, move) is not None:
            # What this process knows may be old: nothing is refused before a look at the table itself.
            await hub.refresh()
        seat = hub.seat_of(self)
        verdict = hub.judge(seat, id, move)
        if verdict is None and seat is not None:
            try:
                await self._send_action(tables.decide, seat, id=id, move=move)
            except tables.TooLate as refusal:
                self._say(type="rejected", id=id, move=move, code="stale", detail=str(refusal))
        elif verdict is not None and verdict[0] == "answered":
            hub.acknowledge(self, id)
        elif verdict is not None:
            self._say(type="rejected", id=id, move=move, code=verdict[0], detail=verdict[1])

    async def _resign(self, hub: hubs.Hub) -> None:
        seat = hub.seat_of(self)
        if seat is None or hub.facts is None or hub.facts.match.is_over:
            self._complain(_("There is no game of yours to resign here."))
            return
        await self._send_action(tables.resign, seat)

    async def _send_action(self, action: Callable[..., bool], seat: int, **options: Any) -> None:
        def send() -> str:
            if not tables.may_act(self.user_id):
                return _("That was too fast. Nothing was lost; please wait a minute, and try again.")
            if not action(Match.objects.get(pk=self.match.pk), seat, **options):
                return _("The table could not be reached. Nothing was lost; please try again.")
            return ""

        if trouble := await database_sync_to_async(send)():
            self._complain(trouble)

    async def _seed(self, player_seed: str) -> None:
        try:
            await database_sync_to_async(tables.set_player_seed)(self.match, self.user, player_seed)
        except tables.TableRefused as refusal:
            self._complain(str(refusal))
        else:
            self._say(type="seed", player_seed=player_seed)

    def _complain(self, detail: str) -> None:
        self._say(type="error", detail=detail)

    def _say(self, **message: Any) -> None:
        self.deliver(json.dumps(message, ensure_ascii=False, separators=(",", ":")))
