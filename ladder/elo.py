"""The Elo scale: expected scores, and what a pairing's places change. Pure arithmetic.

It reads no database and rounds nothing; ratings.py keeps the books.
"""

import math
from collections.abc import Sequence

SCALE = 400.0  # rating points that make the odds ten to one


def expected(rating: float, other: float) -> float:
    """Return the share of the point that `rating` is expected to take from `other`, in (0, 1).

    Source: Elo 1978, 8.41 (logistic form).
    """
    return 1.0 / (1.0 + math.pow(10.0, (other - rating) / SCALE))


def score(place: int, other: int) -> float:
    """Return what one entry took from another: 1 ahead of it, ½ level with it, 0 behind it."""
    if place == other:
        return 0.5
    return 1.0 if place < other else 0.0


def change(ratings: Sequence[float], places: Sequence[int], k: Sequence[float]) -> list[float]:
    """Return each entry's Elo change, by pairwise comparison of places.

    All inputs have shape (n,), n >= 2; place 1 is best and equal places tie. With equal `k` the
    changes sum to zero. The order of the entries does not matter, to the last bit. Source: Elo
    1978, 8.41, extended to n players by averaging over the n - 1 pairs.

    Raises:
        ValueError: the shapes differ, or n < 2.
    """
    n = len(ratings)
    if n < 2 or len(places) != n or len(k) != n:
        raise ValueError(f"expected ratings, places and k of one length, two at least: {n}, {len(places)}, {len(k)}")
    return [
        k[i]
        / (n - 1)
        # fsum rounds once, so that the sum is the same whoever comes first.
        * math.fsum(score(places[i], places[j]) - expected(ratings[i], ratings[j]) for j in range(n) if j != i)
        for i in range(n)
    ]
