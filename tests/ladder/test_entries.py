"""All of one's entries on one page: what they play, why they wait, what was not rated; and being called to a table."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from bots.models import Switch
from games import tables
from games.clocks import Clocks
from games.models import Match, Worker
from ladder import registration
from ladder.models import Entry, Ladder, LadderEvent, PairedEntry, PairedMatch, Pairing, Round
from ladder.own_entries import own_entries
from ladder.ratings import rate
from tests.ladder.rows import CLASSIC, end, make_bot, make_entries, make_ladder, make_pairing, make_user, play, void

pytestmark = pytest.mark.django_db
MOST_QUERIES = 12


@pytest.fixture
def ladder() -> Ladder:
    """A ladder that people and bots may enter, with two house bots; a worker is alive."""
    Worker.objects.create(name="w", queues="matches,tables,answers", is_ok=True, seen_at=timezone.now())
    ladder = make_ladder(entrants="both", entries_per_owner=None)
    make_entries(ladder, 2)
    return ladder


@pytest.fixture
def entry(ada, ladder) -> Entry:
    return registration.register(ada, make_bot(ada, name="Mim"), ladder)


def row_of(user):
    """Return the user's only row."""
    [row] = own_entries(user)
    return row


def others(ladder: Ladder, entry: Entry) -> list[Entry]:
    return [entry, ladder.entries.exclude(pk=entry.pk).order_by("pk").first()]


def test_entry_that_waits_for_nothing_says_nothing(ada, entry) -> None:
    assert (row_of(ada).waits_for, row_of(ada).pending, row_of(ada).recent) == ([], [], [])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param(lambda entry: Entry.objects.filter(pk=entry.pk).update(state="paused"), "Paused", id="paused"),
        pytest.param(
            lambda entry: Entry.objects.filter(pk=entry.pk).update(state="withdrawn"), "Withdrawn", id="withdrawn"
        ),
        pytest.param(lambda entry: Ladder.objects.update(state="frozen"), "is frozen", id="frozen"),
        pytest.param(lambda entry: Ladder.objects.update(state="open"), "no rounds are held yet", id="open"),
        pytest.param(lambda entry: Ladder.objects.update(seats=4), "needs 1 more entry", id="too-few"),
        pytest.param(
            lambda entry: Entry.objects.exclude(pk=entry.pk).update(state="paused"), "needs 1 more entry", id="alone"
        ),
        pytest.param(lambda entry: entry.bot.versions.update(state="set_aside"), "was set aside", id="set-aside"),
        pytest.param(
            lambda entry: Switch.objects.update_or_create(name="rounds", defaults={"is_paused": True, "note": "Tea."}),
            "Tea.",
            id="rounds-paused",
        ),
        pytest.param(
            lambda entry: Worker.objects.update(seen_at=timezone.now() - timedelta(hours=2)),
            "heard of for 2",
            id="no-worker",
        ),
    ],
)
def test_entry_says_why_it_is_in_no_round(ada, entry, change, sentence: str) -> None:
    change(entry)
    assert any(sentence in text for text in row_of(ada).waits_for), row_of(ada).waits_for


def test_entries_of_too_few_owners_are_promised_no_round(by_ada, ada) -> None:
    ladder = make_ladder(seats=3)
    entry = registration.register(ada, make_bot(ada), ladder)
    make_entries(ladder, 1, owner=ada)
    make_entries(ladder, 2, owner=make_user("eve"))
    page = by_ada.get(reverse("my_entries")).content.decode()
    assert page.count("A round needs 1 more entry that can play, of another owner.") == 2
    assert "comes with the next round" not in page
    make_entries(ladder, 1)
    assert not any("A round needs" in text for row in own_entries(ada) for text in row.waits_for), entry


