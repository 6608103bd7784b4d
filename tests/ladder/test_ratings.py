"""The ledger: rated once, never rated, replayed to the last bit."""

import random
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from games.models import Match
from games.signals import match_finished
from ladder import tasks
from ladder.history import capped_note
from ladder.log import read
from ladder.models import Balance, Entry, Ladder, Meeting, Pairing, RatingChange
from ladder.ratings import rate
from ladder.replay import rerate
from tests.ladder.rows import (
    end,
    make_entries,
    make_ladder,
    make_pairing,
    make_set,
    make_user,
    make_version,
    play,
    ratings,
    void,
)
from tests.racing import race

pytestmark = pytest.mark.django_db


def places_of(pairing: Pairing) -> list[int]:
    [logged] = read(Pairing.objects.filter(pk=pairing.pk))
    return logged.places()


def play_many(ladder: Ladder, entries: list[Entry], count: int) -> None:
    lots = random.Random(7)
    for _ in range(count):
        table = lots.sample(entries, ladder.seats)
        results = [[1, 2], [2, 1], [1, 1]] if ladder.seats == 2 else [[1, 2, 3, 4], [4, 2, 2, 1], [3, 1, 1, 3]]
        play(ladder, table, lots.choice(results))


def test_rate_moves_ratings_and_writes_the_ledger() -> None:
    ladder = make_ladder()
    winner, loser = make_entries(ladder, 2)
    pairing = play(ladder, [winner, loser], [1, 2])
    assert ratings([winner, loser]) == [1520.0, 1480.0]
    rows = list(RatingChange.objects.order_by("place").values_list("entry", "number", "nth", "k", "before", "after"))
    assert rows == [(winner.pk, 1, 1, 40.0, 1500.0, 1520.0), (loser.pk, 1, 1, 40.0, 1500.0, 1480.0)]
    pairing.refresh_from_db()
    assert (pairing.state, pairing.number, pairing.why_unrated) == ("rated", 1, "")
    assert Ladder.objects.get(pk=ladder.pk).rated == 1


def test_rate_keeps_each_entrys_sums() -> None:
    ladder = make_ladder()
    one, other = make_entries(ladder, 2)
    for places in ([1, 2], [1, 1], [2, 1], [1, 2]):
        play(ladder, [one, other], places)
    one.refresh_from_db()
    other.refresh_from_db()
    assert (one.pairings, one.won, one.drawn, one.place_sum) == (4, 2, 1, 5)
    assert (other.pairings, other.won, other.drawn, other.place_sum) == (4, 1, 1, 6)


def test_rate_goes_by_entrant_and_not_by_seat() -> None:
    ladder = make_ladder()
    one, other = make_entries(ladder, 2)
    pairing, match = make_pairing(ladder, [one, other])
    end(match, [2, 1])
    match.players.filter(entrant=0).update(seat=None)
    match.players.filter(entrant=1).update(seat=0)
    match.players.filter(entrant=0).update(seat=1)
    rate(pairing.pk)
    assert ratings([one, other]) == [1480.0, 1520.0]


def test_rate_uses_the_lower_k_once_an_entry_is_settled() -> None:
    ladder = make_ladder(settled_after=2)
    one, other = make_entries(ladder, 2)
    for _ in range(3):
        play(ladder, [one, other], [1, 1])
    assert list(one.changes.order_by("nth").values_list("k", flat=True)) == [40.0, 40.0, 20.0]


def test_rate_a_second_time_changes_nothing() -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    pairing = play(ladder, entries, [1, 2])
    assert rate(pairing.pk) is False
    assert ratings(entries) == [1520.0, 1480.0]
    assert RatingChange.objects.count() == 2


@pytest.mark.parametrize("state", ["waiting", "queued", "playing", "showing"])
def test_rate_waits_for_a_match_that_is(state: str) -> None:
    ladder = make_ladder()
    pairing, match = make_pairing(ladder, make_entries(ladder, 2))
    match.state = state
    match.save()
    assert rate(pairing.pk) is False
    pairing.refresh_from_db()
    assert pairing.state == "playing"


def test_rate_leaves_a_void_match_unrated_and_says_so() -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    pairing, match = make_pairing(ladder, entries)
    void(match)
    assert rate(pairing.pk) is True
    pairing.refresh_from_db()
    assert (pairing.state, pairing.why_unrated, pairing.number) == ("unrated", "void", None)
    assert ratings(entries) == [1500.0, 1500.0] and not RatingChange.objects.exists()
    assert Ladder.objects.get(pk=ladder.pk).rated == 0


