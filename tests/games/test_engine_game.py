"""Games: the vectors replayed, and what holds of every game under every mixture of rules."""

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from games.engine import Game, IllegalMove, Rules, replay
from games.engine.cards import NAMES, SORTED_DECK
from games.engine.notation import ALL_MOVES
from tests.games.engine_games import (
    any_rules,
    finished,
    moves_of,
    opening,
    play_out,
    record_of,
    seat_counts,
    seeds,
    some_move,
    state,
    vector,
)

RECORDS = vector("records.jsonl")
policies = st.integers(0, 2**32)


@pytest.mark.parametrize("doc", RECORDS, ids=lambda doc: doc["id"])
def test_vector_games_reach_every_figure(doc):
    game = opening(doc)
    for move in moves_of(doc):
        game.play(move)
    again = record_of(game)
    for expected, found in zip(doc["hands"], again["hands"], strict=True):
        assert found == expected
    assert again["result"] == doc["result"]
    assert game.decision is None and game.legal() == () and game.autopilot() is None


@pytest.mark.parametrize("number", range(len(RECORDS)), ids=[doc["id"] for doc in RECORDS])
def test_legal_moves_are_those_of_the_vectors(number):
    cases = {(case["hand"], case["moves_before"]): case for case in vector("legal.json") if case["record"] == number}
    doc = RECORDS[number]
    game = opening(doc)
    for hand in doc["hands"]:
        for made, move in enumerate(hand["moves"]):
            case = cases.pop((hand["no"], made), None)
            if case is not None:
                decision = game.decision
                table = game.view(decision.seat)
                assert list(game.legal()) == case["legal"]
                assert decision.seat == case["seat"]
                assert table["drawn"] == case["drawn"]
                assert (table["call"] or {"seat": None})["seat"] == case["call"]
            game.play(move)
    assert not cases


def written_rules_allow(game, move):
    """Say whether the rule book allows `move`, by its sentences and the names of the cards alone."""
    hand, rules = game._hand, game.rules
    if hand.kind == "call":
        return move in ("show", "go")
    if hand.kind == "pick":
        if rules.scoring == "one":
            return move in ("p*---", "p-*--", "p--*-", "p---*")
        return len(move) == 5 and move[0] == "p" and set(move[1:]) <= {"0", "1"}
    seat, drawn = hand.seat, NAMES[hand.drawn]
    down = [NAMES[card] for card in hand.down[seat]]
    text, calls = move.removesuffix("!"), move.endswith("!")
    if text[0] == "s" and text != "show":
        other, slot = int(text[1]), int(text[2])
        if other == seat or other >= game.seats or other in game.eliminated:
            return False
        if NAMES[hand.up[other][slot]][0] == "A" and not (rules.ace_guard == "ten" and drawn[0] == "T"):
            return False
        if other == hand.caller and hand.shield == 0:
            return False
    elif text[0] == "k":
        down[int(text[1])] = drawn
    elif text != "d":
        return False
    if not calls:
        return True
    if hand.caller >= 0:
        return False
    up = [NAMES[card] for card in hand.up[seat]]
    return rules.calls == "any" or all(coop_holds(rules, u, d) for u, d in zip(up, down, strict=True))


def coop_holds(rules, up, down):
    """Say whether a coop is valid, by the rule book's sentences."""
    if up[0] == "A" or (down[0] == "A" and rules.aces == "either"):
        return up[0] != down[0]
    if rules.coop_colour == "same" and (up[1] in "hd") != (down[1] in "hd"):
        return False
    order = "A23456789T"
    is_lower = order.index(up[0]) < order.index(down[0])
    return is_lower if up[1] in "hd" else order.index(up[0]) > order.index(down[0])


PLAIN = [*(f"k{slot}" for slot in range(4)), *(f"s{seat}{slot}" for seat in range(4) for slot in range(4)), "d"]
PICKS = sorted({*("p" + f"{number:04b}" for number in range(16)), "p*---", "p-*--", "p--*-", "p---*"})
IN_ORDER = [*(text for move in PLAIN for text in (move, move + "!")), "show", "go", *PICKS]
JUNK = ["", "!", "k4", "k0!!", "s40", "S00", "k0 ", "show!", "go!", "p", "p00000", "p2000", "p****"]
NO_TEXT = [None, 7, True, ["d"], {}]


@settings(max_examples=40, deadline=None)
@given(any_rules(), seat_counts, seeds, policies)
def test_legal_is_exact_and_anything_else_changes_nothing(rules, seats, seed, policy):
    rng = random.Random(policy)
    game = Game(rules, seats, seed)
    while game.decision is not None and game.decisions_made < 150:
        legal = game.legal()
        assert list(legal) == [move for move in IN_ORDER if written_rules_allow(game, move)]
        if rng.random() < 0.1:
            before = state(game)
            for move in [*ALL_MOVES, *JUNK, *NO_TEXT]:
                if move not in legal:
                    with pytest.raises(IllegalMove):
                        game.play(move)
            assert state(game) == before
            for move in legal:
                game.copy().play(move)
            assert state(game) == before
        game.play(some_move(game, rng))


