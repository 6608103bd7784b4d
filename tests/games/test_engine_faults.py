"""Faults: the seat goes on by itself, the places say whose it was, and the record holds."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.engine import FAULT_KINDS, Feed, Game, InvalidRecord, Rules, record, replay
from tests.games.engine_games import any_rules, finished, play_out, record_of, seat_counts, seeds, some_move

policies = st.integers(0, 2**32)


def new_game(seats, **options):
    return Game(Rules.preset("classic", **options), seats, bytes(32))


def test_a_faulted_seat_discards_to_the_end():
    game = new_game(3)
    game.fault(1, "timeout", reason="1.2 s of 1.0 s")
    rng = random.Random(3)
    while game.decision is not None:
        assert (game.autopilot() is not None) == (game.decision.seat == 1)
        game.play(some_move(game, rng))
    moves = [entry["move"] for entry in game.log_for(None) if entry.get("seat") == 1 and "move" in entry]
    assert set(moves) <= {"d", "go"}
    assert game.result.places[1] == 3
    assert game.faults == [(1, "timeout", 1, 1, "1.2 s of 1.0 s")]
    record.verify(record_of(game))


@pytest.mark.parametrize("made", [0, 1, 5, 40])
def test_the_last_without_a_fault_wins_at_once(made):
    game = play_out(new_game(2), random.Random(1), limit=made)
    totals, hand = list(game._hand.totals), game.decision.hand
    game.fault(0, "crash")
    assert game.decision is None and game.legal() == ()
    assert game.result == ("fault", totals, [2, 1])
    assert game.log_for(None)[-3:] == [
        {"event": "fault", "seat": 0, "kind": "crash"},
        {
            "event": "hand_end",
            "no": hand,
            "end": "stopped",
            "winner": None,
            "down": game.view(None)["down"],
            "picks": ["", ""],
            "points": [0, 0],
            "bonus": [0, 0],
            "totals": totals,
        },
        {"event": "game_end", "totals": totals, "places": [2, 1], "how": "fault"},
    ]
    assert Feed(1).messages(game)[-1]["faults"] == [{"seat": 0, "kind": "crash"}]
    record.verify(record_of(game))


def test_earlier_faults_are_placed_behind_later_ones():
    game = new_game(4)
    for seat in (2, 0):
        play_out(game, random.Random(seat), limit=3)
        game.fault(seat, "illegal")
    assert game.result is None
    game.fault(3, "left")
    assert game.result.how == "fault" and game.result.places == [3, 1, 4, 2]
    record.verify(record_of(game))


def test_faults_of_one_decision_go_by_their_order():
    game = new_game(4)
    for seat in (3, 2, 1):
        game.fault(seat, "crash")
    assert game.result.places == [1, 2, 3, 4]
    record.verify(record_of(game))


def test_faults_at_the_start_share_the_last_place():
    game = new_game(4)
    game.fault(3, "start", at_start=True)
    game.fault(1, "start", at_start=True)
    assert game.faults[0] == (3, "start", 1, 0, "")
    play_out(game, random.Random(1), limit=2)
    game.fault(0, "memory")
    assert game.result.places == [2, 3, 1, 3]
    record.verify(record_of(game))


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_all_may_fail_at_the_start(seats):
    game = new_game(seats)
    for seat in reversed(range(seats)):
        game.fault(seat, "start", at_start=True)
    assert game.result == ("fault", [0] * seats, [1] * seats)
    kinds = [entry["event"] for entry in game.log_for(None)]
    assert kinds == ["hand", *["fault"] * seats, "hand_end", "game_end"]
    record.verify(record_of(game))


def test_a_fault_at_a_pick_leaves_no_points():
    game = new_game(3, picks="player")
    rng = random.Random(5)
    while game.decision.kind != "pick":
        game.play(some_move(game, rng))
    game.play(game.legal()[0])
    game.fault(0, "timeout")
    game.fault(1, "timeout")
    assert game.result == ("fault", [0, 0, 0], [3, 2, 1])
    assert game.log_for(None)[-2]["picks"] == ["", "", ""]
    record.verify(record_of(game))


def test_the_autopilot_picks_the_best():
    game = new_game(3, picks="player")
    rng = random.Random(5)
    while game.decision.kind != "pick":
        game.play(some_move(game, rng))
    seat = game.decision.seat
    game.fault(seat, "resigned")
    totals = {}
    for pick in game.legal():
        twin = game.copy()
        twin.play(pick)
        totals[pick] = twin._hand._scores[seat].total
    best = game.autopilot()
    assert best == min(totals, key=lambda pick: (totals[pick], pick))


def test_an_elimination_that_leaves_one_without_a_fault_ends_the_game():
    how = set()
    for policy in range(12):
        game = new_game(3, end="elimination", target=60)
        game.fault(policy % 3, "crash")
        play_out(game, random.Random(policy))
        how.add(game.result.how)
        survivors = [seat for seat in game.playing if seat not in game.faulted]
        assert len(survivors) <= 1
        record.verify(record_of(game))
    assert how == {"fault", "elimination"}


def test_faults_out_of_place_are_refused_and_change_nothing():
    game = play_out(new_game(4, end="elimination", target=60), random.Random(1))
    assert game.eliminated
    game = new_game(4, end="elimination", target=60)
    rng = random.Random(1)
    while not game.eliminated:
        game.play(some_move(game, rng))
    out = game.eliminated[0]
    game.fault(game.playing[0], "left")
    before = len(game.log)
    for seat, kind, options in [
        (out, "crash", {}),
        (game.faulted[0], "crash", {}),
        (4, "crash", {}),
        (-1, "crash", {}),
        (game.playing[1], "bored", {}),
        (game.playing[1], "start", {"at_start": True}),
    ]:
        with pytest.raises(ValueError, match="expected"):
            game.fault(seat, kind, **options)
    assert len(game.log) == before and len(game.faults) == 1


def test_no_fault_after_the_end():
    game = finished(Rules.preset(target=1), 2)
    with pytest.raises(ValueError, match="the game is over"):
        game.fault(0, "left")
    stopped = new_game(2)
    stopped.fault(0, "start", at_start=True)
    with pytest.raises(ValueError, match="the game is over"):
        stopped.fault(1, "left")


@given(
    any_rules(), seat_counts, seeds, policies, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3)), max_size=4)
)
@settings(max_examples=60, deadline=None)
def test_faults_at_every_point_replay_and_verify(rules, seats, seed, policy, planned):
    rng = random.Random(policy)
    game = Game(rules, seats, seed)
    for number, (turn, seat) in enumerate(sorted(planned)):
        play_out(game, rng, limit=max(0, turn - game.decisions_made))
        if game.decision is not None and seat in game.playing and seat not in game.faulted:
            is_start = turn == 0 and number % 2 == 0 and not any(fault.turn for fault in game.faults)
            game.fault(seat, rng.choice(FAULT_KINDS), reason="why", at_start=is_start)
    play_out(game, rng)
    faulted = game.faulted
    honest = [place for seat, place in enumerate(game.result.places) if seat not in faulted]
    assert all(game.result.places[seat] > place for seat in faulted for place in honest)
    doc = record_of(game)
    record.verify(doc)
    assert record.unpack(record.pack(doc)) == doc
    moves = [move for hand in doc["hands"] for move in hand["moves"]]
    again = replay(rules, seats, seed, [""] * seats, moves, doc["faults"])
    assert record_of(again) == doc
    assert again.log_for(0) == game.log_for(0)


def test_replay_refuses_a_faulted_seat_that_plays_on():
    with pytest.raises(InvalidRecord, match="autopilot"):
        replay(Rules.preset(), 3, bytes(32), [""] * 3, ["k0"], [{"seat": 1, "kind": "crash", "turn": 1}])


@pytest.mark.parametrize(
    "fault",
    [
        {"seat": 9, "kind": "crash", "turn": 1},
        {"seat": 1, "kind": "bored", "turn": 1},
        {"seat": 1, "kind": "crash", "turn": 7},
        {"seat": 1, "kind": "crash", "turn": -1},
    ],
    ids=["seat", "kind", "turn-to-come", "turn-before-all"],
)
def test_replay_refuses_faults_that_have_no_place(fault):
    with pytest.raises(InvalidRecord):
        replay(Rules.preset(), 3, bytes(32), [""] * 3, ["d", "d"], [fault])
