"""Picks, aces, the century bonus and places."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games.engine import Rules
from games.engine.cards import RANK, parse_card
from games.engine.scoring import best_score, picks_of, rank_places, score
from tests.games.engine_games import any_rules, vector


def cards(names):
    return [parse_card(name) for name in names]


@pytest.mark.parametrize("case", vector("picks.json"), ids=lambda case: f"{case['preset']}-{case['pick']}")
def test_best_picks_are_those_of_the_vectors(case):
    found = best_score(
        Rules.preset(case["preset"]), down=cards(case["down"]), up=cards(case["up"]), total=case["total"]
    )
    assert found == (case["pick"], case["points"], case["bonus"], case["new_total"])


def values_of(pick, down, up):
    """Yield every list of values that a pick may count, each ace taken as 1 and as 11 in turn."""
    chosen = [d for c, d in zip(pick[1:], down, strict=True) if c in "0*"]
    chosen += [u for c, u in zip(pick[1:], up, strict=True) if c in "1*"]
    yield from product(*[(1, 11) if RANK[card] == 1 else (RANK[card],) for card in chosen])


four = st.lists(st.integers(0, 79), min_size=4, max_size=4)


@given(any_rules(), four, four, st.integers(0, 300))
@settings(deadline=None)
def test_best_pick_is_the_minimum_over_everything_that_may_be_picked(rules, down, up, total):
    outcomes = []
    for pick in picks_of(rules):
        for values in values_of(pick, down, up):
            if 11 in values and rules.ace_values == (1,):
                continue
            reached = total + sum(values)
            bonus = 50 if rules.century_bonus and reached % 100 == 0 else 0
            outcomes.append((reached - bonus, pick, sum(values), bonus))
    total_after, pick, points, bonus = min(outcomes)
    assert best_score(rules, down=down, up=up, total=total) == (pick, points, bonus, total_after)
    assert score(rules, down=down, up=up, total=total, pick=pick) == (pick, points, bonus, total_after)


def test_picks_are_ascending():
    for rules in (Rules.preset("classic"), Rules.preset("common")):
        assert list(picks_of(rules)) == sorted(picks_of(rules))


@pytest.mark.parametrize(
    ("totals", "places"),
    [([5, 3, 9], [2, 1, 3]), ([1, 2, 2, 4], [1, 2, 2, 4]), ([7, 7], [1, 1]), ([3, 3, 1, 3], [2, 2, 1, 2])],
)
def test_equal_totals_share_a_place(totals, places):
    assert rank_places(totals) == places
