"""Records: built, verified against every lie, packed and cut into frames."""

import copy
import json
import random
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.engine import Game, InvalidRecord, Rules, draw_seats, record
from tests.games.engine_games import (
    PLAYED,
    any_rules,
    finished,
    moves_of,
    opening,
    play_out,
    record_of,
    seat_counts,
    seeds,
    vector,
)

RECORDS = vector("records.jsonl")
REFUSED = vector("refused.jsonl")
NAMES = [doc["id"] for doc in RECORDS]


@pytest.mark.parametrize("doc", RECORDS, ids=NAMES)
def test_vector_records_hold(doc):
    record.verify(doc)


@pytest.mark.parametrize("case", REFUSED, ids=[f"{number}-{case['lie']}" for number, case in enumerate(REFUSED)])
def test_lies_are_refused(case):
    with pytest.raises(InvalidRecord):
        record.verify(case["record"])


@pytest.mark.parametrize("doc", RECORDS, ids=NAMES)
def test_a_built_record_is_the_vector(doc):
    game = play_moves(doc)
    fairness = doc["fairness"]
    seating = draw_seats(game.server_seed, fairness["player_seeds"])
    if doc["seating"]["how"] == "fixed":
        seating = record.fixed_seats(game.seats)
    built = record.build(game, id=doc["id"], played=doc["played"], seats=doc["seats"], seating=seating)
    assert built == doc


def play_moves(doc):
    game = opening(doc)
    for move in moves_of(doc):
        game.play(move)
    return game


@pytest.mark.parametrize("doc", RECORDS, ids=NAMES)
def test_packed_records_come_back_small(doc):
    data = record.pack(doc)
    assert data[0] == 1
    assert record.unpack(data) == doc
    assert len(data) < len(json.dumps(doc)) / 15


@given(any_rules(), seat_counts, seeds, st.integers(0, 2**32), st.booleans(), st.booleans())
@settings(max_examples=40, deadline=None)
def test_records_of_any_game_hold_and_come_back(rules, seats, seed, policy, is_drawn, has_ms):
    game = finished(rules, seats, seed, policy)
    rng = random.Random(policy)
    ms = [rng.choice([0, 1, 3, 127, 128, 70_000]) for _ in range(game.decisions_made)] if has_ms else None
    seating = draw_seats(seed, [""] * seats) if is_drawn else None
    doc = record_of(game, ms=ms, seating=seating)
    record.verify(doc)
    assert json.loads(json.dumps(doc)) == doc
    data = record.pack(doc)
    assert data[0] == 1 and record.unpack(data) == doc


def a_doc():
    return copy.deepcopy(RECORDS[2])


def test_records_with_keys_of_their_own_come_back_too():
    doc = {**a_doc(), "event": "a friendly", "seats": [{**seat, "club": None} for seat in a_doc()["seats"]]}
    record.verify(doc)
    assert record.unpack(record.pack(doc)) == doc


@pytest.mark.parametrize("case", REFUSED[::6], ids=lambda case: case["lie"])
def test_a_lie_is_packed_as_it_is(case):
    data = record.pack(case["record"])
    assert record.unpack(data) == case["record"]
    with pytest.raises(InvalidRecord):
        record.verify(record.unpack(data))


def test_hands_of_which_only_some_have_times_come_back():
    doc = a_doc()
    doc["hands"][0]["ms"] = [5] * len(doc["hands"][0]["moves"])
    record.verify(doc)
    assert record.unpack(record.pack(doc)) == doc


@given(st.binary(max_size=60))
@settings(max_examples=100, deadline=None)
def test_noise_is_no_packed_record(noise):
    for head in (b"", b"\x01", b"\x02"):
        with pytest.raises(InvalidRecord):
            record.unpack(head + noise)


def test_damaged_packed_records_are_refused_or_give_no_record():
    data = record.pack(a_doc())
    for cut in range(0, len(data), 7):
        with pytest.raises(InvalidRecord):
            record.unpack(data[:cut])
    rng = random.Random(1)
    for _ in range(150):
        damaged = bytearray(data)
        damaged[rng.randrange(1, len(data))] ^= 1 << rng.randrange(8)
        try:
            found = record.unpack(bytes(damaged))
        except InvalidRecord:
            continue
        assert isinstance(found, dict)