def test_rate_leaves_one_owners_entries_unrated_and_says_so() -> None:
    ladder = make_ladder(seats=3)
    entries = make_entries(ladder, 1) + make_entries(ladder, 2, owner=make_user())
    pairing, match = make_pairing(ladder, entries)
    end(match, [1, 2, 3])
    rate(pairing.pk)
    pairing.refresh_from_db()
    assert (pairing.state, pairing.why_unrated) == ("unrated", "one_owner")
    assert ratings(entries) == [1500.0] * 3


def test_rate_counts_a_fault_by_its_place_alone() -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    pairing, match = make_pairing(ladder, entries)
    end(match, [2, 1])
    match.players.filter(entrant=0).update(fault="crash")
    rate(pairing.pk)
    assert ratings(entries) == [1480.0, 1520.0]


def test_rate_refuses_a_finished_match_without_places() -> None:
    ladder = make_ladder()
    pairing, match = make_pairing(ladder, make_entries(ladder, 2))
    match.state = "finished"
    match.save()
    with pytest.raises(ValueError, match="result of every seat"):
        rate(pairing.pk)
    assert Pairing.objects.get().state == "playing"


def play_set(totals: list[list[int]]):
    """Make a duplicate set that was played: totals by match and seat."""
    ladder = make_ladder(seats=len(totals))
    entries = make_entries(ladder, len(totals))
    pairing, matches = make_set(ladder, entries)
    for match, row in zip(matches, totals, strict=True):
        end(match, [1] * len(row), totals=row)
    return pairing, entries, matches


def test_places_of_a_set_go_by_the_sum_of_points() -> None:
    # By seat a, b, c, then c, a, b, then b, c, a: everybody has 340.
    pairing, _, _ = play_set([[100, 250, 90], [120, 240, 0], [90, 130, 0]])
    assert places_of(pairing) == [1, 1, 1]
    pairing, entries, matches = play_set([[100, 250], [20, 260]])
    assert places_of(pairing) == [2, 1]
    rate(pairing.pk)
    assert ratings(entries) == [1480.0, 1520.0]


def test_places_of_a_set_are_those_of_the_entries_wherever_they_sat() -> None:
    """Who always has 10 is first, although in every match that is another seat; so in the replay."""
    pairing, entries, matches = play_set([[10, 20, 30], [30, 10, 20], [20, 30, 10]])
    assert places_of(pairing) == [1, 2, 3]
    rate(pairing.pk)
    assert [entry.changes.get().place for entry in entries] == [1, 2, 3]
    assert rerate(pairing.ladder, check=True).first == []


def test_places_of_a_set_put_whoever_faulted_less_first() -> None:
    pairing, entries, matches = play_set([[10, 250], [250, 10]])
    assert places_of(pairing) == [1, 2]
    matches[1].players.filter(name=entries[0].name).update(fault="crash")
    assert places_of(pairing) == [2, 1]


def test_rate_waits_for_the_last_match_of_a_set() -> None:
    pairing, _, matches = play_set([[100, 250], [20, 260]])
    matches[1].state = "playing"
    matches[1].save()
    assert rate(pairing.pk) is False


def test_the_ledger_refuses_a_second_row_for_an_entry_and_a_pairing() -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    play(ladder, entries, [1, 2])
    row = RatingChange.objects.first()
    row.pk, row.nth = None, 99
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


@pytest.mark.parametrize("seats", [2, 4])
def test_rerate_reaches_every_figure_to_the_last_bit(seats: int) -> None:
    ladder = make_ladder(seats=seats, settled_after=8)
    play_many(ladder, make_entries(ladder, 5), 40)
    assert rerate(ladder, check=True).first == []
    before = list(RatingChange.objects.order_by("pk").values_list())
    assert rerate(ladder).first == []
    assert list(RatingChange.objects.order_by("pk").values_list()) == before


def make_rivals(cap: float | None, *, seats: int = 2) -> tuple[Ladder, list[Entry], list[Entry]]:
    """A ladder with one entry of one owner, and two of another."""
    ladder = make_ladder(daily_cap=cap, seats=seats)
    return ladder, make_entries(ladder, 1, owner=make_user()), make_entries(ladder, 2, owner=make_user())


