"""Two sets that differ only in what is sealed are the same to everybody, on every page, socket, log line and notice.

The same rows are played through twice: the sealed match goes another way, a bot faults or does not, and writes another
log. Leaks on purpose must make them differ.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from channels.db import database_sync_to_async as in_thread
from django.core.cache import caches
from django.test import Client
from django.utils import timezone

from games import broker, finish
from games.models import Match, Record, SeatLog
from ladder.models import Pairing
from tests.addresses import addresses
from tests.ladder.play import play
from tests.ladder.rows import make_entries, make_ladder, make_set
from tests.people import person
from tests.test_two_worlds import Ear, Line, differences, flatten, steady

pytestmark = pytest.mark.django_db(transaction=True)
# Pages that tell of no match. What is left an operator looks at in the admin, and the others everywhere else.
DULL = re.compile(r"/accounts/|/api/(docs|v1/(schema|kit))|/admin/(?!games/|ladder/)|.*(/add/|/delete/|/kit)")
# What differs: the log of both bots, and who faulted.
WAYS: tuple[dict[str, Any], ...] = ({"log": "all went well"}, {"log": "a joker lies in slot 3", "faulty": {1: "crash"}})


@dataclass
class Set:
    """A set of which one match is about to be sealed, and the people who look at it."""

    pairing: Pairing
    matches: list[Match]
    fill: dict[str, list[Any]]
    people: dict[str, Any]


@pytest.fixture
def house(db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Set:
    """A duplicate set of two bots of one owner; time stands still, so that nothing but what is sealed can differ."""
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    settings.LANGUAGE_CODE = "en"
    owner, operator = person("owner"), person("operator", is_staff=True, is_superuser=True)
    ladder = make_ladder(name="Two sets", unit="set")
    entries = make_entries(ladder, 2, owner=owner)
    pairing, matches = make_set(ladder, entries)
    Match.objects.filter(pk=matches[0].pk).update(state="playing", attempt=1, heard_at=now, started_at=now)
    fill = {
        "code": [match.code for match in matches],
        "slug": [ladder.slug, entries[0].bot.slug],
        "bot": [entries[0].bot.slug],
        "seat": [0, 1],
        "username": ["owner"],
        "pk": [entries[0].pk],
        "pairing": [pairing.pk],
        "id": [owner.pk],
        "object_id": [match.pk for match in matches],
        "app_label": ["games", "ladder"],
    }
    return Set(pairing, matches, fill, {"anonymous": None, "owner": owner, "operator": operator})


def observe(house: Set, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Play the first match one way, have it sealed, and return all that anybody is shown, by channel."""
    caches["default"].clear()
    notices: list[Any] = []
    ear = Line()
    root, level = logging.getLogger(), logging.getLogger("games").level
    before = Match.objects.values().get(pk=house.matches[0].pk)
    with monkeypatch.context() as patch:
        patch.setattr(broker, "notify_table", lambda *args, **kwargs: notices.append((args, kwargs)))
        patch.setattr("ladder.tasks.announce", notices.append)
        logging.getLogger("games").setLevel(logging.DEBUG)
        root.addHandler(ear)
        try:
            sockets = asyncio.run(listen(house, way))
            pages = {viewer: browse(house, viewer) for viewer in house.people}
        finally:
            root.removeHandler(ear)
            logging.getLogger("games").setLevel(level)
    assert Record.objects.count() == 1 and SeatLog.objects.exists(), "it was played, and what it came to is kept"
    Record.objects.all().delete()
    SeatLog.objects.all().delete()
    house.matches[0].players.update(seat=None, place=None, total=None, fault="")
    Match.objects.filter(pk=house.matches[0].pk).update(**before)
    return flatten({"sockets": sockets, "pages": pages, "logs": ear.lines, "notices": notices})


def browse(house: Set, viewer: str) -> dict[str, str]:
    """Return every page that one viewer is told of, as he gets it."""
    client = Client(raise_request_exception=False)
    if house.people[viewer] is not None:
        client.force_login(house.people[viewer])
    pages = {}
    for address in addresses(house.fill):
        if address.startswith("/admin/") == (viewer == "operator") and not DULL.match(address):
            response = client.get(address)
            assert response.status_code < 500, address
            body = response.getvalue() if response.streaming else response.content
            pages[address] = f"{response.status_code}\n{steady(body.decode('utf-8', 'replace'))}"
    return pages