def test_an_unfinished_game_has_no_record():
    with pytest.raises(ValueError, match="a decision is pending"):
        record_of(Game(Rules.preset(), 2, bytes(32)))


def test_lists_of_another_length_are_refused():
    game = finished(Rules.preset(target=1), 2)
    with pytest.raises(ValueError, match="times"):
        record_of(game, ms=[0])
    with pytest.raises(ValueError, match="2 seats"):
        record.build(game, id="x", played=PLAYED, seats=[], seating=record.fixed_seats(2))


def lie(doc, path, value):
    """Put `value` at `path`, the keys joined by dots; `...` takes the key away."""
    *way, last = [int(key) if key.lstrip("-").isdigit() else key for key in path.split(".")]
    place = doc
    for key in way:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value


ODD = [None, True, 1.0, 1, -1, "x", "", [], {}, [[]], [None], {"x": 1}, 10**5000, "é\ud800"]
PATHS = [
    *("format", "id", "played", "rules", "rules.preset", "rules.target", "rules.ace_values", "rules.caller_shield"),
    *("rules.picks", "seats", "seats.0", "seats.0.name", "seats.0.kind", "seating", "seating.how", "fairness"),
    *("fairness.scheme", "fairness.commitment", "fairness.server_seed", "fairness.player_seeds"),
    *("fairness.player_seeds.1", "hands", "hands.3", "hands.3.no", "hands.3.dealer", "hands.3.deck"),
    *("hands.3.deck.79", "hands.3.reshuffles", "hands.3.moves", "hands.3.moves.2", "hands.3.end", "hands.3.end.how"),
    *("hands.3.end.winner", "hands.3.end.picks", "hands.3.end.picks.0", "hands.3.end.points", "hands.3.end.points.0"),
    *("hands.3.end.bonus.0", "hands.3.end.totals", "hands.3.end.totals.1", "faults", "faults.0", "faults.0.seat"),
    *("faults.0.kind", "faults.0.hand", "faults.0.turn", "faults.0.detail", "result", "result.how"),
    *("result.totals", "result.totals.0", "result.places", "result.places.3"),
]
FREE = {"id", "seats.0.name", "faults.0.detail"}  # any text will do
NO_DIFFERENCE = {"rules.caller_shield": None}  # in this game nobody came up against the shield


def with_a_fault():
    game = Game(Rules.preset(target=70), 4, bytes(32))
    play_out(game, random.Random(1), limit=30)
    game.fault(2, "crash", reason="exit status 1")
    return record_of(play_out(game, random.Random(2)))


@pytest.mark.parametrize("path", PATHS)
def test_whatever_stands_in_a_place_only_the_truth_holds(path):
    true = with_a_fault()
    record.verify(true)
    for value in [*ODD, ...]:
        doc = copy.deepcopy(true)
        lie(doc, path, value)
        is_true = value is None and path in NO_DIFFERENCE
        is_free = path in FREE and isinstance(value, str) and (value or path != "id")
        if is_true or is_free or repr_or_none(doc) == repr_or_none(true):
            continue
        with pytest.raises(InvalidRecord) as refusal:
            record.verify(doc)
        assert len(str(refusal.value)) < 400 and "\n" not in str(refusal.value)


def repr_or_none(doc):
    try:
        return repr(doc)
    except ValueError:  # the number that is too long to print
        return None


@pytest.mark.parametrize("doc", [None, [], "", 0, {}, {"format": "soureh-record/2"}, float("nan")], ids=repr)
def test_what_is_no_record_is_refused(doc):
    with pytest.raises(InvalidRecord):
        record.verify(doc)