def test_who_is_ready_alone_is_told_for_how_many_he_waits(by_ada, ada) -> None:
    ladder = make_ladder(entrants="people")
    people = [registration.register(user, user, ladder) for user in (ada, make_user("eve"), make_user("bob"))]
    registration.get_ready(ada, people[0])
    page = by_ada.get(reverse("my_entries")).content.decode()
    assert "A round needs 1 more person who is ready." in page and "Keep a page of this site open." in page
    assert "comes with the next round" not in page
    registration.get_ready(people[1].user, people[1])
    assert row_of(ada).waits_for == []
    registration.stand_down(ada, people[0])
    registration.stand_down(people[1].user, people[1])
    assert "A round needs 2 more people who are ready." in row_of(ada).waits_for


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        pytest.param(lambda entry: Ladder.objects.update(state="closed"), "is closed", id="closed"),
        pytest.param(
            lambda entry: Ladder.objects.update(registration_until=timezone.now()), "Registration for", id="shut"
        ),
        pytest.param(lambda entry: entry.bot.versions.update(state="failed"), "did not pass its trial", id="failed"),
    ],
)
def test_withdrawn_entry_says_why_it_cannot_come_back(by_ada, entry, change, sentence: str) -> None:
    Entry.objects.filter(pk=entry.pk).update(state="withdrawn")
    page = by_ada.get(reverse("my_entries")).content.decode()
    assert "Come back" in page and "It cannot come back now" not in page
    change(entry)
    page = by_ada.get(reverse("my_entries")).content.decode()
    assert "Come back" not in page
    assert re.search(f"It cannot come back now: [^<]*{sentence}", page)


def test_disqualified_entry_says_why(ada, entry, ladder) -> None:
    Entry.objects.filter(pk=entry.pk).update(state="disqualified")
    effect = {"entry": entry.pk}
    LadderEvent.objects.create(ladder=ladder, what="disqualified", reason="Asked a friend.", effect=effect)
    assert "Asked a friend." in row_of(ada).waits_for[0]


def test_waiting_match_says_its_place_and_a_playing_one_when_its_worker_was_heard_of(ada, entry, ladder) -> None:
    make_pairing(ladder, list(ladder.entries.exclude(pk=entry.pk)))
    _pairing, match = make_pairing(ladder, others(ladder, entry))
    [pending] = row_of(ada).pending
    assert (pending.place, pending.code, pending.against) == (2, match.code, [others(ladder, entry)[1].name])
    assert "Number 2 in the queue" in pending.text
    assert "It is paired again when" in row_of(ada).waits_for[0]
    heard_at = timezone.now() - timedelta(seconds=7)
    Match.objects.filter(pk=match.pk).update(state="playing", heard_at=heard_at)
    [pending] = row_of(ada).pending
    assert (pending.place, pending.heard_at) == (None, heard_at)
    assert "last heard of 7 seconds ago" in pending.text


def test_results_tell_what_was_rated_and_why_what_was_not(ada, entry, ladder) -> None:
    for number in range(3):
        pairing, match = make_pairing(ladder, others(ladder, entry))
        end(match, [1, 2]) if number != 1 else void(match)
        rate(pairing.pk)
    newest, unrated, oldest = row_of(ada).recent
    assert (newest.place, oldest.place, unrated.place) == (1, 1, None)
    assert oldest.change == pytest.approx(20.0)
    assert unrated.change is None and "through our fault" in unrated.why_unrated
    assert newest.why_unrated == ""


def test_pages_address_rows_of_the_reader_alone(by_ada, entry, ladder) -> None:
    eve = make_user("eve")
    registration.register(eve, make_bot(eve, name="Hidden"), ladder)
    page = by_ada.get(reverse("my_entries")).content.decode()
    assert "Mim" in page and "Hidden" not in page
    assert [one["entry"]["name"] for one in by_ada.get("/api/v1/entries/mine/").json()] == ["Mim"]


def test_visitor_logs_in_first_and_who_has_no_entry_is_told_what_to_do(client: Client, by_ada) -> None:
    assert client.get(reverse("my_entries")).status_code == 302
    assert client.get("/api/v1/entries/mine/").status_code == 401
    assert "You are in no ladder yet" in by_ada.get(reverse("my_entries")).content.decode()


def test_update_is_the_parts_alone(by_ada, entry) -> None:
    page = by_ada.get(reverse("my_entries"), headers={"HX-Request": "true"}).content.decode()
    assert "data-part" in page and "<html" not in page


