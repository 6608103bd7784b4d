"""Duplicate sets: as many matches as seats on one deal, in each of which everybody sits elsewhere.

Over a set everyone plays everyone's cards. Pure; never imports Django: series on the command line are rotated like
the sets of ladders.
"""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def rotated(entrants: Sequence[T], rotation: int) -> list[T]:
    """Return by seat who sits there in the match number `rotation` (from 0) of a set."""
    seats = len(entrants)
    return [entrants[(seat - rotation) % seats] for seat in range(seats)]


def seat_in_set(entrant: int, *, rotation: int, seats: int) -> int:
    """Return where the set's `entrant` sits in the match number `rotation`; the inverse of `rotated`."""
    return (entrant + rotation) % seats