async def listen(house: Set, way: dict[str, Any]) -> dict[str, Any]:
    """Open a match's socket for every viewer, have it played, and return what each heard."""
    match = house.matches[0]
    ears = {viewer: Ear(f"/ws/tables/{match.code}/", user) for viewer, user in house.people.items()}
    for ear in ears.values():
        await ear.open()
    outcome = await in_thread(play)(match, 1, **way)
    assert await in_thread(finish.finish_match)(match.pk, 1, outcome)
    for ear in ears.values():
        await ear.ask_again()
        await ear.take_until(lambda message: message["type"] == "error")
        await ear.close()
    return {viewer: ear.heard for viewer, ear in ears.items()}


def test_sets_that_differ_only_in_what_is_sealed_look_the_same(house: Set, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (observe(house, way, monkeypatch) for way in WAYS)
    assert differences(one, other) == []
    sealed = f"pages owner /matches/{house.matches[0].code}/"
    assert "Sealed" in one[sealed] and one["notices"] and one["sockets owner"][1]["view"] is None
    for page in one.values():
        assert "went well" not in str(page) and bytes(house.matches[0].server_seed).hex() not in str(page)


def leak_in_columns(patch: pytest.MonkeyPatch) -> None:
    figures = finish._final_figures
    patch.setattr(finish, "_played_figures", lambda match, game, doc, now: figures(doc, now) | {"state": "sealed"})


def leak_in_seats(patch: pytest.MonkeyPatch) -> None:
    close = finish.open_set

    def tell(duplicates: str) -> bool:
        match = Match.objects.select_related("record").get(state="sealed")
        doc = finish.record.unpack(bytes(match.record.packed))
        for player in match.players.all():
            match.players.filter(pk=player.pk).update(total=doc["result"]["totals"][player.entrant])
        return close(duplicates)

    patch.setattr(finish, "open_set", tell)


def leak_in_states(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Match, "is_over", property(lambda match: match.state in ("finished", "void", "sealed")))


def leak_in_records(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("games.replay._require_finished", lambda match: None)
    patch.setattr("games.views.State", type("State", (), {"FINISHED": "sealed", "OPEN": "open", "PLAYING": "playing"}))


def leak_in_logs(patch: pytest.MonkeyPatch) -> None:
    keep = finish.keep_logs

    def tell(match: Match, players: Any, game: Any, parsed: Any) -> None:
        logging.getLogger("games.finish").debug("kept %s", parsed.logs)
        keep(match, players, game, parsed)

    patch.setattr(finish, "keep_logs", tell)


@pytest.mark.parametrize(
    ("leak", "channel"),
    [
        (leak_in_columns, "pages operator"),
        (leak_in_seats, "pages anonymous"),
        (leak_in_states, "pages owner"),
        (leak_in_records, "pages anonymous"),
        (leak_in_logs, "logs"),
    ],
)
def test_leak_on_purpose_is_noticed(
    house: Set, monkeypatch: pytest.MonkeyPatch, leak: Callable[[pytest.MonkeyPatch], None], channel: str
) -> None:
    leak(monkeypatch)
    house.people = {name: user for name, user in house.people.items() if name in channel}
    every = addresses
    where = house.matches[0].code if "operator" not in channel else "/admin/games/match/"
    monkeypatch.setattr(
        f"{__name__}.addresses", lambda fill: [one for one in every(fill) if where in one or one == "/matches/"]
    )
    one, other = (observe(house, way, monkeypatch) for way in WAYS)
    assert [key for key in differences(one, other) if key.startswith(channel)]


def test_every_address_of_the_site_is_looked_at(house: Set) -> None:
    found = addresses(house.fill)
    assert f"/ladders/{house.pairing.ladder.slug}/pairings/{house.pairing.pk}/" in found
    assert f"/api/v1/pairings/{house.pairing.pk}/" in found
