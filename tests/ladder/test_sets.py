"""Pages and API of rounds and of what is paired in them; of a set nothing is told before all of it is played."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from games.finish import void_match
from games.models import Match
from ladder.models import Ladder, Pairing, RatingChange, Round
from ladder.ratings import rate
from tests.ladder.play import finish_one
from tests.ladder.rows import make_entries, make_ladder, make_pairing, make_set, make_user

pytestmark = pytest.mark.django_db
NAMES = ("Ant", "Bee", "Cat", "Dog")


@pytest.fixture
def ladder():
    return make_ladder(seats=4, slug="four", name="Four", unit="set")


@pytest.fixture
def entries(ladder):
    entries = make_entries(ladder, 4)
    for entry, name in zip(entries, NAMES, strict=True):
        type(entry.bot).objects.filter(pk=entry.bot_id).update(name=name)
        entry.bot.name = name
    Ladder.objects.filter(pk=ladder.pk).update(rounds=1)
    return entries


def text(url, *, status=200, client=None, **headers):
    response = (client or Client()).get(url, **headers)
    assert response.status_code == status, url
    return response.content.decode()


def url_of(pairing):
    return f"/ladders/four/pairings/{pairing.pk}/"


def cells(page):
    """Return the crosstable's body as rows of words."""
    body = re.search(r"<tbody>(.*?)</tbody>", page, re.S)[1]
    rows = re.findall(r"<tr.*?</tr>", body, re.S)
    return [
        [" ".join(re.sub("<[^>]+>", " ", cell).split()) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.S)]
        for row in rows
    ]


def test_set_is_shown_as_one_crosstable(ladder, entries):
    pairing, matches = make_set(ladder, entries)
    for match in matches:
        finish_one(match)
    assert rate(pairing.pk)
    page = text(url_of(pairing))
    rows = cells(page)
    changes = {change.entry.bot.name: change for change in RatingChange.objects.select_related("entry__bot")}
    assert sorted(row[1] for row in rows) == sorted(NAMES)
    for row in rows:
        name = row[1]
        seats = Match.objects.filter(players__name=name).order_by("paired__rotation")
        own = [match.players.get(name=name) for match in seats]
        assert [seat.seat for seat in own] == [(NAMES.index(name) + rotation) % 4 for rotation in range(4)]
        for cell, seat in zip(row[2:6], own, strict=True):
            assert re.fullmatch(rf"{seat.total} (best of this match )?seat {seat.seat + 1}", cell)
            assert ("best" in cell) == (seat.place == 1)
        assert row[6] == str(sum(seat.total for seat in own))
        assert row[0] == str(changes[name].place)
        assert f"{changes[name].before:.0f} → {changes[name].after:.0f}" in row[7]
    assert [int(row[6]) for row in rows] == sorted(int(row[6]) for row in rows)
    assert [f"/matches/{match.code}/" in page for match in matches] == [True] * 4
    assert "data-news" not in page


def test_sealed_set_tells_how_far_it_is_and_no_result(ladder, entries):
    pairing, matches = make_set(ladder, entries)
    finish_one(matches[1], log="SECRET", faulty={0: "crash"})
    finish_one(matches[2])
    page = text(url_of(pairing))
    assert "2 of 4" in page and "Sealed: the same deals are still being played" in page
    assert "crash" not in page and "data-news" in page
    for row in cells(page):
        assert (row[0], row[6:]) == ("–", ["–", "–"])
        assert all(re.fullmatch(r"– (sealed|waiting) seat \d", cell) for cell in row[2:6])
    heads = re.search(r"<thead>(.*?)</thead>", page, re.S)[1]
    assert heads.count("sealed") == heads.count("waiting") == 2
    page = text(f"/matches/{matches[1].code}/")
    assert "sealed" in page and "The same deals are still being played" in page and url_of(pairing) in page
    assert "crash" not in page and bytes(matches[1].server_seed).hex() not in page
    row = re.search(rf'id="match-{matches[1].code}".*?</article>', text("/matches/?ladder=four"), re.S)[0]
    assert "sealed" in row and url_of(pairing) in row and 'class="place' not in row


