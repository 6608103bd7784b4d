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


def exchange(ratings: Sequence[float], places: Sequence[int], k: Sequence[float]) -> list[list[float]]:
    """Return what each entry takes from each other one: `K/(n - 1) * (S - E)`, shape (n, n), zero on the diagonal.

    The sum of a row is the entry's `change`, but for the last bits. Arguments as in `change`.
    """
    n = len(ratings)
    return [
        [
            k[i] / (n - 1) * (score(places[i], places[j]) - expected(ratings[i], ratings[j])) if j != i else 0.0
            for j in range(n)
        ]
        for i in range(n)
    ]


def total(points: Sequence[float]) -> float:
    """Return the sum of points, rounded once: the same whoever comes first."""
    return math.fsum(points)


def within_cap(
    points: Sequence[Sequence[float]], balances: Sequence[Sequence[float | None]], cap: float
) -> list[list[float]]:
    """Return `points` with each pair's exchange cut so that no balance leaves [-cap, cap]; shape (n, n).

    `points` are of `exchange`. `balances[i][j]` is what i has won on balance from the owner of j so far that day; a
    pair in which either is None exchanges freely. Losses are bounded as gains are, and both sides of a pair are cut by
    one factor, the smaller of what the two have room for: were only the gain cut, the loser would go on paying
    what nobody receives, and every day of farming would drain the pool. So, with equal K, what one
    gains is what the other loses, capped or not, and the sum of all ratings does not drift; with unequal K
    the pair's gain and loss keep the ratio that they have without a cap.
    """
    n = len(points)
    return [[points[i][j] * _share(points, balances, cap, i, j) for j in range(n)] for i in range(n)]


def _share(
    points: Sequence[Sequence[float]], balances: Sequence[Sequence[float | None]], cap: float, i: int, j: int
) -> float:
    """Return the part of what i and j would exchange that both have room for, in [0, 1]."""
    mine, theirs = balances[i][j], balances[j][i]
    if mine is None or theirs is None:
        return 1.0
    return min(_room(points[i][j], mine, cap), _room(points[j][i], theirs, cap))


def _room(points: float, balance: float, cap: float) -> float:
    room = max(0.0, cap - balance if points > 0 else cap + balance)
    return 1.0 if abs(points) <= room else room / abs(points)