def test_cap_bounds_what_is_won_and_lost_between_two_owners_in_a_day() -> None:
    ladder, [one], [other, _] = make_rivals(50)
    for _ in range(5):
        play(ladder, [one, other], [1, 2])
    assert ratings([one, other]) == pytest.approx([1550, 1450], abs=1e-9)
    capped = [change.capped for change in one.changes.order_by("nth")]
    assert capped[:2] == [0, 0] and all(points > 0 for points in capped[2:])
    assert [-change.capped for change in other.changes.order_by("nth")] == pytest.approx(capped)
    play(ladder, [one, other], [2, 1])  # back is always open
    assert ratings([one])[0] < 1550 - 20
    assert rerate(ladder, check=True).first == []


def test_cap_counts_all_entries_of_an_owner_together() -> None:
    ladder, [one], others = make_rivals(30)
    play(ladder, [one, others[0]], [1, 2])
    play(ladder, [one, others[1]], [1, 2])
    play(ladder, [one, others[1]], [1, 2])
    assert ratings([one]) == pytest.approx([1530], abs=1e-9)
    assert sum(ratings([one, *others])) == pytest.approx(4500, abs=1e-9)
    assert rerate(ladder, check=True).first == []


def test_cap_begins_anew_each_day_and_the_replay_knows_the_days(monkeypatch) -> None:
    ladder, [one], [other, _] = make_rivals(25)
    midnight = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=2)
    won = []
    for seconds in (-3, -2, -1, 0, 1):
        monkeypatch.setattr(timezone, "now", lambda seconds=seconds: midnight + timedelta(seconds=seconds))
        play(ladder, [one, other], [1, 2])
        won.append(ratings([one])[0] - 1500)
    assert won == pytest.approx([20, 25, 25, 25 + (won[3] - 25), 50], abs=1e-9)
    assert 15 < won[3] - 25 < 20
    assert rerate(ladder, check=True).first == []
    assert {row.day for row in ladder.balances.all()} == {midnight.date()}


def test_log_never_runs_back_when_a_clock_does(monkeypatch) -> None:
    ladder, [one], [other, _] = make_rivals(25)
    now = timezone.now()
    for days in (0, -1, 0):
        monkeypatch.setattr(timezone, "now", lambda days=days: now + timedelta(days=days))
        play(ladder, [one, other], [1, 2])
    assert ratings([one]) == pytest.approx([1525], abs=1e-9)
    assert set(Pairing.objects.values_list("rated_at", flat=True)) == {now}
    assert rerate(ladder, check=True).first == []


def test_cap_does_not_bound_games_with_house_bots() -> None:
    ladder = make_ladder(daily_cap=25)
    [house], [one] = make_entries(ladder, 1), make_entries(ladder, 1, owner=make_user())
    for _ in range(3):
        play(ladder, [one, house], [1, 2])
    assert ratings([one])[0] > 1550 and ratings([house])[0] < 1450
    assert not ladder.balances.exists()


def test_cap_at_a_table_of_three_cuts_the_one_pair_alone() -> None:
    ladder, [one], [other, _] = make_rivals(10, seats=3)
    [third] = make_entries(ladder, 1)
    for _ in range(2):
        play(ladder, [one, third, other], [1, 2, 3])
    last = {change.entry_id: change for change in RatingChange.objects.filter(number=2)}
    assert last[third.pk].capped == 0
    assert last[one.pk].capped == pytest.approx(-last[other.pk].capped) and last[one.pk].capped > 0
    assert sum(ratings([one, other, third])) == pytest.approx(4500, abs=1e-9)
    assert rerate(ladder, check=True).first == []


def test_ladder_without_a_cap_keeps_no_balances() -> None:
    ladder, [one], [other, _] = make_rivals(None)
    for _ in range(9):
        play(ladder, [one, other], [1, 2])
    assert ratings([one])[0] > 1600
    assert not ladder.balances.exists()


