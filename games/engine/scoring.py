"""What a hand costs its losers, and who takes which place (rules 8, 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .cards import ACE, RANK, Card
from .notation import PICKS_EVERY, PICKS_ONE
from .rules import Rules

CENTURY = 100
CENTURY_BONUS = 50


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


def picked_cards(pick: str, down: Sequence[Card], up: Sequence[Card]) -> list[Card]:
    """Return the cards that a pick counts: `0` down, `1` up, `*` both of the coop, `-` none."""
    cards: list[Card] = []
    for choice, down_card, up_card in zip(pick[1:], down, up, strict=True):
        if choice in "0*":
            cards.append(down_card)
        if choice in "1*":
            cards.append(up_card)
    return cards


def score(rules: Rules, *, down: Sequence[Card], up: Sequence[Card], total: int, pick: str) -> Score:
    """Return what `pick` comes to for a player who has `total` so far (rules 8)."""
    ranks = [RANK[card] for card in picked_cards(pick, down, up)]
    lowest = sum(ranks)
    # Each ace counts whichever value gives the lowest resulting total, so any number of them may be raised.
    raised = [0]
    if len(rules.ace_values) > 1:
        step = rules.ace_values[1] - rules.ace_values[0]
        raised = [step * aces for aces in range(ranks.count(ACE) + 1)]
    return min((_with_bonus(rules, total, lowest + extra, pick) for extra in raised), key=lambda found: found.total)


def _with_bonus(rules: Rules, total: int, points: int, pick: str) -> Score:
    reached = total + points
    bonus = CENTURY_BONUS if rules.century_bonus and points and reached % CENTURY == 0 else 0
    return Score(pick, points, bonus, reached - bonus)


def best_score(rules: Rules, *, down: Sequence[Card], up: Sequence[Card], total: int) -> Score:
    """Return the pick with the lowest resulting total; among equals the smallest string."""
    scores = (score(rules, down=down, up=up, total=total, pick=pick) for pick in picks_of(rules))
    return min(scores, key=lambda found: (found.total, found.pick))


def rank_places(keys: Sequence[Any]) -> list[int]:
    """Return each key's place, lowest first; equal keys share one, as in `1 2 2 4`."""
    return [1 + sum(other < key for other in keys) for key in keys]
