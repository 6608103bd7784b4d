"""What each viewer may see: two games that differ only in what he cannot know look the same to him."""

import json
import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from games.engine import Feed, Game, IllegalMove, Rules
from games.engine.log import CallLapsed, Reshuffled, is_move
from games.engine.shuffle import Shuffler
from tests.games.engine_games import any_rules, finished, moves_of, opening, play_out, seat_counts, seeds, vector

policies = st.integers(0, 2**32)


def play_with_secret_calls_left_out(game, viewer, rng, limit):
    """Play on; others call only where a call says nothing about their cards."""
    while game.decision is not None and limit:
        legal = game.legal()
        if game.decision.seat != viewer and game.rules.calls == "valid":
            legal = [move for move in legal if not move.endswith("!")]
        calls = [move for move in legal if move.endswith("!")]
        game.play(rng.choice(calls if calls and rng.random() < 0.3 else legal))
        limit -= 1


def seen_by(game, viewer):
    """Return the cards of the present hand that a viewer has seen, by the engine's own log."""
    hand = game._hand
    dealt = hand.log[0]
    seen = {card for seat in range(game.seats) for card in dealt.up(seat)}
    seen |= set() if viewer is None else set(dealt.down(viewer))
    for entry in hand.log[1:]:
        if is_move(entry):
            seat, move, drew, out = entry
            shown = {"k": {out}, "s": {drew}}.get(move[0], set())
            seen |= shown if seat != viewer else shown | {drew}
    if viewer is not None and viewer == hand.seat:
        seen.add(hand.drawn)
    if hand.kind == "pick":
        seen |= {card for cards in hand.down for card in cards}
    return seen - {None}


def swapped(game, viewer, rng):
    """Return the other world: the same game, but for the cards of this hand that the viewer has not seen."""
    unseen = [card for card in range(80) if card not in seen_by(game, viewer)]
    other = dict(zip(unseen, rng.sample(unseen, len(unseen)), strict=True))
    hand_no = game._hand.no

    class SwappedShuffler(Shuffler):
        def deal(self, hand):
            deck = super().deal(hand)
            return [other.get(card, card) for card in deck] if hand == hand_no else deck

    class SwappedGame(Game):
        def _new_shuffler(self):
            return SwappedShuffler(self.server_seed, self.player_seeds)

    twin = SwappedGame(game.rules, game.seats, game.server_seed, game.player_seeds)
    for hand in game._hands:
        for move in hand.moves:
            twin.play(move)
    return twin


def facts(game):
    """Return what everybody is told besides cards: whose call stood or lapsed, and what is to be decided."""
    return game.decision, [entry for entry in game._log if isinstance(entry, (CallLapsed, Reshuffled))], game.totals


def everything_for(game, viewer):
    """Return all that leaves the engine for one viewer, as it would be sent."""
    sent = {"view": game.view(viewer), "log": game.log_for(viewer), "own": game.log_for(viewer, own_draws=True)}
    if viewer is not None:
        feed = Feed(viewer)
        sent["feed"] = feed.messages(game)
        if viewer in game.playing:
            sent["resumed"] = [Feed(viewer).resume(game), *feed.messages(game)]
    return json.dumps(sent)


@given(any_rules(), seat_counts, seeds, policies, st.integers(0, 150), st.integers(-1, 3))
@settings(max_examples=150, deadline=None)
def test_two_worlds_look_the_same(rules, seats, seed, policy, made, place):
    viewer = None if place < 0 else place % seats
    rng = random.Random(policy)
    game = Game(rules, seats, seed)
    play_with_secret_calls_left_out(game, viewer, rng, made)
    assume(game.decision is not None)
    try:
        twin = swapped(game, viewer, rng)
    except IllegalMove:
        # What another seat could decide (to show, say) was itself a fact about its cards.
        assume(False)
    assume(facts(twin) == facts(game))
    assert everything_for(twin, viewer) == everything_for(game, viewer)
    if viewer == game.decision.seat:
        assert twin.legal() == game.legal()


