"""One hub for each watched table and process: it folds what happens, once, and spreads it to all who watch here.

A hub has one subscription to its table's notices. A notice says only that something changed; what it was is read
from the database, which a hub also looks into every few seconds, so that a lost notice loses nothing. For each
distinct viewer (a spectator, each seat) every message is prepared once, as the string that goes out.
"""

import asyncio
import json
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.utils import timezone
from django.utils.translation import gettext as _

from games.broker import AWAY, table_group
from games.clocks import clock_rows, clocks_of
from games.engine import Game, IllegalMove, InvalidRecord
from games.live import Clock, Script, clock_of, new_game, play_on, script_of
from games.models import Match
from games.tables import elapsed_ms

logger = logging.getLogger(__name__)

POLL_S = 5.0
PRESENCE_S = 1.0
READ_TRIES = 5
CATCH_UP_MAX = 500  # events; a client that missed more is better served with the table as it is
BROKEN = 1011
State = Match.State
WORDS = {State.OPEN: "open", State.FINISHED: "finished", State.VOID: "void"}


class Watcher(Protocol):
    """One connection: who it is, and where its messages go. Neither method may wait."""

    user_id: int | None

    def deliver(self, text: str) -> None: ...

    def drop(self, code: int) -> None: ...


@dataclass
class Facts:
    """What the database says of a table now; `script` follows the decisions that were known already."""

    match: Match
    people: dict[int, int | None]  # user id to seat
    names: list[str]
    script: Script | None
    clock: Clock | None
    ms: list[int]  # how long each decision took, at a table with clocks


def read_facts(code: str, known: int, *, is_complete: bool) -> Facts | None:
    """Read a table; None if there is none. `is_complete`: its script is known to the end already."""
    for _try in range(READ_TRIES):
        match = Match.objects.filter(code=code).first()
        if match is None:
            return None
        players = list(match.players.order_by("seat", "entrant"))
        script = None if is_complete else script_of(match, known)
        ms = elapsed_ms(match) if clocks_of(match) else []
        # Row and moves are read one after the other: only an unchanged row says that they belong together.
        if Match.objects.filter(pk=match.pk, attempt=match.attempt, state=match.state).exists():
            people = {player.user_id: player.seat for player in players if player.user_id}
            return Facts(match, people, [player.name for player in players], script, clock_of(match), ms)
    raise RuntimeError(f"table {code} changed at each of {READ_TRIES} reads")


