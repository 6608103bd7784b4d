"""Rounds: held when due and once, with whom, and what keeps one from being held."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from bots.models import BotVersion, Switch
from games.models import Match
from ladder import tasks
from ladder.models import Entry, Ladder, PairedEntry, Pairing, Round
from ladder.ratings import rate
from ladder.scheduling import NotHeld, due_ladders, hold_due, hold_round, next_due, try_round
from tests.ladder.rows import end, make_bot, make_entries, make_ladder, make_user, make_version
from tests.racing import race

pytestmark = pytest.mark.django_db
T0 = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def tick() -> int:
    """Hold what is due in this process instead of the worker's; return how many rounds were held."""
    return sum(hold_due(pk) for pk in due_ladders())


def finish_all(ladder: Ladder, *, showing: bool = True) -> None:
    """End every running match of the ladder, those on show too if `showing`."""
    for match in Match.objects.filter(paired__ladder=ladder, state__in=Match.UNFINISHED):
        if match.is_showcase and not showing:
            Match.objects.filter(pk=match.pk).update(state="showing")
            continue
        end(match, list(range(1, match.seats + 1)))
        rate(match.paired.pairing_id)


@pytest.mark.parametrize(
    ("seen", "now", "due"),
    [
        pytest.param(None, T0, T0 + timedelta(seconds=60), id="first"),
        pytest.param(T0, T0, T0 + timedelta(seconds=60), id="punctual"),
        pytest.param(T0, T0 + timedelta(seconds=2.5), T0 + timedelta(seconds=60), id="late-tick-does-not-drift"),
        pytest.param(T0, T0 + timedelta(seconds=60), T0 + timedelta(seconds=120), id="exactly-one-late"),
        pytest.param(T0, T0 + timedelta(hours=3, seconds=7), T0 + timedelta(hours=3, minutes=1), id="missed-skipped"),
    ],
)
def test_next_due_keeps_the_beat(seen, now, due) -> None:
    assert next_due(seen, round_s=60, now=now) == due


def test_tick_holds_the_first_round_at_once_and_then_waits() -> None:
    ladder = make_ladder()
    make_entries(ladder, 4)
    assert tick() == 1
    assert tick() == 0
    ladder.refresh_from_db()
    assert ladder.rounds == 1 and ladder.next_round_at > timezone.now() + timedelta(seconds=50)
    assert Round.objects.get().number == 1


def test_tick_holds_one_round_for_many_missed_ones() -> None:
    start = timezone.now() - timedelta(minutes=90, seconds=30)
    ladder = make_ladder(next_round_at=start)
    make_entries(ladder, 2)
    assert tick() == 1
    ladder.refresh_from_db()
    assert ladder.rounds == 1
    assert timezone.now() < ladder.next_round_at < timezone.now() + timedelta(seconds=60)
    assert (ladder.next_round_at - start) % timedelta(seconds=60) == timedelta(0)


def test_tick_leaves_closed_and_later_ladders() -> None:
    make_entries(make_ladder(state="closed"), 2)
    make_entries(make_ladder(next_round_at=timezone.now() + timedelta(seconds=5)), 2)
    assert tick() == 0 and not Round.objects.exists()


def test_tick_holds_nothing_while_rounds_are_paused_and_catches_up_after() -> None:
    make_entries(make_ladder(), 2)
    switch = Switch.objects.create(name="rounds", is_paused=True)
    assert tick() == 0 and not Round.objects.exists()
    switch.is_paused = False
    switch.save()
    assert tick() == 1


def test_tick_goes_on_to_other_ladders_when_one_has_too_few() -> None:
    make_entries(make_ladder(), 1)
    make_entries(make_ladder(), 2)
    assert tick() == 1


def test_hold_round_makes_pairings_entries_and_matches() -> None:
    ladder = make_ladder(seats=4, has_showcase=False)
    entries = make_entries(ladder, 8)
    held = hold_round(ladder.pk)
    assert held.pairings.count() == 2
    for pairing in held.pairings.all():
        match = pairing.paired_matches.get().match
        assert (match.kind, match.state, match.seats, match.seating) == ("ranked", "waiting", 4, "draw")
        assert (match.rules, match.share, match.is_showcase) == (ladder.rules, f"ladder:{ladder.pk}", False)
        paired = {one.entrant: one.entry.bot for one in pairing.paired_entries.all()}
        assert {seat.entrant: seat.bot for seat in match.players.all()} == paired
    assert set(PairedEntry.objects.values_list("entry", flat=True)) == {entry.pk for entry in entries}


