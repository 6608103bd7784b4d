"""Two worlds: unfinished matches that differ only in cards that a viewer cannot know are the same to him everywhere.

The same rows are played through twice, with the same seed, and a deck in which two hidden cards have changed places.
Every address of the URLconf, every socket, log line, printed task and notice must then be equal; a view that leaks on
purpose must make them differ.
"""

import asyncio
import itertools
import json
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.db import database_sync_to_async as in_thread
from channels.routing import URLRouter
from django.contrib.auth.models import AnonymousUser
from django.core.cache import caches
from django.shortcuts import get_object_or_404
from django.test import Client
from django.utils import timezone

from games import broker, tables
from games.dispatch import create_match
from games.engine import Game, Rules, fixed_seats, record
from games.engine.shuffle import Shuffler
from games.models import Match, Move, Record
from games.warm import warm_tables
from soureh_site.sockets import websocket_urlpatterns
from tests.addresses import addresses
from tests.games.conftest import Office
from tests.ladder.rows import make_entries, make_ladder, make_pairing
from tests.people import person, uploaded

pytestmark = pytest.mark.django_db(transaction=True)
RULES = Rules.preset("classic", target=1)
SEED = bytes(range(32))
ENOUGH = 8  # decisions at the table, and shown of the showcase
DEEP = 70  # a place in the deck that those decisions do not reach
# The deck of two: seat 1's four face-down and four face-up cards, seat 0's, then the stock, a card a decision.
STOCK = 16
# What changes places with cards deep in the stock, and who may know nothing of it: face-down cards, a card that
# was drawn and discarded face-down, the card just drawn by seat 1, and the stock.
OF_SEAT_1 = (2, STOCK, STOCK + ENOUGH)
OF_SEAT_0 = (10, STOCK + 1)
UNSEEN = (DEEP - 1,)
WORLDS = {
    "spectators": (OF_SEAT_1 + OF_SEAT_0 + UNSEEN, ("anonymous", "owner", "operator")),
    "opponent-in-seat-0": (OF_SEAT_1 + UNSEEN, ("seat 0",)),
    "opponent-in-seat-1": (OF_SEAT_0 + UNSEEN, ("seat 1",)),
}


@dataclass
class House:
    """The rows that both worlds share, and the people who look at them."""

    table: Match
    shown: Match
    running: Match
    trial: Match
    fill: dict[str, list[Any]]
    people: dict[str, Any]
    before: dict[int, dict[str, Any]] = field(default_factory=dict)


@pytest.fixture
def house(worker_less_settings: None) -> House:
    """A table of two people, a showcase, a match being played and a trial; nobody's game has ended."""
    people = {"anonymous": None, "operator": person("operator", is_staff=True, is_superuser=True)}
    people |= {name: person(name.replace(" ", "")) for name in ("seat 0", "seat 1", "owner")}
    seated = [{"user": people["seat 0"]}, {"user": people["seat 1"]}]
    table = create_match(kind="table", rules=RULES.to_json(), entrants=seated, seating="fixed", server_seed=SEED)
    ladder = make_ladder(name="Two worlds")
    ladder.rules = RULES.to_json()
    entries = make_entries(ladder, 2, owner=people["owner"])
    shown, running = (make_pairing(ladder, entries)[1] for _ in range(2))
    version = uploaded(people["owner"], "Trialled")
    trial = create_match(kind="trial", rules=RULES.to_json(), entrants=[{"version": version}, {"version": version}])
    now = timezone.now()
    Match.objects.filter(pk=shown.pk).update(
        state="showing", seating="fixed", server_seed=SEED, is_showcase=True, show_ms=60_000, attempt=1,
        show_from=now - timedelta(minutes=ENOUGH, seconds=30), show_until=now + timedelta(1),
        rules=RULES.to_json(),
    )  # fmt: skip
    shown.players.filter(entrant=0).update(seat=0)
    shown.players.filter(entrant=1).update(seat=1)
    for match in (running, trial):
        Match.objects.filter(pk=match.pk).update(state="playing", attempt=1, heard_at=now, started_at=now)
    fill = {
        "code": [match.code for match in (table, shown, running, trial)],
        "slug": [ladder.slug, entries[0].bot.slug, version.bot.slug],
        "bot": [entries[0].bot.slug, version.bot.slug],
        "seat": [0, 1],
        "username": [user.username for user in people.values() if user],
        "pk": [entries[0].pk],
        "pairing": [shown.paired.pairing_id],
        "id": [people["owner"].pk],
        "object_id": [table.pk, shown.pk],
    }
    return House(table, shown, running, trial, fill, people)