@given(any_rules(), seat_counts, seeds, policies)
@settings(max_examples=60, deadline=None)
def test_the_eighty_cards_are_conserved_and_hands_are_bounded(rules, seats, seed, policy):
    rng = random.Random(policy)
    game = Game(rules, seats, seed)
    while game.decision is not None:
        hand = game._hand
        held = [card for cards in [*hand.down, *hand.up, hand.stock[hand.at :], hand.discards] for card in cards]
        assert sorted([*held, *([] if hand.drawn is None else [hand.drawn])]) == list(SORTED_DECK)
        turns = sum(move[0] in "ksd" and move != "show" for move in hand.moves)
        assert turns <= (rules.max_reshuffles + 1) * (80 - 8 * len(hand.order))
        game.play(some_move(game, rng))
    assert game.result is not None


@given(any_rules(), seat_counts, seeds, policies)
@settings(max_examples=40, deadline=None)
def test_every_ending_follows_the_rules(rules, seats, seed, policy):
    game = finished(rules, seats, seed, policy)
    result = game.result
    assert result.how == rules.end
    if rules.end == "hands":
        assert len(game._hands) == rules.hands
    elif rules.end == "target":
        assert max(result.totals) >= rules.target
        assert all(max(hand.totals) < rules.target for hand in game._hands)
    else:
        assert sum(total < rules.target for total in result.totals) <= 1
        assert all(sum(total < rules.target for total in hand.totals) > 1 for hand in game._hands)
    best = [seat for seat in range(seats) if result.places[seat] == 1]
    if rules.end != "elimination":
        assert best == [seat for seat in range(seats) if result.totals[seat] == min(result.totals)]
    assert len(best) == sorted(result.places).count(1) >= 1


@given(any_rules(), seat_counts, seeds, policies)
@settings(max_examples=25, deadline=None)
def test_replay_is_the_same_game(rules, seats, seed, policy):
    game = finished(rules, seats, seed, policy)
    moves = [move for hand in game._hands for move in hand.moves]
    again = replay(rules, seats, seed, [""] * seats, moves)
    assert state(again) == state(game)
    assert record_of(again) == record_of(game)
    cut = len(moves) // 2
    part = replay(rules, seats, seed, [""] * seats, moves[:cut])
    assert part.decision.id == cut + 1 == part.decisions_made + 1
    assert game.log_for(None, revealed=True)[: len(part.log)] == part.log_for(None, revealed=True)


@given(any_rules(), seat_counts, seeds, policies, st.integers(0, 200))
@settings(max_examples=25, deadline=None)
def test_a_copy_goes_its_own_way(rules, seats, seed, policy, made):
    game = play_out(Game(rules, seats, seed), random.Random(policy), limit=made)
    assume(game.decision is not None)
    before = state(game)
    twin = game.copy()
    assert state(twin) == before
    play_out(twin, random.Random(policy + 1))
    assert state(game) == before
    assert twin.decisions_made > game.decisions_made


def test_replay_refuses_moves_after_the_end():
    game = finished(Rules.preset("classic", target=1), 2)
    moves = [move for hand in game._hands for move in hand.moves]
    with pytest.raises(IllegalMove, match="the game is over"):
        replay(game.rules, 2, bytes(32), ["", ""], [*moves, "d"])


@pytest.mark.parametrize("seats", [-1, 0, 1, 5])
def test_other_numbers_of_players_are_refused(seats):
    with pytest.raises(ValueError, match="2 to 4 seats"):
        Game(Rules.preset(), seats, bytes(32))


@pytest.mark.parametrize("player_seeds", [[], [""], ["", "", ""]])
def test_each_player_has_one_seed(player_seeds):
    with pytest.raises(ValueError, match="2 player seeds"):
        Game(Rules.preset(), 2, bytes(32), player_seeds)


def test_player_seeds_change_the_cards():
    one, other = (Game(Rules.preset(), 2, bytes(32), ["", seed]).view(0)["up"] for seed in ("", "x"))
    assert one != other


def test_the_deal_passes_over_eliminated_players():
    doc = next(doc for doc in RECORDS if doc["rules"]["end"] == "elimination" and len(doc["seats"]) == 4)
    out = set()
    for hand, following in zip(doc["hands"], doc["hands"][1:], strict=False):
        out = {seat for seat, total in enumerate(hand["end"]["totals"]) if total >= doc["rules"]["target"]}
        left = next(seat % 4 for seat in range(hand["dealer"] + 1, hand["dealer"] + 5) if seat % 4 not in out)
        assert following["dealer"] == left
    assert out