def test_match_page_says_what_was_capped(client) -> None:
    ladder, [one], [other, _] = make_rivals(30)
    play(ladder, [one, other], [1, 2])
    pairing = play(ladder, [one, other], [1, 2])
    match = pairing.paired_matches.get().match
    notes = [capped_note(change, ladder) for change in pairing.changes.order_by("place")]
    assert notes[0].startswith("capped: ") and "30 that can be won from one owner" in notes[0]
    assert "30 that can be lost to one owner" in notes[1]
    assert capped_note(Pairing.objects.get(number=1).changes.first(), ladder) == ""
    Match.objects.filter(pk=match.pk).update(state="void")  # shows the players without a replay
    assert notes[0] in client.get(f"/matches/{match.code}/").content.decode()


def test_ledger_names_ladder_version_and_seat() -> None:
    ladder = make_ladder(seats=3)
    entries = make_entries(ladder, 3)
    pairing, match = make_pairing(ladder, entries)
    newer = make_version(entries[0].bot, number=2)
    pairing.paired_entries.filter(entrant=0).update(version=newer)
    end(match, [1, 2, 3])
    match.players.update(seat=None)
    for entrant, seat in enumerate([2, 0, 1]):
        match.players.filter(entrant=entrant).update(seat=seat)
    rate(pairing.pk)
    versions = [newer, entries[1].bot.versions.get(), entries[2].bot.versions.get()]
    rows = [(change.ladder, change.version, change.seat) for change in pairing.changes.order_by("place")]
    assert rows == list(zip([ladder] * 3, versions, [2, 0, 1], strict=True))
    assert rerate(ladder, check=True).first == []


def test_ledger_of_a_set_names_no_seat() -> None:
    pairing, entries, _ = play_set([[10, 20], [20, 10]])
    rate(pairing.pk)
    assert list(pairing.changes.values_list("seat", flat=True)) == [None, None]
    assert {change.version for change in pairing.changes.all()} == {one.bot.versions.get() for one in entries}


def test_meetings_are_sums_over_the_ledger() -> None:
    ladder = make_ladder(seats=3)
    a, b, c = make_entries(ladder, 3)
    play(ladder, [c, a, b], [1, 2, 3])
    play(ladder, [a, b, c], [1, 1, 3])
    play(ladder, [b, c, a], [1, 2, 3])
    rows = Meeting.objects.order_by("entry", "other").values_list("entry", "other", "pairings", "ahead", "level")
    assert list(rows) == [(a.pk, b.pk, 3, 1, 1), (a.pk, c.pk, 3, 1, 0), (b.pk, c.pk, 3, 2, 0)]


def test_rerate_reads_a_long_log_in_pieces(monkeypatch) -> None:
    monkeypatch.setattr("ladder.log.PIECE", 3)
    ladder = make_ladder(settled_after=2)
    play_many(ladder, make_entries(ladder, 3), 8)
    sound = list(RatingChange.objects.order_by("pk").values_list())
    assert rerate(ladder, check=True).pairings == 8
    RatingChange.objects.filter(number__gt=1).update(nth=F("nth") + 5000, after=0.0)
    Pairing.objects.filter(number__gt=2).update(number=F("number") + 7)
    assert rerate(ladder).differences > 20
    assert list(RatingChange.objects.order_by("pk").values_list()) == sound
    assert rerate(ladder, check=True).first == []
    assert ladder.events.get().what == "rerated" and Ladder.objects.get(pk=ladder.pk).replays == 1


def test_seed_of_a_pairing_is_never_dealt_from_again() -> None:
    ladder = make_ladder()
    first, second = (make_pairing(ladder, make_entries(ladder, 2))[0] for _ in range(2))
    Pairing.objects.filter(pk=first.pk).update(commitment="a" * 64)
    with pytest.raises(IntegrityError), transaction.atomic():
        Pairing.objects.filter(pk=second.pk).update(commitment="a" * 64)
    Pairing.objects.filter(pk=second.pk).update(commitment="b" * 64)


def tamper_change(field: str, by: float):
    def tamper(ladder: Ladder) -> None:
        row = RatingChange.objects.get(number=7, entry=Pairing.objects.get(number=7).paired_entries.first().entry)
        setattr(row, field, getattr(row, field) + by)
        row.save()

    return tamper


def tamper_entry(field: str, by: float):
    def tamper(ladder: Ladder) -> None:
        entry = ladder.entries.first()
        setattr(entry, field, getattr(entry, field) + by)
        entry.save()

    return tamper


def tamper_meeting(ladder: Ladder) -> None:
    Meeting.objects.filter(pk=ladder.meetings.first().pk).update(ahead=99)