def test_hold_round_plays_the_newest_ready_version() -> None:
    ladder = make_ladder()
    one, _ = make_entries(ladder, 2)
    make_version(one.bot, number=2)
    make_version(one.bot, number=3, state=BotVersion.State.TRIAL)
    hold_round(ladder.pk)
    assert Match.objects.get().players.get(bot=one.bot).version.number == 2


@pytest.mark.parametrize("state", [Entry.State.PAUSED, Entry.State.WITHDRAWN])
def test_hold_round_leaves_out_entries_that_are(state: str) -> None:
    ladder = make_ladder()
    make_entries(ladder, 2)
    out = make_entries(ladder, 2, state=state)
    hold_round(ladder.pk)
    assert not PairedEntry.objects.filter(entry__in=out).exists()


@pytest.mark.parametrize("state", [BotVersion.State.TRIAL, BotVersion.State.FAILED, BotVersion.State.SET_ASIDE, None])
def test_hold_round_leaves_out_bots_without_a_ready_version(state) -> None:
    ladder = make_ladder()
    make_entries(ladder, 2)
    bot = make_bot(state=state)
    entry = Entry.objects.create(ladder=ladder, bot=bot, rating=1500)
    hold_round(ladder.pk)
    assert not PairedEntry.objects.filter(entry=entry).exists()


def test_hold_round_leaves_out_a_suspended_persons_bots() -> None:
    ladder = make_ladder()
    ada = make_user("ada")
    own = make_entries(ladder, 1, owner=ada)
    house = make_entries(ladder, 2)
    type(ada).objects.filter(pk=ada.pk).update(is_active=False)
    hold_round(ladder.pk)
    assert set(PairedEntry.objects.values_list("entry", flat=True)) == {entry.pk for entry in house}
    finish_all(ladder)
    type(ada).objects.filter(pk=ada.pk).update(is_active=True)
    hold_round(ladder.pk)
    assert PairedEntry.objects.filter(entry=own[0]).exists(), "least played, so first"


def test_hold_round_says_when_too_few_can_play(caplog) -> None:
    ladder = make_ladder(seats=4)
    make_entries(ladder, 3)
    with caplog.at_level("INFO", logger="ladder.scheduling"):
        assert hold_round(ladder.pk) is None
    assert "Too few entries can play now: a match needs 4 of different owners, and there are 3." in caplog.text
    assert Ladder.objects.get(pk=ladder.pk).rounds == 0


def test_hold_round_never_brings_one_owners_entries_together() -> None:
    ladder = make_ladder()
    make_entries(ladder, 4, owner=make_user())
    with pytest.raises(NotHeld, match="of different owners"):
        try_round(ladder.pk)


def test_hold_round_refuses_a_closed_ladder() -> None:
    ladder = make_ladder(state="closed")
    make_entries(ladder, 2)
    with pytest.raises(NotHeld, match="closed"):
        try_round(ladder.pk)


@pytest.mark.parametrize("state", ["waiting", "queued"])
def test_hold_round_waits_for_the_queue_to_empty(state: str) -> None:
    ladder = make_ladder(has_showcase=False)
    make_entries(ladder, 4)
    hold_round(ladder.pk)
    make_entries(ladder, 2)
    Match.objects.update(state="playing")
    Match.objects.filter(pk=Match.objects.first().pk).update(state=state)
    with pytest.raises(NotHeld, match="1 match of the last rounds still waits"):
        try_round(ladder.pk)


def test_hold_round_of_one_ladder_does_not_wait_for_anothers() -> None:
    ladder, other = make_ladder(), make_ladder()
    make_entries(ladder, 2)
    make_entries(other, 2)
    assert hold_round(ladder.pk) and hold_round(other.pk)


def test_hold_round_leaves_out_entries_that_are_still_playing() -> None:
    ladder = make_ladder(has_showcase=False)
    busy = make_entries(ladder, 2)
    hold_round(ladder.pk)
    Match.objects.update(state="playing")
    assert hold_round(ladder.pk) is None
    make_entries(ladder, 2)
    held = hold_round(ladder.pk)
    assert not PairedEntry.objects.filter(pairing__round=held, entry__in=busy).exists()


