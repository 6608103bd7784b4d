"""How often the test of `play --duplicate` is wrong while it is looked at after every set, and how soon it decides.

    python tests/bench/bench_sequential.py [RUNS [SETS]]

False alarms: RUNS runs (10,000) of SETS sets (300) between two that are alike, and whether one was ever named better.
Power: how many sets it takes where one is better, and how many a test of fixed size needs to find it in 4 of 5 series.
"""

import math
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from operator import mul
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from games.sequential import BETS, EVEN, LEVEL, Duel

# Shares of a set with how often each comes up. Those of the house bots were counted in 166 sets of spoiler and careful
# and in 55 sets of these two with counter and random, and weighted until the mean is a half.
ALIKE = {
    "two bots, luck alone": {0.0: 25, 0.5: 50, 1.0: 25},
    "near-normal, in eighths": {share / 8: math.comb(8, share) for share in range(9)},
    "skewed: many small wins, rare whitewashes": {0.625: 80, 0.0: 20},
    "skewed the other way": {0.375: 80, 1.0: 20},
    "two house bots, centred": {0.0: 7, 0.5: 59, 1.0: 100},
    "four house bots, centred": {0.125: 1, 0.25: 8, 0.375: 2, 0.5: 22, 0.625: 2, 0.75: 12, 0.875: 1, 1.0: 7},
    "a set is always split": {0.5: 1},
}


def centred(shape: Mapping[float, float]) -> dict[float, float]:
    """Return the shape with weights times a power of the share's exponential, such that the mean is a half."""
    low, high = -20.0, 20.0
    while True:
        tilt = (low + high) / 2
        weights = {share: weight * math.exp(tilt * (share - EVEN)) for share, weight in shape.items()}
        mean = sum(share * weight for share, weight in weights.items()) / sum(weights.values())
        if abs(mean - EVEN) < 1e-12 or high - low < 1e-12:
            return weights
        low, high = (tilt, high) if mean < EVEN else (low, tilt)


def until_decided(rng: random.Random, shape: Mapping[float, float], sets: int) -> tuple[int, int | None]:
    """Play up to so many sets; return how many it took and who was named. Looks after each, and agrees with Duel."""
    stakes = {
        share: [1 + bet * (2 * share - 1) for side in (1, -1) for bet in (b * side for b in BETS)] for share in shape
    }
    grown, half = [1.0] * (2 * len(BETS)), len(BETS)
    needed = 2 * half / LEVEL
    seen: list[float] = []
    better = None
    for share in rng.choices(list(shape), list(shape.values()), k=sets):
        seen.append(share)
        grown = list(map(mul, grown, stakes[share]))
        if max(sum(grown[:half]), sum(grown[half:])) >= needed:
            better = int(sum(grown[:half]) < needed)
            break
    duel = Duel()
    for share in seen:
        duel.add(share)
    assert duel.better() == better, (duel.verdict(), better)
    return len(seen), better


def false_alarms(runs: int, sets: int) -> None:
    """Print for each shape in how many of the runs one of two that are alike was ever named better."""
    print(f"false alarms in {runs:,} runs of {sets} sets, looked at after every set, at level {LEVEL}")
    for name, counted in ALIKE.items():
        rng, shape = random.Random(name), centred(counted)
        alarms = sum(until_decided(rng, shape, sets)[1] is not None for _ in range(runs))
        print(f"  {name:45} {100 * alarms / runs:.2f} %")


def power(runs: int) -> None:
    """Print for differences of several sizes how many sets it took to name the better one."""
    print(f"sets until decided, {runs} series each (two bots, two games a set)")
    for elo in (400, 200, 100, 50, 35):
        won = 1 / (1 + 10 ** (-elo / 400))
        shape = {0.0: (1 - won) ** 2, EVEN: 2 * won * (1 - won), 1.0: won**2}
        took = _took(random.Random(elo), shape, runs)
        print(f"  {elo:4} Elo ({100 * won:.0f} % of games)  {_told(took)}, a fixed test {_fixed_size(won, shape)}")
    took = _took(random.Random("house"), {0.0: 7, 0.5: 59, 1.0: 100}, runs)
    print(f"  spoiler and careful as counted above  {_told(took)}")


def _took(rng: random.Random, shape: Mapping[float, float], runs: int) -> list[int]:
    found = [until_decided(rng, shape, 20_000) for _ in range(runs)]
    assert all(better == 0 for _, better in found), "the worse one was named, or none"
    return [sets for sets, _ in found]


def _told(took: Sequence[int]) -> str:
    return f"median {statistics.median(took):.0f}, 4 of 5 within {sorted(took)[len(took) * 4 // 5 - 1]}"


def _fixed_size(mean: float, shape: Mapping[float, float]) -> int:
    """Return the sets for a two-sided 5 % test of 80 % power, by the normal approximation."""
    spread = sum(weight * (share - mean) ** 2 for share, weight in shape.items())
    return math.ceil((1.960 + 0.842) ** 2 * spread / (mean - EVEN) ** 2)


if __name__ == "__main__":
    asked = [int(text) for text in sys.argv[1:]]
    false_alarms(*(asked + [10_000, 300][len(asked) :]))
    power(100)