def drop_meeting(ladder: Ladder) -> None:
    ladder.meetings.first().delete()


def add_meeting(ladder: Ladder) -> None:
    one, other = make_entries(ladder, 2)
    Meeting.objects.create(ladder=ladder, entry=one, other=other, pairings=1)


def add_balance(ladder: Ladder) -> None:
    Balance.objects.create(ladder=ladder, entry=ladder.entries.first(), owner=make_user(), day="2026-01-01", points=1)


def uncount(ladder: Ladder) -> None:
    Pairing.objects.filter(number=5).update(state="unrated", why_unrated="void")


def drop_row(ladder: Ladder) -> None:
    RatingChange.objects.filter(number=7).first().delete()


def add_row(ladder: Ladder) -> None:
    outsider = make_entries(ladder, 1)[0]
    row = RatingChange.objects.filter(number=7).first()
    RatingChange.objects.create(
        ladder=ladder, entry=outsider, pairing=row.pairing, number=7, nth=1, place=1, k=40, before=1500, after=1600
    )


def stray_row(ladder: Ladder) -> None:
    outsider = make_entries(ladder, 1)[0]
    pairing = Pairing.objects.create(ladder=ladder, round=ladder.held_rounds.first())
    RatingChange.objects.create(
        ladder=ladder, entry=outsider, pairing=pairing, number=0, nth=1, place=1, k=40, before=1500, after=1600
    )


def lose_count(ladder: Ladder) -> None:
    Ladder.objects.filter(pk=ladder.pk).update(rated=3)


def skip_number(ladder: Ladder) -> None:
    Pairing.objects.filter(number=12).update(number=13)
    RatingChange.objects.filter(number=12).update(number=13)
    Ladder.objects.filter(pk=ladder.pk).update(rated=13)


TAMPERINGS = [
    pytest.param(tamper_change("after", 2**-40), "change number=7", id="after-by-one-bit"),
    pytest.param(tamper_change("before", 1.0), "before is", id="before"),
    pytest.param(tamper_change("k", 1.0), "k is", id="k"),
    pytest.param(tamper_change("place", 1), "place is", id="place"),
    pytest.param(tamper_change("number", 100), "number is", id="number"),
    pytest.param(tamper_change("nth", 100), "nth is", id="nth"),
    pytest.param(tamper_entry("rating", 2**-40), "rating is", id="rating-by-one-bit"),
    pytest.param(tamper_entry("pairings", 1), "pairings is", id="pairings"),
    pytest.param(tamper_entry("won", 1), "won is", id="won"),
    pytest.param(drop_row, "row is None", id="row-missing"),
    pytest.param(add_row, "the log gives None", id="row-too-many"),
    pytest.param(stray_row, "the log gives None", id="row-of-no-pairing"),
    pytest.param(tamper_change("capped", 1.0), "capped is", id="capped"),
    pytest.param(tamper_meeting, "ahead is 99", id="meeting"),
    pytest.param(drop_meeting, "meeting entry", id="meeting-missing"),
    pytest.param(add_meeting, "the log gives None", id="meeting-too-many"),
    pytest.param(add_balance, "balance entry", id="balance-too-many"),
    pytest.param(uncount, "state is 'unrated'", id="pairing-uncounted"),
    pytest.param(lose_count, "rated is 3, the log gives 12", id="count"),
    pytest.param(skip_number, "number is 13, the log gives 12", id="gap-in-the-numbers"),
]


@pytest.mark.parametrize(("tamper", "named"), TAMPERINGS)
def test_check_names_a_tampered_figure_and_rerate_mends_it(tamper, named: str) -> None:
    ladder = make_ladder(settled_after=4)
    play_many(ladder, make_entries(ladder, 4), 12)
    sound = list(RatingChange.objects.order_by("number", "entry").values_list("number", "entry", "nth", "k", "after"))
    tamper(ladder)
    tampered = list(RatingChange.objects.order_by("pk").values_list())
    with pytest.raises(CommandError) as refused:
        call_command("rerate", ladder.slug, "--check", stdout=StringIO())
    assert refused.value.returncode == 1
    assert named in str(refused.value)
    assert list(RatingChange.objects.order_by("pk").values_list()) == tampered  # --check writes nothing
    call_command("rerate", ladder.slug, stdout=StringIO())
    call_command("rerate", ladder.slug, "--check", stdout=StringIO())
    mended = list(RatingChange.objects.order_by("number", "entry").values_list("number", "entry", "nth", "k", "after"))
    assert mended == sound


