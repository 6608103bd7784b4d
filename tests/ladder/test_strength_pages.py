"""What the pages of a ladder that ranks by strength tell: ranks and bands, chances, versions, charts, and in words."""

import itertools
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ladder import fits
from ladder.models import Entry, Ladder, StrengthPoint
from tests.ladder.rows import (
    end,
    make_bot,
    make_entries,
    make_history,
    make_ladder,
    make_pairing,
    make_user,
    make_version,
    play,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def ladder() -> Ladder:
    """A ladder of four in which the first three have met, each ahead of the next three times in four."""
    ladder = make_ladder(ranked_by="fit", unit="match", state="running")
    entries = make_entries(ladder, 4)
    for turn in range(4):
        for first, second in ((0, 1), (1, 2), (0, 2)):
            play(ladder, [entries[first], entries[second]], [2, 1] if turn == 0 else [1, 2])
    fits.fit_ladder(ladder.pk)
    return ladder


def page_of(path: str, user=None) -> str:
    client = Client()
    if user is not None:
        client.force_login(user)
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def entries_of(ladder: Ladder) -> list[Entry]:
    return list(ladder.entries.select_related("bot").order_by("pk"))


def standing_names(page: str) -> list[str]:
    body = re.search(r'class="figures standings">.*?</table>', page, re.S)[0]
    return re.findall(r"/entries/\d+/\">([^<]+)</a>", body)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        pytest.param("", [0, 1, 2, 3], id="as-it-ranks"),
        pytest.param("strength", [0, 1, 2, 3], id="strength"),
        pytest.param("rating", [3, 0, 1, 2], id="rating"),
        pytest.param("pairings", [3, 0, 1, 2], id="results"),
        pytest.param("name", [2, 1, 0, 3], id="name"),
        pytest.param("luck", [0, 1, 2, 3], id="what-is-no-column"),
    ],
)
def test_standings_are_sorted_by_the_column_that_was_chosen(ladder: Ladder, sort: str, order: list[int]) -> None:
    entries = entries_of(ladder)
    for entry, name, rating in zip(entries, "cbad", (1700, 1600, 1500, 1800), strict=True):
        entry.bot.name = f"bot {name}"
        entry.bot.save()
        Entry.objects.filter(pk=entry.pk).update(rating=rating, pairings=rating - 1400)
    page = page_of(f"/ladders/{ladder.slug}/?sort={sort}")
    assert standing_names(page) == [entries[i].bot.name for i in order]
    assert page.count("aria-sort=") == 1


def test_standings_draw_a_line_between_bands_alone(ladder: Ladder) -> None:
    entries = entries_of(ladder)
    for entry, band in zip(entries[:3], (1, 1, 2), strict=True):
        Entry.objects.filter(pk=entry.pk).update(band=band, is_provisional=False)
    address = f"/ladders/{ladder.slug}/"
    page = page_of(address)
    assert re.findall(r'starts-band" id="entry-(\d+)"', page) == [str(entries[2].pk)]
    assert re.findall(r'<td class="rank">([^<]+)</td>', page) == ["1", "1", "3", "–"]
    assert "whoever stands below it is weaker" in page
    by_name = page_of(address + "?sort=name")
    assert "starts-band" not in by_name and "whoever stands below it" not in by_name


def test_provisional_is_marked_by_the_interval_and_said_in_words(ladder: Ladder) -> None:
    entries = entries_of(ladder)
    Entry.objects.filter(ladder=ladder).update(is_provisional=False)
    Entry.objects.filter(pk=entries[1].pk).update(is_provisional=True)
    page = page_of(f"/ladders/{ladder.slug}/")
    marked = re.findall(r'id="entry-(\d+)"(?:(?!</tr>).)*class="provisional"', page, re.S)
    assert marked == [str(entries[1].pk)]
    assert "provisional: too little is known yet for a rank" in page