class Hub:
    """What one process knows of one table, and who watches it here."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.watchers: set[Watcher] = set()
        self.game: Game | None = None
        self.facts: Facts | None = None
        self.state = ""
        self._script: Script | None = None  # of a record: all of it
        self._news = asyncio.Event()
        self._lock = asyncio.Lock()
        self._channel: str | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._started: asyncio.Task[None] | None = None
        self._presence: asyncio.TimerHandle | None = None
        self._read_at = 0.0
        self.is_closed = False

    # Coming and going

    async def ready(self) -> None:
        """Wait until the table has been subscribed to and then read, whoever began that."""
        if self._started is None:
            self._started = asyncio.create_task(self._start())
        await asyncio.shield(self._started)

    async def _start(self) -> None:
        await self._subscribe()
        await self.refresh()
        self._tasks.append(asyncio.create_task(self._run()))

    async def _subscribe(self) -> None:
        layer = get_channel_layer()
        try:
            self._channel = await layer.new_channel()
            await layer.group_add(table_group(self.code), self._channel)
        except AWAY as error:
            # Without notices the hub still looks by itself, and tries again.
            logger.warning("table not subscribed match=%s error=%s", self.code, type(error).__name__)
            self._channel = None
            return
        self._tasks.append(asyncio.create_task(self._listen(self._channel)))

    def add(self, watcher: Watcher) -> None:
        """Take a watcher in; the table as it is now is the first that he gets."""
        self.watchers.add(watcher)
        watcher.deliver(self._snapshot(self.seat_of(watcher)))
        self._ask(watcher)
        self._tell_presence()

    async def remove(self, watcher: Watcher) -> None:
        """Let a watcher go; the last one closes the hub."""
        self.watchers.discard(watcher)
        if self.watchers:
            self._tell_presence()
        else:
            await self.close()

    async def close(self) -> None:
        """Be forgotten, stop listening, and leave no subscription behind."""
        if self.is_closed:
            return
        self.is_closed = True
        if _hubs().get(self.code) is self:
            del _hubs()[self.code]
        if self._presence is not None:
            self._presence.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._channel is not None:
            try:
                await get_channel_layer().group_discard(table_group(self.code), self._channel)
            except AWAY as error:
                logger.warning("table not unsubscribed match=%s error=%s", self.code, type(error).__name__)

    def seat_of(self, watcher: Watcher) -> int | None:
        """Return the seat from which a watcher sees the table; None for a spectator."""
        return self.facts.people.get(watcher.user_id) if self.facts and watcher.user_id else None

    # What happens

    async def _listen(self, channel: str) -> None:
        layer = get_channel_layer()
        while True:
            message = await layer.receive(channel)
            if message["type"] == "table.rejected":
                self._reject(message)
            else:
                self._news.set()

    async def _run(self) -> None:
        while True:
            is_news = await self._wait()
            try:
                if is_news or time.monotonic() - self._read_at >= POLL_S or self.facts is None:
                    await self.refresh()
                else:
                    # Only the clock of a showcase has moved on.
                    self._take(self.facts)
            except (IllegalMove, InvalidRecord) as error:
                logger.error("table cannot be folded match=%s error=%s", self.code, error)
                for watcher in list(self.watchers):
                    watcher.drop(BROKEN)
                return

    async def _wait(self) -> bool:
        """Wait for a notice, as long as there is patience; tell whether one came."""
        try:
            await asyncio.wait_for(self._news.wait(), self._patience_s())
        except TimeoutError:
            if self._channel is None:
                await self._subscribe()
        is_news = self._news.is_set()
        self._news.clear()
        return is_news

    def _patience_s(self) -> float | None:
        """Return how long to wait for a notice: until the next shown decision is due, or the next look."""
        if self.state in ("finished", "void"):
            return None
        clock = self.facts.clock if self.facts else None
        if clock is None or self.game is None or self.game.result is not None:
            return POLL_S
        due = clock.due(self.game.decisions_made + 1)
        return min(POLL_S, max(0.01, (due - timezone.now()).total_seconds()))

    async def refresh(self) -> None:
        """Read what is new and spread it."""
        async with self._lock:
            known = self.game.decisions_made if self.game else 0
            facts = await database_sync_to_async(read_facts)(self.code, known, is_complete=self._script is not None)
            self._read_at = time.monotonic()
            if facts is not None:
                self._take(facts)

    def _take(self, facts: Facts) -> None:
        self.facts = facts
        if facts.match.state in (State.SHOWING, State.FINISHED) and self._script is None:
            self._script = facts.script
        script = self._script or facts.script
        was_hidden = self.game is None
        start = 0 if self.game is None else len(self.game.log)
        if script is not None:
            self.game = self.game or new_game(facts.match)
            play_on(self.game, script, self._visible(facts, timezone.now()))
        self._spread(facts, start, was_hidden=was_hidden)

    @staticmethod
    def _visible(facts: Facts, now: datetime) -> int:
        return facts.clock.shown(now) if facts.clock else 2**31

    def _spread(self, facts: Facts, start: int, *, was_hidden: bool) -> None:
        """Send what is new since log index `start`; a table that comes into sight, or is given up, is sent whole."""
        state = WORDS.get(State(facts.match.state), "playing")
        before, self.state = self.state, state
        if (was_hidden and self.game is not None) or (state != before and (self.game is None or state == "void")):
            self._send_all(self._snapshot_for)
            return
        if self.game is not None and len(self.game.log) > start:
            # A resigned player's game is played to its end in one batch: thousands of events.
            is_gap = len(self.game.log) - start <= CATCH_UP_MAX
            self._send_all(lambda viewer: list(self.events(viewer, start)) if is_gap else self._snapshot_for(viewer))
        if state != before:
            self._send_all(lambda viewer: [_text(type="state", state=state)])

    def _send_all(self, prepare: Any) -> None:
        """Send to everybody what `prepare(viewer)` gives, prepared once for each distinct viewer."""
        prepared: dict[int | None, list[str]] = {}
        for watcher in list(self.watchers):
            viewer = self.seat_of(watcher)
            if viewer not in prepared:
                prepared[viewer] = prepare(viewer)
            for text in prepared[viewer]:
                watcher.deliver(text)
            self._ask(watcher)

    # What is said

    def _snapshot_for(self, viewer: int | None) -> list[str]:
        return [self._snapshot(viewer)]

    def _snapshot(self, viewer: int | None) -> str:
        game = self.game
        return _text(
            type="snapshot",
            seq=len(game.log) if game else 0,
            you=viewer,
            view=game.view(viewer) if game else None,
            **self._clocks(),
            state=self.state,
            names=self.facts.names if self.facts else [],
        )

    def events(self, viewer: int | None, start: int) -> Iterator[str]:
        """Yield what happened from log index `start` on; the last one carries the view."""
        if self.game is None:
            return
        entries = self.game.log_for(viewer, start)
        for seq, entry in enumerate(entries, start + 1):
            now = {"view": self.game.view(viewer), **self._clocks()} if seq == start + len(entries) else {}
            yield _text(type="event", seq=seq, **entry, **now)

    def _clocks(self) -> dict[str, Any]:
        """Return what people's clocks show, and the time, for those whose own clock goes wrong."""
        rows: list[dict[str, Any] | None] = []
        if self.facts is not None and self.game is not None and self.state == "playing":
            rows = clock_rows(self.facts.match, self.game, self.facts.people.values(), self.facts.ms)
        return {"clocks": rows, "now": timezone.now().isoformat()}

    def _ask(self, watcher: Watcher) -> None:
        """Tell the watcher that it is his turn, if it is."""
        seat = self.seat_of(watcher)
        decision = self.game.decision if self.game and self.state == "playing" else None
        if self.game is None or decision is None or decision.seat != seat or seat in self.game.faulted:
            return
        drawn = self.game.view(seat)["drawn"]
        legal = self.game.legal()
        deadline = self.facts.match.deadline_at if self.facts else None
        until = {"deadline": deadline and deadline.isoformat(), "now": timezone.now().isoformat()}
        watcher.deliver(_text(type="your_turn", id=decision.id, legal=legal, drawn=drawn, **until))

    def catch_up(self, watcher: Watcher, seq: int) -> None:
        """Send a watcher what he missed after `seq`; the table as it is if that is nothing, or too much."""
        viewer = self.seat_of(watcher)
        is_gap = self.game is not None and 0 < len(self.game.log) - seq <= CATCH_UP_MAX
        texts = list(self.events(viewer, seq)) if is_gap else self._snapshot_for(viewer)
        for text in texts:
            watcher.deliver(text)
        self._ask(watcher)

    def acknowledge(self, watcher: Watcher, id: int) -> None:
        """Send the event of decision `id` once more."""
        for seq, entry in enumerate(self.game.log_for(self.seat_of(watcher)) if self.game else (), 1):
            id -= "move" in entry
            if id == 0:
                watcher.deliver(_text(type="event", seq=seq, **entry))
                return

    def judge(self, seat: int | None, id: int, move: str) -> tuple[str, str] | None:
        """Return why a move cannot be taken as the table stands here, or None; "answered" if it stands already."""
        is_past = self.game is not None and 1 <= id <= self.game.decisions_made
        if is_past and self._made(id) == (seat, move):
            return "answered", ""
        if self.facts is None or self.facts.match.is_over:
            return "finished", _("the game is over")
        if self.game is None:
            if not self.facts.people:
                return "not_your_turn", _("you only watch")
            return "stale", _("the cards are not dealt yet")
        if seat is None:
            return "not_your_turn", _("you only watch")
        if is_past:
            return "stale", _("the table moved on")
        decision = self.game.decision
        if decision is None or seat in self.game.faulted:
            return "finished", _("the game is over")
        if decision.seat != seat:
            return "not_your_turn", _("somebody else is to move")
        if decision.id != id:
            return "stale", _("expected decision %(number)d") % {"number": decision.id}
        return None if move in self.game.legal() else ("illegal", _("it is not one of the moves that were offered"))

    def _made(self, id: int) -> tuple[int, str]:
        moves = [entry for entry in self.game.log_for(None) if "move" in entry] if self.game else []
        return moves[id - 1]["seat"], moves[id - 1]["move"]

    def _reject(self, message: dict[str, Any]) -> None:
        """Tell one seat that its move was not taken."""
        refused = {key: message[key] for key in ("id", "move", "detail")}
        text = _text(type="rejected", code=message["reason"], **refused)
        for watcher in list(self.watchers):
            if self.seat_of(watcher) == message["seat"]:
                watcher.deliver(text)

    def _tell_presence(self) -> None:
        """Say how many watch here, at most once a second."""
        if self._presence is None:
            self._presence = asyncio.get_running_loop().call_later(PRESENCE_S, self._say_presence)

    def _say_presence(self) -> None:
        self._presence = None
        text = _text(type="presence", watching=len(self.watchers))
        for watcher in list(self.watchers):
            watcher.deliver(text)


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Hub]] = WeakKeyDictionary()


def _hubs() -> dict[str, Hub]:
    return _by_loop.setdefault(asyncio.get_running_loop(), {})


async def join(code: str, watcher: Watcher) -> Hub:
    """Have `watcher` watch table `code`; its snapshot has been delivered when this returns."""
    while True:
        hub = _hubs().setdefault(code, Hub(code))
        try:
            await hub.ready()
        except BaseException:
            # Whoever comes next begins anew.
            await hub.close()
            raise
        # Another's leaving may have closed it in the meantime.
        if not hub.is_closed:
            hub.add(watcher)
            return hub


def _text(**message: Any) -> str:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))
