"""In which order those of a table sit: pure, on plain values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from random import Random

from ladder.pairing.line import Contender


def seat(table: Sequence[Contender], *, lots: Random) -> tuple[Contender, ...]:
    """Return those of a table in the order of their seats, so that each has sat everywhere about as often.

    Of all orders the one in which the seats taken have been taken least; by lot among equals. The more
    uneven an entry's past is, the more it weighs: the sum of squares over all its seats grows least.
    """
    mixed = list(table)
    lots.shuffle(mixed)
    return min(permutations(mixed), key=lambda order: sum(_sat(one, number) for number, one in enumerate(order)))


def _sat(one: Contender, number: int) -> int:
    return one.sat[number] if number < len(one.sat) else 0