def test_ladder_that_ranks_by_elo_shows_the_strength_with_its_interval_beside_the_rating(ladder: Ladder) -> None:
    Ladder.objects.filter(pk=ladder.pk).update(ranked_by="elo")
    entries = entries_of(ladder)
    Entry.objects.filter(ladder=ladder).update(is_provisional=False)
    for entry, (rating, strength) in zip(entries, ((1710, 1633.6), (1620, 1701.2)), strict=False):
        Entry.objects.filter(pk=entry.pk).update(rating=rating, strength=strength, half_width=48.3)
    Entry.objects.filter(pk=entries[1].pk).update(is_provisional=True)
    page = page_of(f"/ladders/{ladder.slug}/")
    row = re.search(rf'<tr class="[^"]*" id="entry-{entries[1].pk}">(.*?)</tr>', page, re.S)[1]
    cells = re.findall(r"<td class=\"([^\"]*)\".*?>(.*?)</td>", row, re.S)
    assert cells[1][0] == "num" and ">1620<" in cells[1][1], "the rating, which ranks, comes first"
    assert cells[2][0] == "num strength wide-only" and ">1701<" in cells[2][1]
    assert "±48" in cells[2][1] and 'class="provisional"' in cells[2][1]
    assert "95 % interval from 1653 to 1750" in cells[2][1]
    assert "provisional: its strength is not known well yet" in page
    heads = re.findall(r'<th class="([^"]*)" scope="col"><a class="sort" href="\?sort=(\w+)"', page)
    assert ("num wide-only", "strength") in heads
    assert standing_names(page)[:2] == [entries[0].bot.name, entries[1].bot.name]
    by_strength = page_of(f"/ladders/{ladder.slug}/?sort=strength")
    assert standing_names(by_strength)[:2] == [entries[1].bot.name, entries[0].bot.name]
    assert "starts-band" not in by_strength and "whoever stands below it" not in by_strength


@pytest.mark.parametrize("ranked_by", ["fit", "elo"])
def test_anchor_is_explained_where_there_is_one(ladder: Ladder, ranked_by: str) -> None:
    Ladder.objects.filter(pk=ladder.pk).update(ranked_by=ranked_by)
    assert "held fixed" not in page_of(f"/ladders/{ladder.slug}/")
    Entry.objects.filter(pk=entries_of(ladder)[0].pk).update(anchor=1500.0)
    fits.fit_ladder(ladder.pk)
    assert "held fixed" in page_of(f"/ladders/{ladder.slug}/")


def test_chance_on_hover_is_on_the_matrix_and_on_the_entrys_page_too(ladder: Ladder) -> None:
    first, second, _third, _idle = entries_of(ladder)
    page = page_of(f"/ladders/{ladder.slug}/")
    told = re.search(rf"{second.name} ends ahead of {first.name} in ([^<>]+?%) of their meetings", page)
    assert told is not None
    matrix = page_of(f"/ladders/{ladder.slug}/matrix/")
    cell = re.search(rf'title="{second.name} – {first.name}">(.*?)</td>', matrix, re.S)[1]
    assert f'<span class="chance">{told[1]}</span>' in cell and "<span>1–0–3</span>" in cell
    assert told[0] in page_of(f"/ladders/{ladder.slug}/entries/{second.pk}/")


def test_entry_is_compared_with_the_readers_own_and_never_his_own_with_each_other(ladder: Ladder) -> None:
    first, second, third, _idle = entries_of(ladder)
    ada = make_user("ada")
    for entry in (second, third):
        entry.bot.owner = ada
        entry.bot.save()
    page = page_of(f"/ladders/{ladder.slug}/entries/{first.pk}/", ada)
    assert f"{first.name} ends ahead of {second.name}" in page and f"{first.name} ends ahead of {third.name}" in page
    own = page_of(f"/ladders/{ladder.slug}/entries/{second.pk}/", ada)
    assert f"ends ahead of {first.name}" in own and f"ends ahead of {third.name}" not in own