def test_hold_round_lets_those_on_show_play_on() -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    hold_round(ladder.pk)
    Match.objects.update(state="showing", is_showcase=True)
    held = hold_round(ladder.pk)
    assert set(PairedEntry.objects.filter(pairing__round=held).values_list("entry", flat=True)) == {
        entry.pk for entry in entries
    }


def test_hold_round_avoids_the_last_opponents() -> None:
    ladder = make_ladder(has_showcase=False)
    make_entries(ladder, 4)
    seen = []
    for _ in range(3):
        held = hold_round(ladder.pk)
        seen += [frozenset(one.paired_entries.values_list("entry", flat=True)) for one in held.pairings.all()]
        finish_all(ladder)
    assert len(set(seen)) == 6  # three rounds of four: everybody has met everybody


def test_showcase_is_the_strongest_table_and_one_a_round() -> None:
    ladder = make_ladder()
    make_entries(ladder, 4)
    strong = make_entries(ladder, 2, rating=1900.0)
    hold_round(ladder.pk)
    shown = Match.objects.get(is_showcase=True)
    assert {seat.bot for seat in shown.players.all()} == {entry.bot for entry in strong}


def test_showcase_is_never_the_only_pairing_of_the_first_round() -> None:
    ladder = make_ladder(seats=4)
    make_entries(ladder, 4)
    hold_round(ladder.pk)
    assert not Match.objects.filter(is_showcase=True).exists()
    finish_all(ladder)
    hold_round(ladder.pk)
    assert Match.objects.filter(is_showcase=True).count() == 1


def test_showcase_waits_for_the_one_before() -> None:
    ladder = make_ladder()
    make_entries(ladder, 4)
    for _ in range(3):
        hold_round(ladder.pk)
        finish_all(ladder, showing=False)
    assert Match.objects.filter(is_showcase=True).count() == 1
    finish_all(ladder)
    hold_round(ladder.pk)
    assert Match.objects.filter(is_showcase=True).count() == 2


def test_showcase_of_another_ladder_does_not_count() -> None:
    for _ in range(2):
        ladder = make_ladder()
        make_entries(ladder, 4)
        hold_round(ladder.pk)
    assert Match.objects.filter(is_showcase=True).count() == 2


def test_showcase_is_left_out_where_the_ladder_has_none() -> None:
    ladder = make_ladder(has_showcase=False)
    make_entries(ladder, 4)
    hold_round(ladder.pk)
    assert not Match.objects.filter(is_showcase=True).exists()


def test_hold_round_is_all_or_nothing(monkeypatch) -> None:
    """A failure half way leaves no round, and the next tick holds it."""
    ladder = make_ladder()
    make_entries(ladder, 4)
    calls = []

    def failing(**fields):
        calls.append(fields)
        if len(calls) == 2:
            raise OSError("the disk is full")
        return create_match(**fields)

    from games.matches import create_match

    monkeypatch.setattr("ladder.scheduling.create_match", failing)
    with pytest.raises(OSError, match="disk is full"):
        tick()
    assert not Round.objects.exists() and not Pairing.objects.exists() and not Match.objects.exists()
    assert tick() == 1


def test_ladder_that_breaks_stops_no_other(monkeypatch) -> None:
    broken, sound = make_ladder(), make_ladder()
    make_entries(broken, 2)
    make_entries(sound, 2)
    Ladder.objects.filter(pk=broken.pk).update(rules={"preset": "of-no-game"})
    monkeypatch.setattr(tasks.hold_due, "apply_async", lambda args, **_: tasks.hold_due.apply(args))
    for _ in range(2):
        tasks.tick()
    assert [held.ladder_id for held in Round.objects.all()] == [sound.pk]
    assert due_ladders() == [broken.pk]


def test_ladder_that_is_gone_is_let_be() -> None:
    assert hold_due(12345) is False


@pytest.mark.django_db(transaction=True)
def test_two_ticks_at_once_hold_one_round() -> None:
    ladder = make_ladder()
    make_entries(ladder, 4)
    held = race(*[tick] * 3)
    assert sum(held) == 1 and Round.objects.count() == 1
