"""The examples of the engine's documentation, run."""

import doctest

import pytest

import games.engine
from games.engine import Game, Rules, format_move, parse_move
from games.engine.cards import NAMES
from games.engine.notation import ALL_MOVES
from tests.games.engine_games import play_out, random


def test_examples_run():
    failed, tried = doctest.testmod(games.engine)
    assert failed == 0 and tried > 25


def test_every_move_parses_and_formats():
    assert [format_move(parse_move(text)) for text in ALL_MOVES] == list(ALL_MOVES)


@pytest.mark.parametrize("text", ["", "k", "k4", "s40", "s4", "D", "d!!", "show!", "p", "p0120", "p**--", " k0", "k0 "])
def test_what_is_no_move_is_refused(text):
    with pytest.raises(ValueError, match="expected a move"):
        parse_move(text)


def test_game_from_a_deck_is_dealt_from_it_and_goes_on():
    rng = random.Random(7)
    deck = rng.sample(NAMES, 80)
    game = Game.from_deck(Rules.preset("common", target=40), 3, deck, rng)
    view = game.view(None, revealed=True)
    # Dealer 0: seat 1 is dealt first, four down and four up.
    assert (view["down"][1], view["up"][1], view["down"][0]) == (deck[:4], deck[4:8], deck[16:20])
    assert view["drawn"] == deck[24]
    assert play_out(game, rng).result.how == "target"


@pytest.mark.parametrize(
    "deck",
    [
        pytest.param(NAMES[:79], id="one-missing"),
        pytest.param([*NAMES, "As"], id="one-too-many"),
        pytest.param([*NAMES[:79], "As"], id="a-third-ace"),
        pytest.param([*NAMES[:79], "Jc"], id="a-jack"),
    ],
)
def test_game_from_no_deck_is_refused(deck):
    with pytest.raises(ValueError, match="expected"):
        Game.from_deck(Rules.preset("classic"), 2, deck)
