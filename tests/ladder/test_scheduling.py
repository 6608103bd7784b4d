"""Rounds: held when due and once, with whom, and what keeps one from being held."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from bots.models import BotVersion, Switch
from games.dispatch import choose
from games.models import Match
from ladder import tasks
from ladder.models import Entry, Ladder, PairedEntry, Pairing, Round
from ladder.ratings import rate
from ladder.registration import get_ready, register
from ladder.scheduling import (
    PATIENCE,
    NotHeld,
    Player,
    _contenders,
    _tables,
    able_now,
    due_ladders,
    free_players,
    hold_due,
    hold_round,
    pending_pairings,
    try_round,
)
from soureh_site.accounts.models import User
from tests.ladder.rows import end, make_bot, make_entries, make_ladder, make_user, make_version
from tests.racing import race

pytestmark = pytest.mark.django_db


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


def test_tick_waits_for_the_first_time_of_the_week() -> None:
    then = (timezone.now() + timedelta(days=2)).replace(second=0, microsecond=0)
    ladder = make_ladder(schedule="weekly", times=[[then.weekday(), then.strftime("%H:%M")]])
    make_entries(ladder, 2)
    assert tick() == 0
    ladder.refresh_from_db()
    assert ladder.next_round_at == then
    Ladder.objects.filter(pk=ladder.pk).update(next_round_at=timezone.now())
    assert tick() == 1
    ladder.refresh_from_db()
    assert ladder.next_round_at == then


def test_tick_holds_no_round_after_the_seasons_end() -> None:
    make_entries(make_ladder(ends_at=timezone.now() - timedelta(seconds=1)), 2)
    assert tick() == 0


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
        assert (match.kind, match.state, match.seats, match.seating) == ("ranked", "waiting", 4, "fixed")
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


def _two_owners(ladder: Ladder) -> None:
    for owner in (make_user(), make_user()):
        make_entries(ladder, 2, owner=owner)


def _ready_person(ladder: Ladder, name: str) -> User:
    person = make_user(name)
    get_ready(person, register(person, person, ladder))
    return person


def _person_and_own_bot(ladder: Ladder) -> None:
    make_entries(ladder, 1, owner=_ready_person(ladder, "ada"))
    make_entries(ladder, 1)


def _one_at_another_table(ladder: Ladder) -> None:
    for name in ("ada", "eve", "bob"):
        person = _ready_person(ladder, name)
    match = Match.objects.create(kind="table", state="playing", rules=ladder.rules, seats=2, server_seed=b"")
    match.players.create(entrant=0, seat=0, name="bob", user=person)


def _unplayable(ladder: Ladder) -> None:
    make_entries(ladder, 2)
    make_entries(ladder, 1)[0].bot.versions.update(state="set_aside")


def _suspended(ladder: Ladder) -> None:
    make_entries(ladder, 2)
    make_entries(ladder, 1, owner=make_user("eve"))
    User.objects.filter(username="eve").update(is_active=False)


@pytest.mark.parametrize("seats", [2, 3])
@pytest.mark.parametrize(
    ("fill", "able"),
    [(_two_owners, 2), (_person_and_own_bot, 2), (_one_at_another_table, 2), (_unplayable, 2), (_suspended, 2)],
)
def test_as_many_are_able_as_pairing_brings_to_one_table(fill, able: int, seats: int) -> None:
    ladder = make_ladder(seats=seats, entrants="both", entries_per_owner=None)
    fill(ladder)
    make_entries(make_ladder(), 3)
    assert able_now(ladder) == able
    assert (hold_round(ladder.pk) is not None) == (able >= seats)


@pytest.mark.parametrize(("others", "able"), [(1, 2), (3, 4)])
def test_owners_are_found_behind_any_number_of_one_owners_bots(others: int, able: int) -> None:
    ladder = make_ladder(entries_per_owner=None)
    make_entries(ladder, 6, owner=make_user())
    make_entries(ladder, others)
    assert able_now(ladder) == able


def test_who_is_busy_is_able_all_the_same() -> None:
    ladder = make_ladder()
    make_entries(ladder, 2)
    hold_round(ladder.pk)
    assert able_now(ladder) == 2


def test_refused_round_counts_owners() -> None:
    ladder = make_ladder(seats=3)
    _two_owners(ladder)
    with pytest.raises(NotHeld, match="a match needs 3 of different owners, and there are 2"):
        try_round(ladder.pk)


def test_nobody_can_work_out_beforehand_whom_he_will_meet() -> None:
    ladder = make_ladder()
    make_entries(ladder, 12)
    contenders = _contenders(ladder, free_players(ladder))
    # The same entries, in the same round of the same ladder.
    assert len({tuple(sorted(map(frozenset, _tables(ladder, contenders)), key=sorted)) for _ in range(8)}) > 1


def test_hold_round_refuses_a_closed_ladder() -> None:
    ladder = make_ladder(state="closed")
    make_entries(ladder, 2)
    with pytest.raises(NotHeld, match="closed"):
        try_round(ladder.pk)


@pytest.mark.parametrize("state", ["waiting", "queued", "playing"])
def test_match_that_is_still_to_be_played_holds_up_nobody_else(state: str) -> None:
    ladder = make_ladder(has_showcase=False)
    make_entries(ladder, 2)
    hold_round(ladder.pk)
    slow = Match.objects.get()
    Match.objects.update(state=state)
    others = make_entries(ladder, 4)
    for _ in range(3):
        held = hold_round(ladder.pk)
        assert {one.entry for one in PairedEntry.objects.filter(pairing__round=held)} == set(others)
        for match in Match.objects.exclude(pk=slow.pk).filter(state="waiting"):
            end(match, [1, 2])
            rate(match.paired.pairing_id)


@pytest.mark.parametrize("most", [1, 2])
def test_queue_is_bounded_however_long_no_worker_comes(most: int) -> None:
    ladder = make_ladder(has_showcase=False, max_pending=most)
    make_entries(ladder, 6)
    for _ in range(2 * most + 2):
        hold_round(ladder.pk)
    assert Match.objects.filter(state="waiting").count() == 3 * most
    assert set(pending_pairings(ladder).values()) == {most}
    with pytest.raises(NotHeld, match="Too few entries can play now"):
        try_round(ladder.pk)


def test_entry_that_was_left_over_plays_in_the_next_round() -> None:
    ladder = make_ladder(has_showcase=False)
    make_entries(ladder, 3)
    left = None
    for number in range(1, 5):
        held = hold_round(ladder.pk)
        playing = set(PairedEntry.objects.filter(pairing__round=held).values_list("entry", flat=True))
        assert left is None or left in playing
        out = ladder.entries.exclude(pk__in=playing).get()
        assert out.waits == 1 and set(ladder.entries.filter(pk__in=playing).values_list("waits", flat=True)) == {0}
        left = out.pk
        finish_all(ladder)
        byes = ladder.entries.values_list("byes", flat=True)
        assert sum(byes) == number and max(byes) - min(byes) <= 1


def test_round_keeps_who_sat_where_and_when_and_which_version_played() -> None:
    ladder = make_ladder(has_showcase=False)
    make_entries(ladder, 2)
    before = timezone.now()
    for _ in range(4):
        hold_round(ladder.pk)
        finish_all(ladder)
    assert [entry.seats_taken for entry in ladder.entries.all()] == [[2, 2], [2, 2]]
    for entry in ladder.entries.all():
        seats = [one.match.players.get(bot=entry.bot).entrant for one in ladder.paired_matches.all()]
        assert sorted(seats) == [0, 0, 1, 1] and entry.paired_at >= before
    for one in PairedEntry.objects.all():
        assert one.version == one.entry.bot.versions.get()
    pairings = Pairing.objects.all()
    assert [one.commitment for one in pairings] == [one.paired_matches.get().match.commitment for one in pairings]
    assert len({one.commitment for one in pairings}) == 4


def test_round_of_a_set_ladder_makes_whole_sets() -> None:
    ladder = make_ladder(seats=4, unit="set", has_showcase=False, move_s=0.5, bank_s=7.0)
    make_entries(ladder, 4)
    hold_round(ladder.pk)
    pairing = Pairing.objects.get()
    bots = [one.entry.bot for one in pairing.paired_entries.all()]
    paired = list(pairing.paired_matches.order_by("rotation").select_related("match"))
    assert [one.rotation for one in paired] == [0, 1, 2, 3]
    for one in paired:
        assert all((bots.index(seat.bot) + one.rotation) % 4 == seat.entrant for seat in one.match.players.all())
        assert (one.match.seating, one.match.commitment) == ("fixed", pairing.commitment)
        assert one.match.limits == {"move_s": 0.5, "bank_s": 7.0}
    assert len({one.match.duplicates for one in paired}) == 1 and paired[0].match.duplicates
    assert not any(entry.seats_taken for entry in ladder.entries.all()), "in a set everybody sits everywhere"


def one_match_over(ladder: Ladder) -> None:
    """Hold a round of two matches, and end the first."""
    make_entries(ladder, 4)
    hold_round(ladder.pk)
    first = Match.objects.order_by("pk").first()
    end(first, [1, 2])
    rate(first.paired.pairing_id)


def test_those_who_have_just_met_wait_for_others_while_workers_are_busy_but_not_for_ever() -> None:
    ladder = make_ladder(has_showcase=False)
    one_match_over(ladder)
    with pytest.raises(NotHeld, match="only just met"):
        try_round(ladder.pk)
    ladder.entries.update(waits=PATIENCE)
    assert hold_round(ladder.pk) is not None


def test_those_who_have_just_met_meet_again_rather_than_wait_for_a_slow_match() -> None:
    ladder = make_ladder(has_showcase=False)
    one_match_over(ladder)
    Match.objects.filter(state="waiting").update(state="playing")
    assert hold_round(ladder.pk).pairings.count() == 1


def test_ladders_of_two_and_of_forty_entries_take_turns_at_the_workers() -> None:
    small, large = (make_ladder(has_showcase=False, max_pending=3) for _ in range(2))
    make_entries(large, 40)
    make_entries(small, 2)
    hold_round(large.pk)
    for _ in range(PATIENCE + 1):
        hold_round(small.pk)
    assert Match.objects.filter(paired__ladder=small).count() == 1
    small.entries.update(waits=PATIENCE)
    hold_round(small.pk)
    shares = [match.share for match in choose(6)]
    assert set(shares[:2]) == set(shares[2:4]) == {f"ladder:{small.pk}", f"ladder:{large.pk}"}
    assert shares[4:] == [f"ladder:{large.pk}"] * 2


def test_ladders_of_one_organiser_take_their_turns_as_one() -> None:
    organiser = make_user()
    many = [make_ladder(has_showcase=False, owner=organiser) for _ in range(3)]
    ours = make_ladder(has_showcase=False)
    for ladder in (*many, ours):
        make_entries(ladder, 6)
        hold_round(ladder.pk)
    turns = [match.share for match in choose(6)]
    assert sorted(turns) == sorted([f"organiser:{organiser.pk}", f"ladder:{ours.pk}"] * 3)


# People


def enter_people(ladder: Ladder, count: int, **fields) -> list[Entry]:
    """Enter people who are ready to play."""
    fields.setdefault("ready_until", timezone.now() + timedelta(minutes=5))
    return [Entry.objects.create(ladder=ladder, user=make_user(), rating=1500.0, **fields) for _ in range(count)]


def test_people_who_are_ready_get_a_table_at_once() -> None:
    ladder = make_ladder(seats=3, entrants="both", person_move_s=30, person_bank_s=90, move_s=2.0)
    people, bots = enter_people(ladder, 2), make_entries(ladder, 1)
    hold_round(ladder.pk)
    pairing = Pairing.objects.get()
    match = pairing.paired_matches.get().match
    assert (match.kind, match.seating, match.awaits) == ("table", "draw", "seating"), "it waits in no line for a worker"
    clocks = {"move_s": 2.0, "bank_s": 20.0, "person_move_s": 30, "person_bank_s": 90}
    assert match.limits == clocks and match.commitment == pairing.commitment
    assert {seat.user for seat in match.players.all() if seat.user} == {entry.user for entry in people}
    assert {seat.version for seat in match.players.all() if seat.version} == {bots[0].bot.versions.get()}
    assert not ladder.entries.filter(ready_until__isnull=False).exists(), "who has a table says so again for the next"


@pytest.mark.parametrize("ready_until", [None, timezone.now() - timedelta(seconds=1)], ids=["never", "not-any-more"])
def test_people_who_are_not_ready_are_left_in_peace(ready_until) -> None:
    ladder = make_ladder(entrants="both")
    enter_people(ladder, 2, ready_until=ready_until)
    make_entries(ladder, 2)
    hold_round(ladder.pk)
    assert not PairedEntry.objects.filter(entry__user__isnull=False).exists()


def test_people_who_play_already_are_not_paired() -> None:
    ladder = make_ladder(entrants="people")
    enter_people(ladder, 2)
    hold_round(ladder.pk)
    until = timezone.now() + timedelta(minutes=5)
    ladder.entries.update(ready_until=until)
    with pytest.raises(NotHeld, match="Too few"):
        try_round(ladder.pk)
    other = make_ladder(entrants="people")
    for entry in ladder.entries.all():
        Entry.objects.create(ladder=other, user=entry.user, rating=1500.0, ready_until=until)
    with pytest.raises(NotHeld, match="Too few"):
        try_round(other.pk)


@pytest.mark.parametrize(("seats", "people", "bots_called"), [(2, 1, 1), (3, 1, 2), (2, 3, 1), (2, 2, 0)])
def test_people_do_not_wait_until_bots_have_played_what_waits_in_line(seats, people, bots_called) -> None:
    ladder = make_ladder(seats=seats, entrants="both", has_showcase=False)
    make_entries(ladder, 2 * seats)
    hold_round(ladder.pk)
    persons = enter_people(ladder, people)
    held = hold_round(ladder.pk)
    matches = Match.objects.filter(paired__pairing__round=held)
    assert {match.kind for match in matches} == {"table"}
    seated = [one.entry for one in PairedEntry.objects.filter(pairing__round=held)]
    assert len(seated) == people + bots_called and set(persons) <= set(seated)


def test_busy_bots_are_not_called_to_their_owners_table() -> None:
    ladder = make_ladder(entrants="both", has_showcase=False)
    person = enter_people(ladder, 1, ready_until=None)[0]
    make_entries(ladder, 1, owner=person.user)
    make_entries(ladder, 1)
    hold_round(ladder.pk)
    ladder.entries.filter(pk=person.pk).update(ready_until=timezone.now() + timedelta(minutes=5))
    held = hold_round(ladder.pk)
    assert {one.entry.owner_id for one in PairedEntry.objects.filter(pairing__round=held)} == {person.user_id, None}


def test_persons_own_free_bot_does_not_stand_for_a_busy_one_that_he_may_meet() -> None:
    ladder = make_ladder(entrants="both", has_showcase=False)
    make_entries(ladder, 2)
    hold_round(ladder.pk)
    person = enter_people(ladder, 1)[0]
    make_entries(ladder, 1, owner=person.user)
    held = hold_round(ladder.pk)
    assert held is not None and Match.objects.get(paired__pairing__round=held).kind == "table"


def test_bot_at_a_persons_table_misses_no_round() -> None:
    ladder = make_ladder(entrants="both", has_showcase=False)
    enter_people(ladder, 1)
    make_entries(ladder, 1)
    hold_round(ladder.pk)
    make_entries(ladder, 1)
    held = hold_round(ladder.pk)
    assert Match.objects.get(paired__pairing__round=held).kind == "ranked"


def test_person_who_sat_down_elsewhere_meanwhile_costs_only_his_own_table(monkeypatch) -> None:
    """Between being found free and being locked he may have opened a table."""
    ladder, other = make_ladder(entrants="both", has_showcase=False), make_ladder(entrants="people")
    person = enter_people(ladder, 1)[0]
    enter_people(other, 1)
    Entry.objects.create(ladder=other, user=person.user, rating=1500.0, ready_until=person.ready_until)
    hold_round(other.pk)
    ladder.entries.update(ready_until=timezone.now() + timedelta(minutes=5))
    make_entries(ladder, 5)
    monkeypatch.setattr("ladder.scheduling.sitting", lambda users: set())
    held = hold_round(ladder.pk)
    assert held.pairings.count() == 2
    person.refresh_from_db()
    assert person.waits == 1 and ladder.entries.filter(waits=1).count() == 2


def test_set_ladder_takes_no_people() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make_ladder(unit="set", entrants="both")


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
    for rating in (1500.0, 1510.0, 1530.0, 1570.0, 1650.0, 1810.0):
        make_entries(ladder, 1, rating=rating)
    hold_round(ladder.pk)
    shown = Match.objects.get(is_showcase=True)
    tables = [[one.entry.rating for one in pairing.paired_entries.all()] for pairing in Pairing.objects.all()]
    assert max(tables, key=sum) == [one.entry.rating for one in shown.paired.pairing.paired_entries.all()]


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


@pytest.mark.django_db(transaction=True)
def test_ladders_that_want_the_same_people_at_once_do_not_block_each_other() -> None:
    people = [make_user() for _ in range(8)]
    ladders = [make_ladder(entrants="both") for _ in range(3)]
    until = timezone.now() + timedelta(minutes=5)
    Entry.objects.bulk_create(
        Entry(ladder=ladder, user=person, rating=1500, ready_until=until) for ladder in ladders for person in people
    )
    held = race(*(lambda pk=ladder.pk: try_round(pk) for ladder in ladders), refusals=(NotHeld,))
    assert sum(isinstance(one, Round) for one in held) == 1
    assert sorted(PairedEntry.objects.values_list("entry__user", flat=True)) == [person.pk for person in people]


@pytest.mark.django_db(transaction=True)
def test_nobody_who_enters_meanwhile_waits_for_a_round_and_none_for_him(monkeypatch) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("one writer at a time, whatever it writes")
    ladder, owner = make_ladder(), make_user()
    make_entries(ladder, 2)
    bot = make_bot(owner)

    def enter() -> None:
        try:
            with connection.cursor() as cursor:
                # The round waits for us: without this nobody would ever end it.
                cursor.execute("SET lock_timeout = '2s'")
            register(owner, bot, ladder)
        finally:
            connection.close()

    def enter_meanwhile(held: Ladder) -> list[Player]:
        # The round holds its ladder's row; people who enter hold their own, and the round may want that.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(enter).result()
        return free_players(held)

    monkeypatch.setattr("ladder.scheduling.free_players", enter_meanwhile)
    assert try_round(ladder.pk) and ladder.entries.count() == 3
