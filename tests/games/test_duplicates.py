"""Duplicate sets: one deal, everybody in every seat; sealed until all of it is played. No bot runs here."""

from datetime import timedelta

import pytest
from django.utils import timezone

from bots.models import BotVersion
from games import dispatch, finish, matches
from games.duplicates import rotated, seat_in_set
from games.engine import Rules
from games.models import Finding, Match, Record, SeatLog
from tests.ladder.play import finish_one, play
from tests.ladder.rows import make_bot
from tests.racing import race

pytestmark = pytest.mark.django_db(transaction=True)
RULES = Rules.preset("classic", target=1).to_json()


def create_set(house, *names, **options):
    entrants = [{"version": house[name]} for name in names or ("careful", "random", "spoiler")]
    return matches.create_set(rules=RULES, entrants=entrants, share="ladder:1", **options)


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_over_a_set_everybody_takes_every_seat(seats):
    tables = [rotated("abcd"[:seats], rotation) for rotation in range(seats)]
    assert ["".join(sorted(taken)) for taken in zip(*tables, strict=True)] == ["abcd"[:seats]] * seats
    for rotation, table in enumerate(tables):
        seated = [seat_in_set(entrant, rotation=rotation, seats=seats) for entrant in range(seats)]
        assert [table[seat] for seat in seated] == list("abcd"[:seats])


def test_set_is_one_deal_with_the_seats_fixed_and_rotated(house):
    played = create_set(house, is_showcase=True)
    assert len({bytes(match.server_seed) for match in played}) == len({match.commitment for match in played}) == 1
    assert {(match.seating, match.state, match.share) for match in played} == {("fixed", "waiting", "ladder:1")}
    assert len({match.duplicates for match in played}) == 1 and len(played[0].duplicates) == 16
    assert [match.is_showcase for match in played] == [True, False, False]
    seated = [[player.name for player in matches.players_of(match)] for match in played]
    assert seated == [
        ["careful", "random", "spoiler"],
        ["spoiler", "careful", "random"],
        ["random", "spoiler", "careful"],
    ]
    assert create_set(house)[0].duplicates != played[0].duplicates


def test_limits_of_a_match_go_to_its_bots_and_peoples_clocks_do_not(house, worker, office):
    create_set(house, limits={"move_s": 2.0, "memory_mb": 64, "person_move_s": 9})
    dispatch.dispatch()
    ((job,),) = office.take("sandbox.play_match")[:1]
    assert (job["limits"]["move_s"], job["limits"]["memory_mb"], job["limits"]["bank_s"]) == (2.0, 64, 20.0)
    assert job["limits"]["wall_s"] == 9.0, "it follows from move_s"
    assert "person_move_s" not in job["limits"]


def test_limit_that_is_none_makes_no_match(house):
    with pytest.raises(ValueError, match="expected a positive number as move_s"):
        create_set(house, limits={"move_s": -1})
    assert not Match.objects.exists()


# What is played stays sealed


def start(match, **fields):
    """Have an attempt play the match."""
    Match.objects.filter(pk=match.pk).update(state="playing", attempt=1, **fields)


def states(played):
    return [Match.objects.get(pk=match.pk).state for match in played]


def assert_tells_nothing(match):
    match.refresh_from_db()
    assert (match.state, match.is_over) == ("sealed", False)
    assert (match.how, match.decisions, match.hands, match.faults, match.finished_at) == ("", 0, 0, [], None)
    assert not match.players.exclude(place=None, total=None, fault="").exists()


def test_match_of_a_set_is_sealed_until_the_last_has_ended(house, heard):
    played = create_set(house)
    for match in (played[1], played[2]):
        finish_one(match, log="I hold a joker", faulty={0: "crash"})
        assert_tells_nothing(match)
    assert heard == [] and Record.objects.count() == 2, "their records are kept"
    finish_one(played[0])
    assert states(played) == ["finished"] * 3
    assert heard == [(match.pk, "finished") for match in played]
    for match in played:
        match.refresh_from_db()
        assert match.is_over and match.how and match.decisions and match.finished_at
        assert sorted(player.seat for player in match.players.all()) == [0, 1, 2]
        assert None not in [player.total for player in match.players.all()]
    assert {player.fault for player in played[1].players.all()} == {"", "crash"}
    assert finish.open_set(played[0].duplicates) is False and len(heard) == 3


def test_every_hand_of_a_set_is_dealt_alike(house):
    decks = []
    for match in create_set(house):
        finish_one(match)
    for row in Record.objects.all():
        decks.append(finish.record.unpack(bytes(row.packed))["hands"][0]["deck"])
    assert len(decks) == 3 and decks[0] == decks[1] == decks[2]


@pytest.mark.parametrize("_time", range(3))
def test_those_that_end_at_once_open_their_set_once(house, heard, _time):
    """None may take another for not done, or nobody would open the set; nor may two open it."""
    played = create_set(house)
    race(*[lambda match=match: finish_one(match) for match in played])
    assert states(played) == ["finished"] * 3
    assert sorted(heard) == sorted((match.pk, "finished") for match in played)