def test_owner_sees_no_log_of_a_sealed_match_and_gets_no_reproducer(ladder):
    ada = make_user("ada")
    entries = make_entries(ladder, 4, owner=ada)
    pairing, matches = make_set(ladder, entries)
    finish_one(matches[0], log="SECRET", faulty={0: "crash"})
    by_ada = Client()
    by_ada.force_login(ada)
    code = matches[0].code
    assert "SECRET" not in text(f"/matches/{code}/", client=by_ada)
    assert by_ada.get(f"/api/v1/matches/{code}/debrief/").json()["code"] == "not_finished"
    for address in (
        f"/matches/{code}/record.json",
        f"/matches/{code}/replay.json",
        f"/matches/{code}/seats/0/reproducer.zip?decision=1",
    ):
        assert by_ada.get(address).status_code == 404, address
    assert "SECRET" not in text(f"/bots/{entries[0].bot.slug}/", client=by_ada)
    for match in matches[1:]:
        finish_one(match)
    assert "SECRET" in text(f"/matches/{code}/", client=by_ada)
    assert by_ada.get(f"/api/v1/matches/{code}/debrief/").status_code == 200


def test_rating_change_stands_with_the_set_and_not_with_each_match(ladder, entries):
    pairing, matches = make_set(ladder, entries)
    for match in matches:
        finish_one(match)
    rate(pairing.pk)
    page = text(f"/matches/{matches[0].code}/")
    assert "Match 1 of a duplicate set of 4" in page and "→" not in page
    assert text("/matches/?ladder=four").count('class="change ') == 0
    assert text("/ladders/four/rounds/1/").count('class="change ') == 4


def test_set_with_a_void_match_says_why_it_is_not_rated(ladder, entries):
    pairing, matches = make_set(ladder, entries)
    finish_one(matches[0])
    assert void_match(matches[1].pk, "operator")
    rate(pairing.pk)
    page = text(url_of(pairing))
    assert "Not rated: a match of the set has no result" in page
    assert page.count("void") >= 3 and Match.objects.get(pk=matches[0].pk).state == "finished"
    assert all(row[6:] == ["–", "–"] for row in cells(page))
    assert "Another match of its set was void" in text(f"/matches/{matches[3].code}/")


def test_showcase_of_a_set_is_linked_while_the_others_stay_sealed(ladder, entries):
    pairing, matches = make_set(ladder, entries, is_showcase=True)
    for match in matches:
        finish_one(match)
    page = text(url_of(pairing))
    assert "one match is being shown" in page and f'href="/matches/{matches[0].code}/">Watch it' in page
    assert all(row[6] == "–" for row in cells(page))


def test_update_is_the_changing_parts_alone(ladder, entries):
    pairing, _ = make_set(ladder, entries)
    for address in (url_of(pairing), "/ladders/four/rounds/", "/ladders/four/rounds/1/"):
        part = text(address, headers={"HX-Request": "true"})
        assert "<html" not in part and "data-part" in part, address
        for name in re.findall(r'id="([^"]+)" data-part', part):
            assert f'id="{name}" data-part' in text(address)


def test_open_page_is_told_of_each_match_that_has_been_played(
    ladder, entries, monkeypatch, django_capture_on_commit_callbacks
):
    told = []
    monkeypatch.setattr("ladder.tasks.announce", told.append)
    _, matches = make_set(ladder, entries)
    with django_capture_on_commit_callbacks(execute=True):
        finish_one(matches[0])
    assert told == ["four"]


def test_pairing_of_one_match_leads_to_it(ladder, entries):
    pairing, match = make_pairing(ladder, entries)
    assert Client().get(url_of(pairing))["Location"] == f"/matches/{match.code}/"
    text(f"/ladders/{make_ladder().slug}/pairings/{pairing.pk}/", status=404)
    text("/ladders/four/pairings/999/", status=404)