def test_versions_stand_apart_and_the_chart_marks_where_one_began(ladder: Ladder) -> None:
    first, second, *_rest = entries_of(ladder)
    make_version(first.bot, number=2)
    pairing, match = make_pairing(ladder, [first, second])
    newest = first.bot.versions.get(number=2)
    match.players.filter(entrant=0).update(version=newest)
    pairing.paired_entries.filter(entrant=0).update(version=newest)
    end(match, [1, 2])
    play(ladder, [first, second], [1, 2])
    StrengthPoint.objects.filter(entry=first).update(version=first.bot.versions.get(number=1))
    StrengthPoint.objects.create(
        entry=first, version=newest, made_at=timezone.now(), nth=25, strength=1600.0, half_width=50.0
    )
    page = page_of(f"/ladders/{ladder.slug}/entries/{first.pk}/")
    assert 'class="chart-band"' in page and 'class="chart-mark"' in page
    assert '<ol class="chart-marks"><li>version 2</li></ol>' in page


def test_version_table_has_each_version_with_its_interval(ladder: Ladder) -> None:
    page = page_of(f"/ladders/{ladder.slug}/versions/")
    assert standing_names(page) == [entry.name for entry in entries_of(ladder)[:3]]
    assert page.count("±") == 3 and "Last fitted:" in page


@pytest.mark.parametrize("path", ["versions/", "matrix/"])
def test_nothing_to_show_yet_is_said(path: str) -> None:
    ladder = make_ladder()
    assert 'class="empty"' in page_of(f"/ladders/{ladder.slug}/{path}")


# Before the first round, and after the last


def test_ladder_that_is_to_start_says_when_and_until_when_one_may_enter() -> None:
    starts = timezone.now() + timedelta(days=3)
    ladder = make_ladder(state="open", entrants="both", starts_at=starts, registration_until=starts)
    ada = make_user("ada")
    make_bot(ada)
    page = page_of(f"/ladders/{ladder.slug}/", ada)
    date = f"{starts:%-d %B %Y, %H:%M} UTC"
    assert f"Registration is open; rounds are held from {date} on." in page
    assert f"Registration ends on {date}." in page
    assert '<a class="button button-primary" href="#mine">' in page and 'id="mine"' in page


def test_closed_ladder_lists_its_leaders_and_offers_nobody_to_leave(ladder: Ladder) -> None:
    first, second, _third, _idle = entries_of(ladder)
    ada = make_user("ada")
    first.bot.owner = ada
    first.bot.save()
    Ladder.objects.update(state="closed")
    Entry.objects.update(final_rank=9)
    Entry.objects.filter(pk=first.pk).update(final_rank=1)
    cards = page_of("/ladders/", ada)
    assert first.name in cards and second.name not in cards
    page = page_of(f"/ladders/{ladder.slug}/", ada)
    assert "/withdraw/" not in page and "nobody can enter any more" in page


def test_matrix_holds_who_has_played_however_many_have_not() -> None:
    ladder = make_ladder(ranked_by="elo")
    make_entries(ladder, 20)
    winner, *losers = make_entries(ladder, 3)
    for loser in losers:
        play(ladder, [winner, loser], [1, 2])
    page = page_of(f"/ladders/{ladder.slug}/matrix/")
    assert [entry.name for entry in [winner, *losers] if entry.name not in page] == []


@pytest.fixture
def large() -> tuple[Ladder, list[Entry]]:
    """A ladder of forty, best first, in which the last has lost to the first twice and beaten the second once."""
    ladder = make_ladder(ranked_by="elo", state="running")
    entries = make_entries(ladder, 40)
    for places, first in (([1, 2], 0), ([1, 2], 0), ([2, 1], 1)):
        play(ladder, [entries[first], entries[39]], places)
    fits.fit_ladder(ladder.pk)
    for number, entry in enumerate(entries):
        Entry.objects.filter(pk=entry.pk).update(rating=2000.0 - number, pairings=1)
    return ladder, entries


