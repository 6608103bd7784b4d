"""How moves are written (rules 4, 6, 8; the order of `legal` is that of the tables here)."""

from __future__ import annotations

import reprlib
from itertools import product
from typing import Any, NamedTuple

MAX_SEATS = 4
SLOTS = range(4)

KEEP = tuple(f"k{slot}" for slot in SLOTS)
SWAP = tuple(tuple(f"s{seat}{slot}" for slot in SLOTS) for seat in range(MAX_SEATS))
DISCARD = "d"
CALL = "!"
SHOW = "show"
GO = "go"

# One character a slot; ascending, since "0" < "1" and "*" < "-".
PICKS_EVERY = tuple("p" + "".join(pick) for pick in product("01", repeat=4))
PICKS_ONE = tuple("p" + "-" * slot + "*" + "-" * (3 - slot) for slot in SLOTS)


class Move(NamedTuple):
    """A turn's move: `kind` is k, s or d; `seat` is the opponent of a swap; -1 where it has none."""

    kind: str
    seat: int
    slot: int
    calls: bool


def _turn_moves() -> dict[str, Move]:
    plain = {text: Move("k", -1, slot, False) for slot, text in enumerate(KEEP)}
    plain |= {SWAP[seat][slot]: Move("s", seat, slot, False) for seat in range(MAX_SEATS) for slot in SLOTS}
    plain[DISCARD] = Move("d", -1, -1, False)
    return plain | {text + CALL: move._replace(calls=True) for text, move in plain.items()}


TURN_MOVES: dict[str, Move] = _turn_moves()

# Every move there is, in an order that never changes: packed records refer to it by index.
ALL_MOVES: tuple[str, ...] = (*TURN_MOVES, SHOW, GO, *PICKS_EVERY, *PICKS_ONE)


class IllegalMove(ValueError):
    """A move that is not among the legal ones; nothing was changed."""


def show(value: Any) -> str:
    """Return `value` for an error message: short, on one line, whatever it is."""
    try:
        return reprlib.repr(value)
    except ValueError:  # an integer with more digits than Python cares to print
        return "an enormous number"