def test_rounds_are_listed_by_key_with_what_became_of_them(ladder, entries):
    Round.objects.bulk_create(Round(ladder=ladder, number=number) for number in range(2, 30))
    Ladder.objects.filter(pk=ladder.pk).update(rounds=29)
    pairing, match = make_pairing(Ladder.objects.get(pk=ladder.pk), entries)
    Ladder.objects.filter(pk=ladder.pk).update(rounds=30)
    Pairing.objects.filter(pk=pairing.pk).update(state="unrated", why_unrated="void")
    page = text("/ladders/four/rounds/")
    assert re.findall(r'/rounds/(\d+)/">\d', page) == [str(number) for number in range(30, 5, -1)]
    assert [row[2:] for row in cells(page)][0] == ["1", "–", "0", "1"]
    older = text("/ladders/four/rounds/?before=6")
    assert re.findall(r'/rounds/(\d+)/">\d', older) == ["5", "4", "3", "2"]
    assert "?after=5" in older and "?before=6" in page
    newer = text("/ladders/four/rounds/?after=5")
    assert re.findall(r'/rounds/(\d+)/">\d', newer)[-1] == "6"
    text("/ladders/four/rounds/31/", status=404)
    page = text("/ladders/four/rounds/30/")
    assert "without a result" in page and "/ladders/four/rounds/29/" in page and "/ladders/four/rounds/31/" not in page


def test_round_shows_its_pairings_page_by_page(ladder, entries):
    for _ in range(26):
        make_pairing(Ladder.objects.get(pk=ladder.pk), entries)
    Round.objects.filter(number=2).update(number=1)
    first, second = text("/ladders/four/rounds/1/"), text("/ladders/four/rounds/1/?page=2")
    assert (first.count("<article"), second.count("<article")) == (25, 1)
    assert "0 of 26" in first and "data-news" in first


@pytest.mark.parametrize("pairings", [1, 20])
def test_pages_cost_as_many_queries_however_many_rows(ladder, entries, pairings):
    for _ in range(pairings):
        pairing, _matches = make_set(Ladder.objects.get(pk=ladder.pk), entries)
    held = Round.objects.get(ladder=ladder)
    counts = []
    for address in (
        url_of(pairing),
        "/ladders/four/rounds/",
        f"/ladders/four/rounds/{held.number}/",
        "/api/v1/pairings/",
    ):
        with CaptureQueriesContext(connection) as queries:
            text(address)
        counts.append(len(queries))
    assert counts == [5, 3, 7, 5]


# The API


def test_pairings_are_told_with_the_same_facts(ladder, entries):
    pairing, matches = make_set(ladder, entries)
    finish_one(matches[0], faulty={0: "crash"})
    (shown,) = Client().get("/api/v1/pairings/?ladder=four&round=1").json()["results"]
    assert (shown["id"], shown["state"], shown["is_set"], shown["played"], shown["count"]) == (
        pairing.pk,
        "playing",
        True,
        1,
        4,
    )
    for entry in shown["entries"]:
        assert [entry[key] for key in ("points", "place", "before", "after")] == [None] * 4
        assert [match["state"] for match in entry["matches"]] == ["sealed", "waiting", "waiting", "waiting"]
        assert {(match["points"], match["place"], match["fault"]) for match in entry["matches"]} == {(None, None, "")}
        assert [match["seat"] for match in entry["matches"]] == [(entry["entrant"] + r) % 4 for r in range(4)]
    for match in matches[1:]:
        finish_one(match)
    rate(pairing.pk)
    shown = Client().get(f"/api/v1/pairings/{pairing.pk}/").json()
    assert (shown["state"], shown["number"], shown["why_unrated"]) == ("rated", 1, "")
    first = next(entry for entry in shown["entries"] if entry["entrant"] == 0)
    assert first["points"] == sum(match["points"] for match in first["matches"])
    assert first["matches"][0]["fault"] == "crash" and first["place"] == 4, "who faulted stands behind the others"
    assert first["after"] < first["before"]
    assert Client().get("/api/v1/pairings/?ladder=other").json()["results"] == []


def test_match_of_a_set_tells_changes_by_its_own_entrants(ladder, entries):
    pairing, matches = make_set(ladder, entries)
    for match in matches:
        finish_one(match)
    rate(pairing.pk)
    told = set()
    for match in matches:
        shown = Client().get(f"/api/v1/matches/{match.code}/").json()
        assert shown["pairing"] == pairing.pk
        names = {player["entrant"]: player["name"] for player in shown["players"]}
        told.add(tuple(sorted((names[row["entrant"]], row["after"]) for row in shown["rating_changes"])))
    assert told == {tuple(sorted((c.entry.bot.name, c.after) for c in RatingChange.objects.all()))}
