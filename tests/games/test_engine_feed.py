"""The bot protocol's messages, against transcripts made elsewhere."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.engine import Feed, Game, Rules
from tests.games.engine_games import (
    any_rules,
    finished,
    moves_of,
    opening,
    play_out,
    seat_counts,
    seeds,
    some_move,
    vector,
)

RECORDS = vector("records.jsonl")


@pytest.mark.parametrize(
    "transcript", vector("transcripts.jsonl"), ids=lambda t: f"record{t['record']}-seat{t['seat']}"
)
@pytest.mark.parametrize("is_eager", [True, False], ids=["asked-always", "asked-when-due"])
def test_a_seat_is_sent_what_the_transcript_says(transcript, is_eager):
    doc, seat = RECORDS[transcript["record"]], transcript["seat"]
    game, feed = opening(doc), Feed(seat)
    names = [player["name"] for player in doc["seats"]]
    lines = [[">", feed.hello(game, match=doc["id"], names=names)], ["<", {"type": "ready"}]]
    for move in moves_of(doc):
        is_asked = game.decision.seat == seat
        if is_eager or is_asked:
            lines += [[">", message] for message in feed.messages(game)]
        if is_asked:
            lines.append(["<", {"id": game.decision.id, "move": move}])
        game.play(move)
    lines += [[">", message] for message in feed.messages(game)] + [[">", {"type": "bye"}]]
    for found, expected in zip(lines, transcript["lines"], strict=True):
        assert found == expected


def test_a_question_is_put_once():
    game, feed = Game(Rules.preset(), 2, bytes(32)), Feed(1)
    assert [message["type"] for message in feed.messages(game)] == ["hand", "turn"]
    assert feed.messages(game) == []


def test_hello_has_the_limits_it_is_given():
    game = Game(Rules.preset(), 2, bytes(32))
    message = Feed(1).hello(game, match="m", names=["a", "b"], limits={"move_s": 1.0}, resumed=True)
    assert message["limits"] == {"move_s": 1.0} and message["resumed"] is True
    assert "limits" not in Feed(1).hello(game, match="m", names=["a", "b"])


@given(any_rules(), seat_counts, seeds, st.integers(0, 2**32), st.integers(0, 120))
@settings(max_examples=40, deadline=None)
def test_a_resumed_bot_can_rebuild_its_cards(rules, seats, seed, policy, made):
    game = play_out(Game(rules, seats, seed), random.Random(policy), limit=made)
    if game.decision is None:
        return
    for seat in game.playing:
        feed = Feed(seat)
        message = feed.resume(game)
        down, up = list(message["down"]), [list(cards) for cards in message["up"]]
        for event in message["events"]:
            move = event.get("move", "event")
            if move[0] == "k" and event["seat"] == seat:
                assert event["out"] == down[int(move[1])]
                down[int(move[1])] = event["drew"]
            elif move[0] == "s" and move != "show":
                up[int(move[1])][int(move[2])] = event["card"]
            assert ("drew" in event) == (event.get("seat") == seat and move[0] in "ksd" and move != "show")
        table = game.view(seat)
        assert (down, up) == (table["down"][seat], table["up"])
        due = feed.messages(game)
        assert [turn["type"] for turn in due] == (["turn"] if game.decision.seat == seat else [])
        assert all(turn["events"] == [] for turn in due)


@given(any_rules(), seat_counts, seeds, st.integers(0, 2**32), st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_a_resumed_feed_goes_on_like_one_that_never_stopped(rules, seats, seed, policy, made):
    rng = random.Random(policy)
    game = play_out(Game(rules, seats, seed), rng, limit=made)
    if game.decision is None:
        return
    steady, resumed = Feed(game.playing[0]), Feed(game.playing[0])
    steady.messages(game)
    resumed.resume(game)
    resumed.messages(game)
    # What the steady feed has not delivered yet, the resumed one has in its `hand`.
    waiting = len(steady._events)
    expected, found = [], []
    while game.decision is not None:
        game.play(some_move(game, rng))
        expected += steady.messages(game)
        found += resumed.messages(game)
    assert events_of(expected)[waiting:] == events_of(found)
    assert [{**message, "events": 0} for message in expected] == [{**message, "events": 0} for message in found]


def events_of(messages):
    return [event for message in messages for event in message.get("events", [])]


def test_nobody_resumes_a_game_that_is_over():
    game = finished(Rules.preset(target=1), 2)
    with pytest.raises(ValueError, match="still playing"):
        Feed(0).resume(game)


def test_an_eliminated_seat_hears_only_how_hands_end():
    doc = next(doc for doc in RECORDS if doc["id"] == "vector-public-11")
    game, feed = opening(doc), Feed(3)
    types = []
    for move in moves_of(doc):
        was_out = 3 in game.eliminated
        game.play(move)
        new = [message["type"] for message in feed.messages(game)]
        types += new if was_out else []
    assert set(types) == {"hand_end", "game_end"}
