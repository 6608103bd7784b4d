"""Every address of the site costs few queries, and as many of them at ten thousand matches as at a hundred.

The addresses are the URLconf's, so that a page which is added is counted without being named here; what fills their
gaps leads to a match in each state, a ladder, bots, people and rows.
"""

from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from games import replay
from games.models import Match
from ladder import judgements, judging, registration
from ladder.models import Entry, Ladder
from ladder.ratings import rate
from tests.addresses import addresses
from tests.ladder.play import finish_one
from tests.ladder.rows import CLASSIC, make_bot, make_entries, make_history, make_ladder, make_pairing, make_set
from tests.people import person, uploaded

pytestmark = pytest.mark.django_db
MOST_QUERIES = 12
FEW, MANY = 100, 10_000
RUNNING = {"rules": CLASSIC, "seats": 2, "server_seed": bytes(32), "commitment": "0" * 64, "player_seeds": ["", ""]}


@pytest.fixture
def ada() -> Any:
    """An operator who owns bots and sits at a table: nobody's pages hold more."""
    return person("ada", is_staff=True, is_superuser=True)


@pytest.fixture
def ladder(ada: Any) -> Ladder:
    ladder = make_ladder()
    registration.register(ada, make_bot(ada, name="Mim"), ladder)
    make_entries(ladder, 3)
    make_bot(ada)
    return ladder


@pytest.fixture
def every_address(ada: Any, ladder: Ladder) -> list[str]:
    entries = list(Entry.objects.order_by("pk"))
    mine = entries[0]
    finished, shown, playing, waiting = (make_pairing(ladder, entries[:2])[1] for _ in range(4))
    finish_one(finished, log="said so")
    rate(finished.paired.pairing_id)
    # A ladder with a history, which operators close and never delete.
    Ladder.objects.filter(pk=ladder.pk).update(rounds=1)
    Match.objects.filter(pk=shown.pk).update(is_showcase=True)
    assert finish_one(shown).state == "showing"
    Match.objects.filter(pk=playing.pk).update(state="playing", heard_at=timezone.now())
    opened, sealed = (make_set(ladder, entries[:2]) for _ in range(2))
    for match in (*opened[1], sealed[1][0]):
        finish_one(match)
    rate(opened[0].pk)
    table = Match.objects.create(kind="table", state="playing", awaits="person", seating="fixed", **RUNNING)
    table.players.create(entrant=0, seat=0, name="ada", user=ada)
    table.players.create(entrant=1, seat=1, name="careful", bot=entries[1].bot)
    version = uploaded(ada, "Trialled")
    trial = Match.objects.create(kind="trial", share=f"owner:{ada.pk}", **RUNNING)
    for entrant in (0, 1):
        trial.players.create(entrant=entrant, name="Trialled", bot=version.bot, version=version)
    judgement = judgements.ask(ladder, judging.Disqualify(mine), ada)
    assert judgement is not None and judgements.run(judgement.pk)
    matches = (finished, shown, playing, waiting, table, trial, opened[1][0], *sealed[1])
    return addresses(
        {
            "code": [match.code for match in matches],
            "slug": [ladder.slug, mine.bot.slug, version.bot.slug],
            "bot": [mine.bot.slug, version.bot.slug],
            "username": ["ada"],
            "pk": [mine.pk],
            "pairing": [finished.paired.pairing_id, opened[0].pk, sealed[0].pk],
            "judgement": [judgement.pk],
            "id": [ada.pk],
            "object_id": [ladder.pk, finished.pk],
            "app_label": ["games", "ladder"],
        }
    ) + [
        f"/matches/?ladder={ladder.slug}&bot={mine.bot.slug}",
        f"/matches/?ladder={ladder.slug}&entry={mine.pk}&with={entries[1].pk}",
        f"/bots/{mine.bot.slug}/versions/compare/?old=1&new=1",
    ]


def count_all(clients: dict[str, Client], every_address: list[str]) -> dict[str, tuple[int, int]]:
    """Return by viewer and address the status and how many queries it took, nothing being cached."""
    found = {}
    for viewer, client in clients.items():
        for address in every_address:
            if viewer == "stranger" and address.startswith("/admin/"):
                # He is sent to log in.
                continue
            caches["default"].clear()
            ContentType.objects.clear_cache()
            replay._frames.cache_clear()
            with CaptureQueriesContext(connection) as queries:
                response = client.get(address)
            found[f"{viewer} {address}"] = response.status_code, len(queries)
    return found


def test_every_address_costs_as_many_queries_at_ten_thousand_matches_as_at_a_hundred(
    ada: Any, ladder: Ladder, every_address: list[str]
) -> None:
    clients = {"stranger": Client(), "ada": Client()}
    clients["ada"].force_login(ada)
    grow(ladder, FEW)
    # Some pages of an account make a row at the first visit.
    count_all(clients, [address for address in every_address if address.startswith("/accounts/")])
    few = count_all(clients, every_address)
    grow(ladder, MANY)
    many = count_all(clients, every_address)
    # An operator's page of a row that is not there sends him elsewhere; among ten thousand it may have come to be.
    was_there = [where for where in few if not ("/admin/" in where and few[where][0] == 302)]
    assert {where: (few[where], many[where]) for where in was_there if few[where] != many[where]} == {}
    assert {where: seen for where, seen in many.items() if seen[1] > most_queries(where)} == {}
    assert not [where for where, (status, _) in many.items() if status == 429 or status >= 500]


def most_queries(where: str) -> int:
    # Before an operator deletes a row each table that refers to it is asked once.
    return 20 if "/admin/" in where and where.endswith("/delete/") else MOST_QUERIES


def grow(ladder: Ladder, count: int) -> None:
    """Add rated matches until there are `count` of all."""
    ladder.refresh_from_db()
    make_history(ladder, list(ladder.entries.order_by("pk")), count - Match.objects.count())
    # What autovacuum does on a site: without figures PostgreSQL takes a table of thousands for an empty one.
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    assert Match.objects.count() == count
