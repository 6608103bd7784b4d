"""The single door: what a worker reports is taken once, from the present attempt, if it holds."""

from datetime import timedelta

import pytest
from django.utils import timezone

from games import broker, dispatch, finish
from games.engine import Rules, draw_seats, record, replay
from games.models import Match, Record, SeatLog

pytestmark = pytest.mark.django_db(transaction=True)
RULES = Rules.preset("classic", target=1)


def outcome_of(match, faults=(), logs=None):
    """Play a match by the first legal moves, outside any sandbox, and return what a worker would report."""
    game = replay(RULES, match.seats, bytes(match.server_seed), match.player_seeds, [], faults)
    moves = []
    while game.decision is not None:
        legal = game.legal()
        moves.append(game.autopilot() or legal[len(moves) % len(legal)])
        game.play(moves[-1])
    reported = [fault | {"private": "what was seen"} for fault in faults]
    return {"moves": moves, "ms": [1] * len(moves), "faults": reported, "logs": logs or ["", ""], "order": [1, 0]}


@pytest.fixture
def running(house, worker, office):
    """A match that an attempt plays."""
    entrants = [{"version": house["careful"]}, {"version": house["random"]}]
    match = dispatch.create_match(kind="ranked", rules=RULES.to_json(), entrants=entrants, share="ladder:1")
    dispatch.dispatch()
    dispatch.hear(match.code, 1, worker.name)
    match.refresh_from_db()
    return match


def test_second_caller_changes_nothing_and_is_told_so(running, heard):
    outcome = outcome_of(running)
    assert finish.finish_match(running.pk, 1, outcome) is True
    before = (Match.objects.values().get(), bytes(Record.objects.get().packed))
    assert finish.finish_match(running.pk, 1, outcome) is False
    assert finish.void_match(running.pk, "operator") is False
    assert (Match.objects.values().get(), bytes(Record.objects.get().packed)) == before
    assert heard == [(running.pk, "finished")]


def test_ending_stands_when_what_follows_the_commit_breaks(running, monkeypatch):
    def broken(_code):
        raise RuntimeError("no such luck")

    monkeypatch.setattr(broker, "notify_table", broken)
    assert finish.finish_match(running.pk, 1, outcome_of(running)) is True
    assert Match.objects.get(pk=running.pk).state == Match.State.FINISHED


def test_late_result_of_an_old_attempt_is_dropped(running, heard):
    outcome = outcome_of(running)
    finish.lose_attempt(running.pk, 1, what="lost", detail="silent")
    assert finish.finish_match(running.pk, 1, outcome) is False
    dispatch.dispatch()
    assert finish.finish_match(running.pk, 1, outcome) is False
    assert finish.finish_match(running.pk, 2, outcome) is True
    assert heard == [(running.pk, "finished")]


def test_record_takes_seats_seed_and_versions_from_the_row(running, house):
    finish.finish_match(running.pk, 1, outcome_of(running) | {"order": [0, 0], "server_seed": "00" * 32})
    doc = record.unpack(bytes(Record.objects.get().packed))
    order = draw_seats(bytes(running.server_seed), ("", "")).order
    names = ["careful", "random"]
    assert [seat["name"] for seat in doc["seats"]] == [names[entrant] for entrant in order]
    assert doc["fairness"]["server_seed"] == bytes(running.server_seed).hex()
    assert {seat["sha256"] for seat in doc["seats"]} == {
        version.source_id for version in (house["careful"], house["random"])
    }
    assert [player.entrant for player in running.players.order_by("seat")] == list(order)