def test_two_worlds_do_differ_in_what_is_hidden():
    game = Game(Rules.preset(), 3, bytes(32))
    twin = swapped(game, 1, random.Random(1))
    assert everything_for(twin, 1) == everything_for(game, 1)
    assert twin.view(1, revealed=True) != game.view(1, revealed=True)
    assert twin.view(2) != game.view(2)
    assert everything_for(twin, 0) != everything_for(game, 0)
    assert twin.log_for(1, revealed=True) != game.log_for(1, revealed=True)


def test_a_view_of_the_first_turn():
    game = opening(vector("records.jsonl")[0])
    up = [["8s", "2h", "3d", "Ac"], ["3h", "8d", "Tc", "8h"]]
    assert game.view(1) == {
        "hand": 1,
        "dealer": 0,
        "seats": 2,
        "you": 1,
        "decision": 1,
        "to_act": 1,
        "kind": "turn",
        "down": [["??"] * 4, ["Th", "3d", "8c", "2c"]],
        "up": up,
        "drawn": "9d",
        "discard": None,
        "discards": 0,
        "stock": 63,
        "call": None,
        "totals": [0, 0],
        "eliminated": [],
        "faulted": [],
        "coops": [[None] * 4, [True, False, True, False]],
    }
    assert game.view(None)["drawn"] == game.view(0)["drawn"] == "??"
    assert game.view(None)["down"] == [["??"] * 4] * 2 and game.view(None)["you"] is None
    assert game.view(0)["down"] == [["2s", "Ts", "9h", "2c"], ["??"] * 4]


def test_a_discarded_card_is_seen_by_nobody():
    game = Game(Rules.preset(), 3, bytes(32))
    game.play("d")
    for viewer in (None, 0, 1, 2):
        assert game.view(viewer)["discard"] == "??"
        assert game.log_for(viewer)[-1] == {"seat": 1, "move": "d"}
    assert game.view(None, revealed=True)["discard"] != "??"


@given(any_rules(), seat_counts, seeds, policies)
@settings(max_examples=25, deadline=None)
def test_the_log_grows_by_the_same_entries_for_everyone(rules, seats, seed, policy):
    rng = random.Random(policy)
    game = Game(rules, seats, seed)
    logs = {viewer: game.log_for(viewer) for viewer in [None, *range(seats)]}
    while game.decision is not None:
        play_out(game, rng, limit=1)
        for viewer, log in logs.items():
            log += game.log_for(viewer, len(log))
    for viewer, log in logs.items():
        assert len(log) == len(game.log)
        assert log == game.log_for(viewer)
        public = [{key: value for key, value in entry.items() if key != "down"} for entry in log]
        assert public == [{key: value for key, value in entry.items() if key != "down"} for entry in logs[None]]
    assert logs[None][0]["event"] == "hand" and logs[None][-1]["event"] == "game_end"
    assert game.movers() == [entry["seat"] for entry in logs[None] if "move" in entry]


def test_all_cards_are_open_when_the_game_is_over_and_at_a_pick():
    over = finished(Rules.preset(target=1), 3)
    assert "??" not in json.dumps(over.view(None)["down"]) and over.view(None)["decision"] is None
    picking = opening(vector("records.jsonl")[8])
    for move in moves_of(vector("records.jsonl")[8]):
        if picking.decision.kind == "pick":
            break
        picking.play(move)
    assert "??" not in json.dumps(picking.view(None)["down"])
    assert picking.view(None)["drawn"] is None


def test_views_are_copies():
    game = Game(Rules.preset(), 2, bytes(32))
    game.view(1)["up"][0].clear()
    game.log_for(1)[0]["up"][0].clear()
    assert game.view(1)["up"][0] and game.log_for(1)[0]["up"][0] and game.legal()


@pytest.mark.parametrize("viewer", [None, 0, 1])
def test_views_are_json(viewer):
    game = Game(Rules.preset(), 2, bytes(32))
    assert json.loads(json.dumps(game.view(viewer))) == game.view(viewer)