def test_check_names_the_first_figure_that_differs() -> None:
    ladder = make_ladder()
    play_many(ladder, make_entries(ladder, 4), 12)
    RatingChange.objects.filter(number__gte=5).update(k=1.0)
    [first] = rerate(ladder, check=True).first
    assert (first.row.number, first.field, first.stored, first.replayed) == (5, "k", 1.0, 40.0)


def test_rerate_after_a_match_became_void_rates_everything_behind_it_anew() -> None:
    ladder, twin = make_ladder(), make_ladder()
    entries, others = make_entries(ladder, 2), make_entries(twin, 2)
    play(ladder, entries, [1, 2])
    voided = play(ladder, entries, [1, 2])
    play(ladder, entries, [2, 1])
    for places in ([1, 2], [2, 1]):
        play(twin, others, places)
    void(voided.paired_matches.get().match)
    rerate(ladder)
    assert ratings(entries) == ratings(others)
    voided.refresh_from_db()
    assert (voided.state, voided.why_unrated) == ("unrated", "void")
    assert rerate(ladder, check=True).first == []
    play(ladder, entries, [1, 2])  # and the ledger goes on
    assert rerate(ladder, check=True).first == []


def test_rerate_keeps_ladders_apart() -> None:
    ladder, other = make_ladder(), make_ladder()
    play_many(ladder, make_entries(ladder, 3), 6)
    play_many(other, make_entries(other, 3), 6)
    RatingChange.objects.filter(pairing__ladder=other).update(after=0.0)
    assert rerate(ladder, check=True).first == []
    assert rerate(other, check=True).first


def test_rerate_command_says_that_every_figure_holds_and_takes_a_name() -> None:
    ladder = make_ladder(name="Classic für zwei")
    play_many(ladder, make_entries(ladder, 2), 3)
    out = StringIO()
    call_command("rerate", "Classic für zwei", "--check", stdout=out)
    assert "every figure holds" in out.getvalue()


def test_rerate_command_refuses_an_unknown_ladder_and_names_what_there_is() -> None:
    ladder = make_ladder()
    with pytest.raises(CommandError, match=ladder.slug):
        call_command("rerate", "nowhere", stdout=StringIO())


def test_sweep_rates_what_nobody_announced_and_leaves_what_has_just_ended(monkeypatch) -> None:
    monkeypatch.setattr(tasks.rate_overlooked, "apply_async", lambda args, **_: tasks.rate_overlooked.apply(args))
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    pairing, match = make_pairing(ladder, entries)
    other, running = make_pairing(ladder, entries)
    end(match, [1, 2], ago_s=1)
    assert tasks.overlooked() == []
    end(match, [1, 2], ago_s=30)
    tasks.sweep()
    pairing.refresh_from_db()
    other.refresh_from_db()
    assert (pairing.state, other.state) == ("rated", "playing")


def test_announced_match_is_rated(settings, monkeypatch) -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    pairing, match = make_pairing(ladder, entries)
    end(match, [1, 2])
    monkeypatch.setattr(tasks.rate, "delay", tasks.rate)  # in this process instead of the worker's
    match_finished.send(sender=None, match_id=match.pk, state="finished")
    pairing.refresh_from_db()
    assert pairing.state == "rated"


def test_announced_match_of_no_pairing_is_let_be() -> None:
    assert match_finished.send(sender=None, match_id=12345, state="finished")


@pytest.mark.django_db(transaction=True)
def test_two_raters_at_once_rate_every_pairing_once() -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 4)
    pairings = []
    for i in range(12):
        pairing, match = make_pairing(ladder, [entries[i % 4], entries[(i + 1) % 4]])
        end(match, [1, 2])
        pairings.append(pairing.pk)
    orders = (pairings, pairings[::-1], pairings)
    done = race(*(lambda order=order: sum(rate(pk) for pk in order) for order in orders))
    assert sum(done) == 12
    assert RatingChange.objects.count() == 24
    assert sorted(Pairing.objects.values_list("number", flat=True)) == list(range(1, 13))
    assert rerate(ladder, check=True).first == []
