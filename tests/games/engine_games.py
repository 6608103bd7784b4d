"""Games for the engine's tests: vectors, rules of every mixture, and play by a seeded policy."""

import json
import random
from pathlib import Path

from hypothesis import strategies as st

from games.engine import Game, Rules, fixed_seats, record
from games.engine.hand import Hand

VECTORS = Path(__file__).parents[1] / "fixtures" / "vectors"
PLAYED = "2026-11-30T09:15:00Z"


def vector(name):
    """Return a vector file's content; of JSON lines a list."""
    text = (VECTORS / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if name.endswith(".jsonl") else json.loads(text)


def opening(doc):
    """Return the undecided game that a record starts from."""
    fairness = doc["fairness"]
    seed = bytes.fromhex(fairness["server_seed"])
    return Game(Rules.from_json(doc["rules"]), len(doc["seats"]), seed, fairness["player_seeds"])


def moves_of(doc):
    """Return all decisions of a record."""
    return [move for hand in doc["hands"] for move in hand["moves"]]


@st.composite
def any_rules(draw, **fixed):
    """Draw rules of every mixture of options, with ends that come soon."""
    end = draw(st.sampled_from(["target", "elimination", "hands"]))
    options = {
        "coop_colour": draw(st.sampled_from(["any", "same"])),
        "aces": draw(st.sampled_from(["either", "front"])),
        "ace_guard": draw(st.sampled_from(["ten", "always"])),
        "calls": draw(st.sampled_from(["valid", "any"])),
        "caller_shield": draw(st.sampled_from([0, 1, 2, None])),
        "scoring": draw(st.sampled_from(["every", "one"])),
        "ace_values": draw(st.sampled_from([(1,), (1, 11)])),
        "century_bonus": draw(st.booleans()),
        "end": end,
        "target": draw(st.integers(1, 110)),
        "hands": draw(st.integers(1, 3)) if end == "hands" else None,
        "max_reshuffles": draw(st.integers(0, 2)),
        "picks": draw(st.sampled_from(["best", "player"])),
    }
    return Rules.preset(draw(st.sampled_from(["classic", "common", "inventor"])), **{**options, **fixed})


seeds = st.binary(min_size=32, max_size=32)
seat_counts = st.integers(2, 4)
policies = st.integers(0, 2**32)


def some_move(game, rng):
    """Return a legal move: the autopilot's if there is one, else random, with calls as likely as not."""
    pilot = game.autopilot()
    if pilot is not None:
        return pilot
    legal = game.legal()
    calls = [move for move in legal if move.endswith("!") or move == "show"]
    return rng.choice(calls if calls and rng.random() < 0.5 else legal)


def play_out(game, rng, *, limit=None):
    """Play up to `limit` decisions, or to the end."""
    while game.decision is not None and limit != 0:
        game.play(some_move(game, rng))
        limit = None if limit is None else limit - 1
    return game


def finished(rules, seats, seed=bytes(32), policy=0):
    """Return a game played to its end."""
    return play_out(Game(rules, seats, seed), random.Random(policy))


def record_of(game, *, ms=None, seating=None):
    """Return the record of a finished game."""
    seats = [{"name": f"player{seat}", "kind": "bot"} for seat in range(game.seats)]
    seating = seating or fixed_seats(game.seats)
    return record.build(game, id="test", played=PLAYED, seats=seats, seating=seating, ms=ms)


def state(game):
    """Return everything that a game holds, for comparison."""
    rules = ("_setting", "_decks", "setting", "decks")
    hand = {name: getattr(game._hand, name) for name in Hand.__slots__ if name not in rules}
    rest = {name: value for name, value in vars(game).items() if name not in ("_hand", "_past", *rules)}
    return repr((sorted(hand.items()), sorted(rest.items()), len(game._hands)))