@pytest.mark.parametrize("_time", range(3))
def test_endings_losses_and_voids_of_one_set_at_once_come_to_one_end(house, worker, office, heard, _time):
    played = create_set(house, "careful", "random", "spoiler", "counter")
    start(played[0], lost_attempts=2)
    start(played[1])
    outcome = play(played[1], 1, log="")
    answers = race(
        lambda: finish.lose_attempt(played[0].pk, 1, what="failed", detail="no"),
        lambda: finish.void_match(played[2].pk, "operator"),
        lambda: finish.finish_match(played[1].pk, 1, outcome),
        dispatch.dispatch,
    )
    assert (answers[0], answers[2]) == (True, True)
    assert states(played) == ["void", "finished", "void", "void"]
    assert sorted(heard) == sorted((match.pk, state) for match, state in zip(played, states(played), strict=True))


def test_void_match_ends_what_has_not_started_of_its_set_and_opens_what_has(house, worker, office, heard):
    played = create_set(house, "careful", "random", "spoiler", "counter")
    finish_one(played[0])
    start(played[1])
    Match.objects.filter(pk=played[2].pk).update(state="queued", attempt=1)
    assert finish.void_match(played[3].pk, "operator")
    assert states(played) == ["sealed", "playing", "void", "void"]
    assert [Match.objects.get(pk=match.pk).how for match in played[2:]] == ["set", "operator"]
    assert heard == [(played[3].pk, "void"), (played[2].pk, "void")]
    assert list(Finding.objects.values_list("what", "subject")) == [("void", played[3].code)]
    finish_one(played[1])
    assert states(played) == ["finished", "finished", "void", "void"]


def test_void_of_the_last_that_runs_opens_the_others(house):
    played = create_set(house)
    finish_one(played[0])
    start(played[1], lost_attempts=2)
    start(played[2])
    assert finish.lose_attempt(played[1].pk, 1, what="lost", detail="silent")
    assert states(played) == ["sealed", "void", "playing"]
    finish_one(played[2])
    assert states(played) == ["finished", "void", "finished"]


def test_void_of_a_sealed_match_leaves_no_log_of_deals_that_are_still_played(house):
    played = create_set(house)
    finish_one(played[0], log="I hold a joker", faulty={0: "crash"})
    finish_one(played[1], log="I hold a joker", faulty={0: "crash"})
    start(played[2])
    assert SeatLog.objects.filter(seat__match=played[0]).exists()
    assert finish.void_match(played[0].pk, "operator")
    assert not SeatLog.objects.filter(seat__match=played[0]).exists()
    assert states(played) == ["void", "sealed", "playing"]


def test_showcase_of_a_set_is_shown_when_all_is_played_and_opens_it_when_it_ends(house, heard):
    played = create_set(house, is_showcase=True)
    finish_one(played[0])
    assert_tells_nothing(played[0])
    assert Match.objects.get(pk=played[0].pk).show_from is None
    finish_one(played[1])
    finish_one(played[2])
    assert states(played) == ["showing", "sealed", "sealed"]
    assert_tells_nothing(played[1])
    shown = Match.objects.get(pk=played[0].pk)
    assert timedelta(0) < shown.show_until - shown.show_from <= timedelta(minutes=5) and shown.how == ""
    assert (finish.release_shows(), finish.sweep_sets(), heard) == (0, 0, [])
    Match.objects.filter(pk=shown.pk).update(show_until=timezone.now())
    assert finish.release_shows() == 1
    assert states(played) == ["finished"] * 3
    assert heard == [(match.pk, "finished") for match in played]


def test_showcase_that_is_void_opens_the_others(house):
    played = create_set(house, is_showcase=True)
    for match in played:
        finish_one(match)
    assert states(played) == ["showing", "sealed", "sealed"]
    assert finish.void_match(played[0].pk, "operator")
    assert states(played) == ["void", "finished", "finished"]


def test_faults_count_when_their_set_is_opened(house, ada):
    version = make_bot(ada).versions.get()
    entrants = [{"version": version}, {"version": house["careful"]}, {"version": house["random"]}]
    played = matches.create_set(rules=RULES, entrants=entrants)
    for rotation, match in enumerate(played):
        assert BotVersion.objects.get(pk=version.pk).state == "ready"
        finish_one(match, faulty={rotation: "crash"})
    assert BotVersion.objects.get(pk=version.pk).state == "set_aside", "three faults in one set"


def test_sweep_opens_a_set_that_nobody_opened(house, heard):
    played = create_set(house)
    finish_one(played[0])
    finish_one(played[1])
    assert dispatch.sweep()["sealed"] == 0
    Match.objects.filter(pk=played[2].pk).delete()
    assert dispatch.sweep()["sealed"] == 1
    assert states(played[:2]) == ["finished"] * 2
    assert heard == [(match.pk, "finished") for match in played[:2]]
    assert Finding.objects.get().what == "sealed"
    assert dispatch.sweep()["sealed"] == 0