@pytest.fixture
def worker_less_settings(db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let time stand still, so that nothing but the cards can differ, and lift what counts requests."""
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    settings.LANGUAGE_CODE = "en"


def deck_of(changed: Sequence[int]) -> list[int]:
    """Return the first hand's deck, each card at `changed` in exchange for another from deep in the stock."""
    deck = Shuffler(SEED, ("", "")).deal(1)
    free = list(range(DEEP, len(deck)))
    for place in changed:
        other = next(deep for deep in free if deck[deep] % 10 != deck[place] % 10)
        free.remove(other)
        deck[place], deck[other] = deck[other], deck[place]
    return deck


def quiet_move(game: Game) -> str:
    """Return a move that shows no card which differs between the worlds: discards, keeps in slot 0, and swaps."""
    wish = ("d", "k0", "s")[game.decisions_made // 2 % 3]
    # The very first discard lies face-down for good: one of the worlds differs in it.
    return next(move for move in game.legal() if move.startswith(wish) and not move.endswith("!"))


def play_showcase(match: Match) -> None:
    """Write the record that this world's deck makes: the same first decisions, then as it goes."""
    game = Game(RULES, 2, SEED)
    while game.decision is not None:
        quiet = game.decisions_made <= ENOUGH
        game.play(quiet_move(game) if quiet else game.legal()[game.decisions_made % len(game.legal())])
    doc = record.build(
        game, id=match.code, played="2026-01-01T00:00:00Z", seating=fixed_seats(2),
        seats=[{"name": "a", "kind": "bot"}, {"name": "b", "kind": "bot"}],
    )  # fmt: skip
    Record.objects.update_or_create(match=match, defaults={"packed": record.pack(doc)})


class Ear(ApplicationCommunicator):
    """One viewer's socket, and every message that came over it but how many watch."""

    def __init__(self, path: str, user: Any) -> None:
        scope = {"type": "websocket", "path": path, "headers": [], "query_string": b"", "subprotocols": []}
        super().__init__(URLRouter(websocket_urlpatterns), scope | {"user": user or AnonymousUser()})
        self.heard: list[Any] = []

    async def open(self) -> None:
        await self.send_input({"type": "websocket.connect"})
        self.heard.append((await self.receive_output(10))["type"])

    async def take(self, seconds: float) -> None:
        """Take in what comes until nothing has come for a while."""
        while not await self.receive_nothing(timeout=seconds, interval=0.02):
            output = await self.receive_output(1)
            message = json.loads(output.get("text") or "{}")
            if message.get("type") != "presence":
                self.heard.append(message or output)

    async def take_until(self, is_last: Callable[[dict[str, Any]], bool]) -> None:
        """Take in what comes until a message that `is_last` has come."""
        while not isinstance(self.heard[-1], dict) or not is_last(self.heard[-1]):
            message = json.loads((await self.receive_output(10))["text"])
            if message["type"] != "presence":
                self.heard.append(message)

    async def take_until_seq(self, seq: int) -> None:
        """Take in what comes until the table has come to `seq`."""
        await self.take_until(lambda message: message.get("seq", 0) >= seq)

    async def ask_again(self) -> None:
        """Ask for everything from the start, and try what is refused."""
        for said in ({"type": "since", "seq": 0}, {"type": "move", "id": 1, "move": "k3"}, {"type": "dance"}):
            await self.send_input({"type": "websocket.receive", "text": json.dumps(said)})

    async def close(self) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(10)


class Line(logging.Handler):
    """Every line that any logger wrote."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, line: logging.LogRecord) -> None:
        if line.name.startswith(("games", "bots", "ladder", "soureh_site", "django.request")):
            self.lines.append(f"{line.levelname} {line.name} {line.getMessage()}")


def observe(
    house: House,
    changed: Sequence[int],
    viewers: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    *,
    with_pages: bool = True,
) -> dict[str, Any]:
    """Play one world through and return all that its viewers, its logs and its notices show, by channel."""
    caches["default"].clear()
    # The bots of other tests' tables are let go some time later, which would be heard of in one world alone.
    warm_tables.close()
    deck, deal = deck_of(changed), Shuffler.deal
    office, notices, ear = Office(), [], Line()
    notify = broker.notify_table

    def overhear(code: str, kind: str = "table.changed", **content: Any) -> None:
        notices.append((code, kind, content))
        notify(code, kind, **content)

    root, level = logging.getLogger(), logging.getLogger("games").level
    with monkeypatch.context() as patch:
        patch.setattr(Shuffler, "deal", lambda self, hand: list(deck) if hand == 1 else deal(self, hand))
        patch.setattr(broker, "send", office.send)
        patch.setattr(broker, "notify_table", overhear)
        restore(house)
        play_showcase(house.shown)
        logging.getLogger("games").setLevel(logging.DEBUG)
        root.addHandler(ear)
        try:
            sockets = asyncio.run(listen(house, viewers, office))
            pages = {viewer: browse(house, viewer) for viewer in viewers if with_pages}
        finally:
            root.removeHandler(ear)
            logging.getLogger("games").setLevel(level)
    return flatten({"sockets": sockets, "pages": pages, "logs": ear.lines, "tasks": office.shown, "notices": notices})


def restore(house: House) -> None:
    """Put the table's rows back to before its first card."""
    rows = Match.objects.filter(pk=house.table.pk)
    Move.objects.all().delete()
    if not house.before:
        house.before[house.table.pk] = rows.values().get()
    rows.update(**house.before[house.table.pk])
    house.table.players.update(seat=None)


async def listen(house: House, viewers: tuple[str, ...], office: Office) -> dict[str, Any]:
    """Open every socket for every viewer, play the table, and return what each heard."""
    paths = [f"/ws/tables/{code}/" for code in house.fill["code"]]
    paths += ["/ws/home/", *(f"/ws/ladders/{slug}/" for slug in house.fill["slug"][:1])]
    assert len(websocket_urlpatterns) == 3, "expected a way to listen to each socket of the site"
    ears = {(viewer, path): Ear(path, house.people[viewer]) for viewer, path in itertools.product(viewers, paths)}
    for ear in ears.values():
        await ear.open()
    await in_thread(tables.deal)(house.table)
    await office.deliver_beside()
    game = Game(RULES, 2, SEED)
    # One batch at a time: two that are read together are told together, which is no secret but a difference.
    await ears[viewers[0], paths[0]].take_until_seq(1)
    for _ in range(ENOUGH):
        decision, move = game.decision, quiet_move(game)
        assert decision is not None
        match = await in_thread(Match.objects.get)(pk=house.table.pk)
        await in_thread(tables.decide)(match, decision.seat, id=decision.id, move=move)
        await office.deliver_beside()
        game.play(move)
        await ears[viewers[0], paths[0]].take_until_seq(game.decisions_made + 1)
    opened = [ear for ear in ears.values() if ear.heard[0] == "websocket.accept"]
    await asyncio.gather(*(ear.take(0.2) for ear in opened))
    for ear in opened:
        if "tables" in ear.scope["path"]:
            await ear.ask_again()
            # The dance is what was said last, and is an error wherever it is said.
            await ear.take_until(lambda message: message["type"] == "error")
    await asyncio.gather(*(ear.take(0.2) for ear in opened))
    for ear in opened:
        await ear.close()
    assert (await in_thread(Match.objects.get)(pk=house.table.pk)).decisions == ENOUGH
    return {viewer: {path: ears[viewer, path].heard for path in paths} for viewer in viewers}


def browse(house: House, viewer: str) -> dict[str, str]:
    """Return every page of the URLconf as one viewer gets it."""
    client = Client(raise_request_exception=False)
    if house.people[viewer] is not None:
        client.force_login(house.people[viewer])
    pages = {}
    every = addresses(house.fill)
    # Some pages of an account make a row at the first visit.
    for address in every:
        if address.startswith("/accounts/"):
            client.get(address)
    for address in every:
        response = client.get(address)
        assert response.status_code < 500, address
        body = response.getvalue() if response.streaming else response.content
        pages[address] = (
            f"{response.status_code} {response.get('Location', '')}\n{steady(body.decode('utf-8', 'replace'))}"
        )
    return pages


def steady(text: str) -> str:
    """Return a page without what is drawn anew for each request."""
    # A token against forgery; what is hexadecimal, such as a seed, stays to be compared.
    text = re.sub(r"\b(?![0-9a-f]{64}\b)[A-Za-z0-9]{64}\b", "token", text)
    text = re.sub(r'(value=")\d\d:\d\d:\d\d"|(\?since=)\d{10}', r"\1\2now", text)
    # The second factor's secret, drawn when its page is asked for.
    return re.sub(r"data:image/svg\+xml;[^\"']+|\b[A-Z2-7]{32}\b", "secret", text)


def flatten(tree: Any, path: str = "") -> dict[str, Any]:
    """Return the leaves of nested dicts by their path."""
    if not isinstance(tree, dict):
        return {path: tree}
    leaves: dict[str, Any] = {}
    for key, branch in tree.items():
        leaves |= flatten(branch, f"{path} {key}".strip())
    return leaves


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Return the channels on which two worlds are not the same."""
    return sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))


@pytest.mark.parametrize("world", WORLDS)
def test_worlds_that_differ_only_in_hidden_cards_look_the_same(
    house: House, monkeypatch: pytest.MonkeyPatch, world: str
) -> None:
    changed, viewers = WORLDS[world]
    one, other = (observe(house, deck, viewers, monkeypatch) for deck in ((), changed))
    assert differences(one, other) == []
    text = json.dumps(one)
    assert SEED.hex() not in text
    for channel in (f"sockets {viewers[0]}", f"pages {viewers[0]}", "logs", "tasks", "notices"):
        assert any(key.startswith(channel) and one[key] for key in one), channel
    table = f"/ws/tables/{house.table.code}/"
    assert [m["seq"] for m in one[f"sockets {viewers[0]} {table}"] if isinstance(m, dict) and m.get("type") == "event"]


def leak_in_views(patch: pytest.MonkeyPatch) -> None:
    view = Game.view
    patch.setattr(Game, "view", lambda self, seat, *, revealed=False: view(self, seat, revealed=True))


def leak_in_what_happens(patch: pytest.MonkeyPatch) -> None:
    log_for = Game.log_for
    patch.setattr(
        Game, "log_for", lambda self, seat, start=0, *, revealed=False: log_for(self, seat, start, revealed=True)
    )


def leak_in_logs(patch: pytest.MonkeyPatch) -> None:
    apply = tables._apply

    def tell(match: Match, parsed: Any) -> Game:
        game = apply(match, parsed)
        logging.getLogger("games.tables").debug(
            "table match=%s hand=%s", match.code, game.view(None, revealed=True)["down"]
        )
        return game

    patch.setattr(tables, "_apply", tell)


def leak_in_notices(patch: pytest.MonkeyPatch) -> None:
    store = tables._store

    def tell(match: Match, game: Game, parsed: Any) -> bool:
        broker.notify_table(match.code, view=game.view(1))
        return store(match, game, parsed)

    patch.setattr(tables, "_store", tell)


def leak_in_records(patch: pytest.MonkeyPatch) -> None:
    from games import views

    patch.setattr(views, "_finished", lambda request, code: get_object_or_404(Record, match__code=code).match)
    patch.setattr("games.replay.all_frames", lambda match: [])
    patch.setattr("games.replay.record", lambda match: record.unpack(bytes(match.record.packed)))


@pytest.mark.parametrize(
    ("leak", "channel"),
    [
        (leak_in_views, "sockets anonymous"),
        (leak_in_views, "pages anonymous"),
        (leak_in_what_happens, "sockets anonymous"),
        (leak_in_logs, "logs"),
        (leak_in_notices, "notices"),
        (leak_in_records, "pages anonymous"),
    ],
)
def test_leak_on_purpose_is_noticed(house: House, monkeypatch: pytest.MonkeyPatch, leak: Any, channel: str) -> None:
    leak(monkeypatch)
    with_pages = channel.startswith("pages")
    one, other = (observe(house, deck, ("anonymous",), monkeypatch, with_pages=with_pages) for deck in ((), OF_SEAT_1))
    assert [key for key in differences(one, other) if key.startswith(channel)]


def test_every_address_of_the_site_is_looked_at(house: House) -> None:
    found = addresses(house.fill)
    assert f"/tables/{house.table.code}/" in found
    assert f"/api/v1/matches/{house.shown.code}/" in found
    assert f"/bots/{house.fill['bot'][0]}/" in found
    assert not [address for address in found if re.search(r"[<>()?^$\\]", address)]
