"""What a hand costs its losers, and who takes which place (rules 8, 9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from .cards import ACE, RANK, Card
from .notation import PICKS_EVERY, PICKS_ONE
from .rules import Rules

CENTURY = 100
CENTURY_BONUS = 50
MOST_POINTS = 44  # four aces at eleven


class Score(NamedTuple):
    """What a pick comes to: `points` before the `bonus`, `total` after both."""

    pick: str
    points: int
    bonus: int
    total: int


class HandEnd(NamedTuple):
    """How a hand ended; the lists are by seat, with "" or 0 for whoever did not score."""

    how: str
    winner: int | None
    picks: list[str]
    points: list[int]
    bonus: list[int]
    totals: list[int]


def picks_of(rules: Rules) -> tuple[str, ...]:
    """Return all the picks that the rules allow, ascending."""
    return PICKS_EVERY if rules.scoring == "every" else PICKS_ONE


def _picked_ranks(rules: Rules, down: Sequence[Card], up: Sequence[Card]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield every pick with the ranks that it counts, ascending by pick."""
    coops = [(RANK[down_card], RANK[up_card]) for down_card, up_card in zip(down, up, strict=True)]
    # The product takes face-down before face-up, as the picks take 0 before 1.
    counted: Iterable[tuple[int, ...]] = product(*coops) if rules.scoring == "every" else coops
    return zip(picks_of(rules), counted, strict=True)


def score(rules: Rules, *, down: Sequence[Card], up: Sequence[Card], total: int, pick: str) -> Score:
    """Return what `pick` comes to for a player who has `total` so far (rules 8)."""
    ranks = dict(_picked_ranks(rules, down, up))[pick]
    # The order of the tuples makes the lowest total decide: with it go points and bonus.
    reached, points, bonus = min(_totals(rules, total, ranks))
    return Score(pick, points, bonus, reached)


def best_score(rules: Rules, *, down: Sequence[Card], up: Sequence[Card], total: int) -> Score:
    """Return the pick with the lowest resulting total; among equals the smallest string."""
    if rules.scoring == "every":
        least = number = 0
        for down_card, up_card in zip(down, up, strict=True):
            one, other = RANK[down_card], RANK[up_card]
            # The picks count through in binary.
            least, number = (least + other, 2 * number + 1) if other < one else (least + one, 2 * number)
        needed = CENTURY - total % CENTURY
        if not (rules.century_bonus and least <= needed <= MOST_POINTS and _can_come_to(needed, rules, down, up)):
            # Nothing is gained by more points than one must take.
            return Score(PICKS_EVERY[number], least, 0, total + least)
    reached, pick, points, bonus = min(
        (reached, pick, points, bonus)
        for pick, ranks in _picked_ranks(rules, down, up)
        for reached, points, bonus in _totals(rules, total, ranks)
    )
    return Score(pick, points, bonus, reached)


def _can_come_to(points: int, rules: Rules, down: Sequence[Card], up: Sequence[Card]) -> bool:
    """Whether one card of every coop can come to so many points."""
    high_ace = rules.ace_values[-1]
    sums = 1  # a bit for each sum that can be reached so far
    for down_card, up_card in zip(down, up, strict=True):
        one, other = RANK[down_card], RANK[up_card]
        has_ace = one == ACE or other == ACE
        sums = sums << one | sums << other | (sums << high_ace if has_ace else 0)
    return bool(sums >> points & 1)


def _totals(rules: Rules, total: int, ranks: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return (resulting total, points, bonus) for each number of aces that may count high."""
    lowest = sum(ranks)
    raised: Iterable[int] = (0,)
    if len(rules.ace_values) > 1:
        step = rules.ace_values[1] - rules.ace_values[0]
        raised = range(0, step * ranks.count(ACE) + 1, step)
    found = []
    for extra in raised:
        points = lowest + extra
        reached = total + points
        # Points are added by every pick: no card is worth nothing.
        bonus = CENTURY_BONUS if rules.century_bonus and reached % CENTURY == 0 else 0
        found.append((reached - bonus, points, bonus))
    return found


def rank_places(keys: Sequence[Any]) -> list[int]:
    """Return each key's place, lowest first; equal keys share one, as in `1 2 2 4`."""
    return [1 + sum(other < key for other in keys) for key in keys]