def test_page_costs_few_queries_whatever_is_entered_and_pending(by_ada, ada, ladder) -> None:
    for number in range(12):
        one = make_ladder(entrants="both", entries_per_owner=None)
        entry = registration.register(ada, make_bot(ada), one)
        rival = make_entries(one, 1)[0]
        for _ in range(2):
            play(one, [entry, rival], [1, 2])
        make_pairing(one, [entry, rival])
        if number < 2:
            Entry.objects.filter(pk=entry.pk).update(state="disqualified")
    match = Match.objects.filter(state="waiting").first()
    Match.objects.filter(pk=match.pk).update(kind="trial")
    with CaptureQueriesContext(connection) as queries:
        response = by_ada.get(reverse("my_entries"))
    assert response.content.decode().count('class="panel entry"') == 12
    assert len(queries) <= MOST_QUERIES, [query["sql"][:120] for query in queries]
    with CaptureQueriesContext(connection) as queries:
        by_ada.get(ladder.get_absolute_url())
    assert len(queries) <= MOST_QUERIES, [query["sql"][:120] for query in queries]


# A person


def test_person_enters_by_the_form_and_says_that_he_is_ready(by_ada, ada, ladder) -> None:
    page = by_ada.get(ladder.get_absolute_url()).content.decode()
    assert 'name="person"' in page
    by_ada.post(reverse("ladder_register", args=[ladder.slug]), {"person": "1"})
    entry = Entry.objects.get(user=ada)
    assert entry.addresses.count() == 1, "as a digest, for who looks whether one address plays twice at a table"
    assert "only while you are ready" in row_of(ada).waits_for[0]
    there = by_ada.post(reverse("entry_change", args=[entry.pk, "ready"]), {"next": "/entries/"}, follow=True)
    page = there.content.decode()
    assert "You are ready for a game until" in page and f'data-ready="{reverse("ready")}"' in page
    assert row_of(ada).waits_for == []
    by_ada.post(reverse("entry_change", args=[entry.pk, "unready"]))
    assert "data-ready" not in by_ada.get("/entries/").content.decode()


def test_stranger_makes_nobody_ready(ada, ladder) -> None:
    entry = registration.register(ada, ada, ladder)
    eve = Client()
    eve.force_login(make_user("eve"))
    assert eve.post(reverse("entry_change", args=[entry.pk, "ready"])).status_code == 404
    assert eve.post(f"/api/v1/entries/{entry.pk}/ready/").status_code in (403, 404)
    assert not Entry.objects.get(pk=entry.pk).is_ready


def seated(ada, ladder) -> Match:
    """Return the table for which a round has paired ada and another person."""
    ben = make_user("ben")
    entries = [registration.register(one, one, ladder) for one in (ada, ben)]
    held = Round.objects.create(ladder=ladder, number=1)
    pairing = Pairing.objects.create(round=held, ladder=ladder)
    for entrant, one in enumerate(entries):
        PairedEntry.objects.create(pairing=pairing, entry=one, entrant=entrant)
    match = tables.open_ranked(entrants=[{"user": ada}, {"user": ben}], rules=CLASSIC, clocks=Clocks(60, 300))
    PairedMatch.objects.create(pairing=pairing, match=match, ladder=ladder)
    return match


def test_every_page_calls_a_person_to_his_table_until_it_is_over(by_ada, ada, ladder) -> None:
    match = seated(ada, ladder)
    table = reverse("table", args=[match.code])
    for address in ("/", "/entries/", "/rules/", ladder.get_absolute_url()):
        assert table in by_ada.get(address).content.decode(), address
    assert by_ada.post(reverse("ready")).json() == {"ready_until": None, "table": table}
    assert [one.label for one in row_of(ada).pending] == ["your table"]
    tables.void_match(match.pk, "operator")
    assert "Your table is waiting" not in by_ada.get("/").content.decode()


def test_page_that_asks_keeps_its_person_ready(by_ada, ada, ladder) -> None:
    registration.get_ready(ada, registration.register(ada, ada, ladder))
    soon = timezone.now() + timedelta(minutes=1)
    Entry.objects.filter(user=ada).update(ready_until=soon)
    type(ada).objects.update(ready_until=soon)
    assert by_ada.post(reverse("ready")).json()["table"] is None
    assert Entry.objects.get(user=ada).ready_until > soon + timedelta(minutes=8)


def test_person_who_withdraws_in_the_middle_plays_on_and_is_rated(ada, ladder) -> None:
    match = seated(ada, ladder)
    registration.withdraw(ada, Entry.objects.get(user=ada))
    match.refresh_from_db()
    assert match.state == "open" and match.awaits == "seating"
    end(match, [2, 1])
    assert rate(match.paired.pairing_id)
    assert match.paired.pairing.changes.count() == 2