@pytest.mark.parametrize(
    "lie",
    [
        lambda o: o | {"moves": o["moves"][:-1], "ms": o["ms"][:-1]},
        lambda o: o | {"moves": [*o["moves"], "d"], "ms": [*o["ms"], 1]},
        lambda o: o | {"moves": ["show", *o["moves"][1:]]},
        lambda o: o | {"ms": o["ms"][:-1]},
        lambda o: o | {"ms": [-1, *o["ms"][1:]]},
        lambda o: o | {"moves": [1, *o["moves"][1:]]},
        lambda o: o | {"cpu_us": [900] * (len(o["moves"]) + 1)},
        lambda o: o | {"cpu_us": [-1] * len(o["moves"])},
        lambda o: o | {"cpu_us": [10**13] * len(o["moves"])},
        lambda o: o | {"cpu_us": [0.5] * len(o["moves"])},
        lambda o: o | {"starts": [1, -1]},
        lambda o: o | {"starts": [1] * 5},
        lambda o: o | {"faults": [{"seat": 7, "kind": "crash", "turn": 1}]},
        lambda o: o | {"faults": [{"seat": 0, "kind": "resigned", "turn": 1}]},
        lambda o: o | {"faults": [{"seat": 0, "kind": "crash", "turn": 10**6}]},
        lambda o: [],
        lambda o: None,
    ],
    ids=[
        *("cut-short", "too-long", "illegal", "missing-time", "negative-time", "not-text"),
        *("cpu-too-long", "negative-cpu", "endless-cpu", "half-a-microsecond", "negative-start", "too-many-starts"),
        *("no-seat", "not-a-bots"),
        *("fault-after-the-end", "not-an-object", "null"),
    ],
)
def test_result_that_does_not_hold_costs_the_attempt_and_no_bot(running, lie, heard):
    assert finish.finish_match(running.pk, 1, lie(outcome_of(running))) is False
    running.refresh_from_db()
    assert (running.state, running.lost_attempts) == ("waiting", 1)
    assert not Record.objects.exists()
    assert not running.players.exclude(fault="", place=None).exists()
    assert heard == []


@pytest.mark.parametrize("gone", ["version", "bot"])
def test_match_of_a_deleted_bot_is_void_and_blames_nobody(running, house, heard, gone):
    outcome = outcome_of(running)
    (house["careful"] if gone == "version" else house["careful"].bot).delete()
    assert finish.finish_match(running.pk, 1, outcome) is False
    running.refresh_from_db()
    assert (running.state, running.how, running.lost_attempts) == ("void", "gone", 0)
    assert not Record.objects.exists(), "no record may call a bot a person"
    assert not running.players.exclude(fault="").exists()
    assert heard == [(running.pk, "void")]


def test_fault_is_public_by_kind_and_place_and_private_to_its_owner(running):
    faults = [{"seat": 0, "kind": "crash", "hand": 1, "turn": 1, "detail": "the process ended"}]
    assert finish.finish_match(running.pk, 1, outcome_of(running, faults, logs=["Traceback\0 \ud800", ""]))
    running.refresh_from_db()
    seat = running.players.get(seat=0)
    assert (seat.fault, seat.place) == ("crash", 2)
    assert running.faults == faults
    log = SeatLog.objects.get(seat=seat)
    assert log.fault_detail == "what was seen"
    assert log.stderr.startswith("Traceback")
    assert "what was seen" not in str(record.unpack(bytes(Record.objects.get().packed)))


def test_void_match_is_announced_and_has_no_record(running, heard):
    assert finish.void_match(running.pk, "operator")
    assert heard == [(running.pk, "void")]
    assert finish.finish_match(running.pk, 1, outcome_of(running)) is False
    assert not Record.objects.exists()


@pytest.fixture
def on_show(running, settings):
    """A showcase whose record is being shown."""
    Match.objects.filter(pk=running.pk).update(is_showcase=True)
    assert finish.finish_match(running.pk, 1, outcome_of(running))
    running.refresh_from_db()
    return running


def test_showcase_holds_back_how_it_ends(on_show, heard):
    assert on_show.state == "showing"
    assert (on_show.how, on_show.decisions, on_show.hands, on_show.faults, on_show.finished_at) == ("", 0, 0, [], None)
    assert not on_show.players.exclude(place=None, total=None, fault="").exists()
    assert finish.release_shows() == 0
    assert heard == []


def test_showcase_lasts_five_minutes_at_most(on_show):
    assert timedelta(0) < on_show.show_until - on_show.show_from <= timedelta(minutes=5)


def test_showcase_is_finished_once_by_the_clock(on_show, heard):
    Match.objects.update(show_until=timezone.now())
    assert finish.release_shows() == 1
    assert finish.finish_show(on_show.pk) is False
    on_show.refresh_from_db()
    assert (on_show.state, on_show.how) == ("finished", "target")
    assert sorted(player.place for player in on_show.players.all()) == [1, 2]
    assert heard == [(on_show.pk, "finished")]