def matrix_of(page: str) -> tuple[list[str], list[str]]:
    """Return the names of a matrix's rows and of its columns."""
    head, body = re.search(r'class="figures matrix">(.*?)</thead>(.*?)</table>', page, re.S).groups()
    names = r'/entries/\d+/"[^>]*>(?:<span class="matrix-name">)?([^<]+)<'
    return re.findall(names, body), re.findall(names, head)


@pytest.mark.parametrize(
    ("query", "rows", "columns"),
    [
        pytest.param("", (0, 16), (0, 16), id="nothing-asked"),
        pytest.param("?page=2", (16, 32), (16, 32), id="rows-alone-are-compared-with-themselves"),
        pytest.param("?against=2", (0, 16), (16, 32), id="columns-alone"),
        pytest.param("?page=3&against=1", (32, 40), (0, 16), id="last-against-first"),
        pytest.param("?page=1&against=9" + "9" * 40, (0, 16), (32, 40), id="past-the-end"),
        pytest.param("?page=-7&against=0", (0, 16), (0, 16), id="before-the-beginning"),
        pytest.param("?page=2&against=first", (16, 32), (16, 32), id="no-number"),
        pytest.param("?page=2&against=" + "9" * 5000, (16, 32), (16, 32), id="too-long-for-a-number"),
        pytest.param("?page=%20&against=2.5", (0, 16), (0, 16), id="neither-a-number"),
    ],
)
def test_matrix_compares_any_part_of_the_standings_with_any_other(
    large: tuple[Ladder, list[Entry]], query: str, rows: tuple[int, int], columns: tuple[int, int]
) -> None:
    ladder, entries = large
    names = [entry.name for entry in entries]
    shown = matrix_of(page_of(f"/ladders/{ladder.slug}/matrix/{query}"))
    assert shown == (names[slice(*rows)], names[slice(*columns)])


def test_matrix_tells_of_two_far_apart_how_they_fared_and_what_is_expected(large: tuple[Ladder, list[Entry]]) -> None:
    ladder, entries = large
    first, second, *_between, last = entries
    chances = fits.chances(ladder, [first.pk, second.pk, last.pk])
    for path, one, other, record in (
        ("?against=3", first, last, "2–0–0"),
        ("?against=3", second, last, "0–0–1"),
        ("?page=3&against=1", last, first, "0–0–2"),
    ):
        page = page_of(f"/ladders/{ladder.slug}/matrix/{path}")
        cell = re.search(rf'title="{one.name} – {other.name}">(.*?)</td>', page, re.S)[1]
        assert f"<span>{record}</span>" in cell and f"{100 * chances[one.pk, other.pk]:.0f}" in cell


def test_matrix_has_pages_of_rows_and_of_columns_and_each_keeps_the_other(large: tuple[Ladder, list[Entry]]) -> None:
    ladder, _entries = large
    page = page_of(f"/ladders/{ladder.slug}/matrix/?page=2&against=3")
    pagers = dict(re.findall(r'<nav class="pager" aria-label="([^"]+)">(.*?)</nav>', page, re.S))
    assert list(pagers) == ["Pages of columns", "Pages of rows"]
    assert re.findall(r'href="([^"]+)"', pagers["Pages of columns"]) == ["?page=2&amp;against=2"]
    assert re.findall(r'href="([^"]+)"', pagers["Pages of rows"]) == ["?against=3&amp;page=1", "?against=3&amp;page=3"]
    assert "places 33–40 of 40" in pagers["Pages of columns"] and "places 17–32 of 40" in pagers["Pages of rows"]
    chosen = re.findall(r'<select id="id_(\w+)" name="\w+">.*?<option value="(\d)" selected>', page, re.S)
    assert chosen == [("page", "2"), ("against", "3")]
    assert all(f'<label for="id_{name}">' in page for name, _ in chosen)


