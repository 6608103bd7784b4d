"""How moves are written, and sets of moves as integers (rules 4, 6, 8)."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from itertools import chain, product
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
    """A move: `kind` is k, s, d, show, go or p.

    `seat` is the opponent of a swap and `slot` that of a keep or a swap, -1 where there is
    none; `pick` has a character for each slot of a pick.
    """

    kind: str
    seat: int
    slot: int
    calls: bool
    pick: str = ""


def _turn_moves() -> dict[str, Move]:
    plain = {text: Move("k", -1, slot, False) for slot, text in enumerate(KEEP)}
    plain |= {SWAP[seat][slot]: Move("s", seat, slot, False) for seat in range(MAX_SEATS) for slot in SLOTS}
    plain[DISCARD] = Move("d", -1, -1, False)
    return plain | {text + CALL: move._replace(calls=True) for text, move in plain.items()}


TURN_MOVES: dict[str, Move] = _turn_moves()

# Every move there is, in an order that never changes: packed records refer to it by index.
ALL_MOVES: tuple[str, ...] = (*TURN_MOVES, SHOW, GO, *PICKS_EVERY, *PICKS_ONE)


# A set of a turn's moves is an integer with a bit for each move without its call: the swaps by seat and slot, k0 … k3,
# d. What a rule allows or forbids is then a mask, whose rule a name tells: all swaps on seat 2 are 0b1111 << 8.
PLAIN_MOVES: tuple[str, ...] = (*chain.from_iterable(SWAP), *KEEP, DISCARD)
FIRST_KEEP = PLAIN_MOVES.index(KEEP[0])
BIT: dict[str, int] = {text: 1 << number for number, text in enumerate(PLAIN_MOVES)}


def set_of(*texts: str) -> int:
    """Return the set of some of a turn's moves."""
    return sum(BIT[text] for text in texts)


def _listed(texts: Iterable[str], moves: int, calls: int) -> tuple[str, ...]:
    """Return those of `texts` whose bits are in `moves`, from the lowest on, each followed by its call if it may."""
    listed = [(text, text + CALL) if calls >> number & 1 else (text,) for number, text in enumerate(texts)]
    return tuple(text for number, pair in enumerate(listed) if moves >> number & 1 for text in pair)


# A turn always allows all keeps and the discard, and where one swap may call all may. So what `legal` lists is put
# together from few pieces. Where nothing may call they are two: the keeps and the swaps on seats 0 and 1, and the swaps
# on seats 2 and 3 and the discard, each by which swaps are allowed. Else they are four: the keeps, by which of them may
# call; and by whether all else may call, the swaps on either two seats, by which are allowed, and the discard.
_SWAPS_ON_0_1, _SWAPS_ON_2_3 = (
    tuple(tuple(_listed(chain(*seats), moves, calls) for moves in range(256)) for calls in (0, 255))
    for seats in (SWAP[:2], SWAP[2:])
)
_FIRST_HALF = tuple(KEEP + swaps for swaps in _SWAPS_ON_0_1[0])
_SECOND_HALF = tuple((*swaps, DISCARD) for swaps in _SWAPS_ON_2_3[0])
_KEEPS = tuple(_listed(KEEP, 15, calls) for calls in range(16))
_DISCARDS = ((DISCARD,), (DISCARD, DISCARD + CALL))


def moves_of(moves: int, calls: int) -> tuple[str, ...]:
    """Return the moves that a turn allows, and those that may call with it, in the order of the formats."""
    low, high = moves & 255, moves >> 8 & 255
    if not calls:
        return _FIRST_HALF[low] + _SECOND_HALF[high]
    all_call = calls >> 20  # the bit of the discard, the last
    return (
        *_KEEPS[calls >> FIRST_KEEP & 15],
        *_SWAPS_ON_0_1[all_call][low],
        *_SWAPS_ON_2_3[all_call][high],
        *_DISCARDS[all_call],
    )


def parse_move(text: str) -> Move:
    """Return what a move says.

    Raises:
        ValueError: `text` is no move.
    """
    if text in TURN_MOVES:
        return TURN_MOVES[text]
    if text in (SHOW, GO):
        return Move(text, -1, -1, False)
    if text in PICKS_EVERY or text in PICKS_ONE:
        return Move("p", -1, -1, False, text[1:])
    raise ValueError(f"expected a move such as k0, s12!, d, show, go or p0110: {show(text)}")


def format_move(move: Move) -> str:
    """Return how a move is written; the inverse of `parse_move`."""
    place = {"k": f"{move.slot}", "s": f"{move.seat}{move.slot}", "p": move.pick}.get(move.kind, "")
    return move.kind + place + (CALL if move.calls else "")


class IllegalMove(ValueError):
    """A move that is not among the legal ones; nothing was changed."""


def show(value: Any) -> str:
    """Return `value` for an error message: short, on one line, whatever it is."""
    try:
        return reprlib.repr(value)
    except ValueError:  # an integer with more digits than Python cares to print
        return "an enormous number"