@pytest.mark.parametrize(
    ("path", "value", "where"),
    [
        ("hands.0.moves.2", "s99", "hand 1, move 3: expected one of k0"),
        ("hands.3.deck.5", "??", "hand 4: deck, item 6"),
        ("hands.3.end.how", "washout", "hand 4: end.how"),
        ("faults.0.hand", 1, "fault 1: hand"),
        ("result.how", "void", "void"),
        ("rules.colour", "red", "unknown option"),
        ("fairness.commitment", "0" * 64, "commitment"),
        ("hands.3.ms", [0], "hand 4: ms"),
        ("played", "2026-13-01T00:00:00Z", "played"),
        ("seats.1.entrant", 0, "seat 1: entrant"),
        ("seats.1.sha256", "abc", "seat 1: sha256"),
        ("hands.3.moves.0", 3, "hand 4: moves, item 1: expected a string"),
    ],
)
def test_a_refusal_says_where(path, value, where):
    doc = with_a_fault()
    lie(doc, path, value)
    with pytest.raises(InvalidRecord) as refusal:
        record.verify(doc)
    assert where in str(refusal.value)


def test_a_move_too_many_or_too_few_is_refused():
    for change, where in [(lambda moves: moves.append("d"), "the hand is over"), (list.pop, "the hand is not over")]:
        doc = a_doc()
        change(doc["hands"][4]["moves"])
        with pytest.raises(InvalidRecord, match=f"hand 5, move .*{where}"):
            record.verify(doc)


def test_a_hand_too_many_is_refused():
    doc = a_doc()
    doc["hands"].append(doc["hands"][-1])
    with pytest.raises(InvalidRecord, match="expected no more hands"):
        record.verify(doc)


def test_a_faulted_seat_that_plays_by_itself_is_refused():
    doc = with_a_fault()
    game = opening(doc)
    applied = False
    for hand in doc["hands"]:
        for number, move in enumerate(hand["moves"]):
            if game.decisions_made + 1 == doc["faults"][0]["turn"]:
                game.fault(2, "crash")
                applied = True
            if applied and game.decision.seat == 2 and game.decision.kind == "turn":
                hand["moves"][number] = "k0"
                with pytest.raises(InvalidRecord, match="autopilot"):
                    record.verify(doc)
                return
            game.play(move)
    raise AssertionError("the faulted seat had no turn")


@pytest.mark.parametrize("doc", [*RECORDS, with_a_fault()], ids=[*NAMES, "with-a-fault"])
def test_frames_show_every_decision(doc):
    hands = record.frames(doc)
    assert len(hands) == len(doc["hands"])
    for number, (strip, hand) in enumerate(zip(hands, doc["hands"], strict=True), 1):
        assert [frame["move"] for frame in strip] == [None, *hand["moves"]]
        assert all(frame["view"]["hand"] == number for frame in strip)
        assert all(frame["event"] == frame["events"][-1] for frame in strip)
        assert strip[0]["events"][0]["event"] == "hand"
        assert all("??" not in json.dumps(frame["view"]) for frame in strip)
        assert strip[-1]["view"]["decision"] is None
        assert strip[-1]["view"]["totals"] == hand["end"]["totals"]
        ended = [event for event in strip[-1]["events"] if event.get("event") == "hand_end"]
        assert [event["end"] for event in ended] == [hand["end"]["how"]]
        for frame, following in zip(strip, strip[1:], strict=False):
            assert following["seat"] == frame["view"]["to_act"]
            made = [event for event in following["events"] if "move" in event]
            assert [(event["seat"], event["move"]) for event in made] == [(following["seat"], following["move"])]
    assert hands[-1][-1]["event"]["event"] == "game_end"


def test_frames_have_the_times():
    game = finished(Rules.preset(target=1), 2)
    doc = record_of(game, ms=list(range(game.decisions_made)))
    assert [frame["ms"] for strip in record.frames(doc) for frame in strip[1:]] == list(range(game.decisions_made))


def test_a_packed_decision_takes_less_than_a_byte():
    sizes = []
    for policy in range(12):
        game = finished(Rules.preset(), 4, bytes([policy]) * 32, policy)
        sizes.append(len(record.pack(record_of(game))) / game.decisions_made)
    assert median(sizes) < 1