def queries_of(path: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert Client().get(path).status_code == 200
    return len(queries)


def test_comparisons_cost_as_many_queries_however_many_are_compared(large: tuple[Ladder, list[Entry]]) -> None:
    ladder, entries = large
    for path, most in (
        (f"/ladders/{ladder.slug}/matrix/?page={{}}&against=3", 7),
        (f"/api/v1/ladders/{ladder.slug}/matrix/?against={{}}&limit=50", 7),
        (f"/api/v1/entries/{entries[0].pk}/opponents/?limit={{}}", 6),
    ):
        few, many = queries_of(path.format(3)), queries_of(path.format(1))
        assert few == many <= most, path


def test_comparisons_read_the_meetings_of_those_entries_alone(large: tuple[Ladder, list[Entry]]) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("reads small tables whole, whatever there is")
    ladder, entries = large
    for path in (
        f"/ladders/{ladder.slug}/matrix/?against=3",
        f"/ladders/{ladder.slug}/entries/{entries[0].pk}/",
        f"/api/v1/ladders/{ladder.slug}/matrix/?against=16",
        f"/api/v1/entries/{entries[0].pk}/opponents/",
    ):
        with CaptureQueriesContext(connection) as queries:
            assert Client().get(path).status_code == 200
        [asked] = [query["sql"] for query in queries.captured_queries if 'FROM "ladder_meeting"' in query["sql"]]
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {asked}")
            plan = " / ".join(row[-1] for row in cursor.fetchall())
        assert "entry_id=?" in plan and "ladder_id=?" not in plan and "SCAN ladder_meeting" not in plan, plan


# Over HTTP


def told(path: str, status: int = 200) -> Any:
    response = Client().get(f"/api/v1/ladders/{path}")
    assert response.status_code == status
    return response.json()


def test_programs_sort_the_standings_too(ladder: Ladder) -> None:
    entries = entries_of(ladder)
    Entry.objects.filter(pk=entries[3].pk).update(rating=1900.0)
    for sort, first in (("rating", entries[3]), ("strength", entries[0]), ("", entries[0])):
        assert told(f"{ladder.slug}/standings/?sort={sort}")["results"][0]["id"] == first.pk
    assert "expected one of strength" in str(told(f"{ladder.slug}/standings/?sort=luck", 400))


def test_programs_are_told_the_chances_of_pairs_that_never_met() -> None:
    ladder = make_ladder(ranked_by="fit")
    first, second, third = make_entries(ladder, 3)
    play(ladder, [first, second], [1, 2])
    play(ladder, [second, third], [1, 2])
    fits.fit_ladder(ladder.pk)
    rows = {(row["entry"], row["other"]): row for row in told(f"{ladder.slug}/matrix/")["results"]}
    assert len(rows) == 6
    never = rows[first.pk, third.pk]
    assert (never["ahead"], never["level"], never["behind"]) == (0, 0, 0) and never["chance"] > 0.6


def test_programs_compare_any_part_of_the_standings_with_any_other(large: tuple[Ladder, list[Entry]]) -> None:
    ladder, entries = large
    ids = [entry.pk for entry in entries]
    answer = told(f"{ladder.slug}/matrix/?limit=16&against=32")
    rows = {(row["entry"], row["other"]): row for row in answer["results"]}
    assert list(rows) == list(itertools.product(ids[:16], ids[32:]))
    chances = fits.chances(ladder, ids)
    assert {pair: row["chance"] for pair, row in rows.items()} == {pair: pytest.approx(chances[pair]) for pair in rows}
    fared = {pair: (row["ahead"], row["level"], row["behind"]) for pair, row in rows.items()}
    assert {pair: record for pair, record in fared.items() if any(record)} == {
        (ids[0], ids[39]): (2, 0, 0),
        (ids[1], ids[39]): (0, 0, 1),
    }
    assert "against=32" in answer["next"] and "offset=16" in answer["next"]
    among = [(row["entry"], row["other"]) for row in told(f"{ladder.slug}/matrix/?limit=16")["results"]]
    assert among == list(itertools.permutations(ids[:16], 2))


@pytest.mark.parametrize(
    ("against", "others"),
    [
        pytest.param("-1", (0, 16), id="before-the-beginning"),
        pytest.param("x", (8, 24), id="no-number"),
        pytest.param("9" * 5000, (8, 24), id="too-long-for-a-number"),
        pytest.param("36", (36, 40), id="at-the-end"),
        pytest.param("40", (40, 40), id="past-the-end"),
        pytest.param("9" * 40, (40, 40), id="far-past-the-end"),
    ],
)
def test_programs_that_ask_for_no_such_part_are_answered(
    large: tuple[Ladder, list[Entry]], against: str, others: tuple[int, int]
) -> None:
    ladder, entries = large
    rows = told(f"{ladder.slug}/matrix/?limit=16&offset=8&against={against}")["results"]
    assert {row["other"] for row in rows} == {entry.pk for entry in entries[slice(*others)]}


def test_programs_page_through_all_whom_an_entry_may_meet(large: tuple[Ladder, list[Entry]]) -> None:
    ladder, entries = large
    first, second, *between, last = entries
    Entry.objects.filter(pk=between[0].pk).update(state=Entry.State.WITHDRAWN)
    rows: list[dict[str, Any]] = []
    address = f"/api/v1/entries/{second.pk}/opponents/?limit=15"
    while address:
        answer = Client().get(address).json()
        rows += answer["results"]
        address = answer["next"]
    assert [row["other"] for row in rows] == [entry.pk for entry in (first, *between[1:], last)]
    assert [row["name"] for row in rows] == [entry.name for entry in (first, *between[1:], last)]
    chances = fits.chances(ladder, [first.pk, second.pk, last.pk])
    assert {row["other"]: row["chance"] for row in rows if row["chance"] is not None} == {
        # It never met the first. Those between were never rated: they have no strength yet.
        first.pk: pytest.approx(chances[second.pk, first.pk], abs=1e-6),
        last.pk: pytest.approx(chances[second.pk, last.pk], abs=1e-6),
    }
    fared = {row["other"]: (row["ahead"], row["level"], row["behind"]) for row in rows if row["ahead"] or row["behind"]}
    assert fared == {last.pk: (0, 0, 1)} and {row["entry"] for row in rows} == {second.pk}


def test_programs_read_the_schedule_and_the_rounds() -> None:
    due = timezone.now() + timedelta(minutes=5)
    ladder = make_ladder(state="running", round_s=3600, next_round_at=due, registration_until=due - timedelta(days=1))
    make_pairing(ladder, make_entries(ladder, 2))
    schedule = told(f"{ladder.slug}/schedule/")
    rounds = [datetime.fromisoformat(one) for one in schedule["rounds"]]
    assert rounds == [due + timedelta(hours=number) for number in range(12)]
    assert "ended on" in schedule["registration"] and schedule["calendar"].endswith("/calendar.ics")
    assert [one["number"] for one in told(f"{ladder.slug}/rounds/")["results"]] == [1]


def test_programs_read_of_a_bots_matches_no_more_than_a_page() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("reads small tables whole, whatever there is")
    ladder = make_ladder()
    entries = make_entries(ladder, 3)
    make_history(ladder, entries, 30)
    with CaptureQueriesContext(connection) as queries:
        answer = Client().get(f"/api/v1/matches/?bot={entries[0].bot.slug}&ladder={ladder.slug}&limit=5")
    assert len(answer.json()["results"]) == 5 and len(queries) <= 7
    plans = []
    with connection.cursor() as cursor:
        for query in queries.captured_queries:
            cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}")
            plans.append(" / ".join(row[-1] for row in cursor.fetchall()))
    assert any("games_seat_bot_match" in plan for plan in plans)
    # Neither sorted nor listed as a whole before the first is known.
    assert [plan for plan in plans if "SUBQUERY" in plan and "CORRELATED" not in plan] == []
    assert [plan for plan in plans if "games_seat_bot_match" in plan and "TEMP B-TREE" in plan] == []
