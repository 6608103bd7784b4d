"""What a series of games says about the bots that played them: means, places, Elo, and how sure that is.

Pure arithmetic on plain values; no Django. Elo here compares the bots of one series with one
another and knows nothing of a ladder's ratings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bots.faults import FAULT_KINDS

# The 97.5 % quantile of Student's distribution for 1 to 10 degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
MAX_BLOCKS = 40
# Below what is shown, above what rounding makes.
ALIKE = 1e-6
ELO_PER_E = 400 / math.log(10)

Interval = tuple[float | None, float | None]
UNSURE: Interval = (None, None)


@dataclass(frozen=True)
class Score:
    """One game: totals and places by bot (not by seat), and the set to which it belongs."""

    set_no: int
    points: Sequence[int]
    places: Sequence[int]


Statistic = Callable[[Sequence[Score]], Sequence[float]]


def compare(
    labels: Sequence[str], scores: Sequence[Score], faults: Sequence[Mapping[str, int]]
) -> list[dict[str, Any]]:
    """Return one row per bot, in the order of `labels`: the `bots` of the command's JSON.

    `faults` are counts by kind, by bot. Intervals are 95 %, over sets; with fewer than two sets,
    and where every set says the same, they are [null, null].
    """
    points, points_intervals = estimate(scores, mean_points)
    elo, elo_intervals = estimate(scores, fit_elo)
    return [
        {
            "bot": label,
            "games": len(scores),
            "mean_points": _rounded(points[bot], 2),
            "mean_points_interval": [_rounded(end, 2) for end in points_intervals[bot]],
            "places": [sum(score.places[bot] == place for score in scores) for place in range(1, len(labels) + 1)],
            "faults": {kind: faults[bot].get(kind, 0) for kind in FAULT_KINDS},
            "elo": _rounded(elo[bot], 1),
            "interval": [_rounded(end, 1) for end in elo_intervals[bot]],
        }
        for bot, label in enumerate(labels)
    ]


def mean_points(scores: Sequence[Score]) -> list[float]:
    """Return each bot's mean total at the end of a game."""
    return [sum(points) / len(scores) for points in zip(*(score.points for score in scores), strict=True)]


def fit_elo(scores: Sequence[Score]) -> list[float]:
    """Return each bot's Elo relative to the mean of the field (their sum is 0).

    The Bradley-Terry fit of all pairs in all games (1, ½, 0 by place), with one imagined draw
    between each two bots so that a bot that never lost stays finite. Source: Hunter 2004,
    "MM algorithms for generalized Bradley-Terry models".
    """
    bots = range(len(scores[0].places))
    games = len(scores) + 1
    won = [0.5 * (len(bots) - 1)] * len(bots)
    for score in scores:
        for bot in bots:
            place = score.places[bot]
            won[bot] += sum((place < other) + 0.5 * (place == other) for other in score.places) - 0.5
    strengths = [1.0] * len(bots)
    for _ in range(1000):
        last = strengths
        strengths = [
            won[bot] / sum(games / (last[bot] + last[other]) for other in bots if other != bot) for bot in bots
        ]
        # Only ratios count: the geometric mean is kept at 1, which puts the mean Elo at 0.
        mean = math.exp(sum(map(math.log, strengths)) / len(bots))
        strengths = [strength / mean for strength in strengths]
        if max(abs(new / old - 1) for new, old in zip(strengths, last, strict=True)) < 1e-9:
            break
    return [ELO_PER_E * math.log(strength) for strength in strengths]


def estimate(scores: Sequence[Score], statistic: Statistic) -> tuple[Sequence[float], list[Interval]]:
    """Return a statistic of the games and its 95 % intervals, by the jackknife over sets.

    Sets (a single game is a set of its own) are dealt into at most 40 blocks, and each block is left
    out once. Source: Efron and Tibshirani 1993, chapter 11, with Student's quantile.
    Where every set says the same there is no spread to tell an error from: (None, None).
    """
    values = statistic(scores)
    sets = sorted({score.set_no for score in scores})
    blocks = min(len(sets), MAX_BLOCKS)
    if blocks < 2:
        return values, [UNSURE] * len(values)
    block_of = {set_no: index % blocks for index, set_no in enumerate(sets)}
    without = [statistic([score for score in scores if block_of[score.set_no] != block]) for block in range(blocks)]
    spread = student(blocks - 1) * math.sqrt((blocks - 1) / blocks)
    alike = _alike(scores, statistic)
    intervals: list[Interval] = []
    for bot, value in enumerate(values):
        if alike[bot]:
            intervals.append(UNSURE)
            continue
        left_out = [each[bot] for each in without]
        mean = sum(left_out) / blocks
        half = spread * math.sqrt(sum((each - mean) ** 2 for each in left_out))
        intervals.append((value - half, value + half))
    return values, intervals


def _alike(scores: Sequence[Score], statistic: Statistic) -> list[bool]:
    """Return for each bot whether every set, looked at alone, gives it the same value."""
    by_set: dict[int, list[Score]] = {}
    for score in scores:
        by_set.setdefault(score.set_no, []).append(score)
    alone = zip(*map(statistic, by_set.values()), strict=True)
    return [max(values) - min(values) < ALIKE for values in alone]


def student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's distribution, to within 0.003."""
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    return 1.96 + 2.37 / freedom + 2.8 / freedom**2


def _rounded(value: float | None, digits: int) -> float | None:
    # Adding 0.0 turns -0.0 into 0.0.
    return None if value is None else round(value, digits) + 0.0
