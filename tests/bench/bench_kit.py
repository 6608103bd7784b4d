"""How long the kit takes to deal what a seat cannot see: `python tests/bench/bench_kit.py`.

Two classic games of four house bots, one turn in seven measured, the best of many tries each. `first` is a turn's first
sample, with what is worked out once; `each` and `trusting` are every later one, without trust and with 0.9.
"""

import statistics
import sys
import timeit
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from games.engine import Game, Rules
from games.kit import soureh_bot
from tests.games.kit_tables import house, play_game

ONE_IN = 7
NAMES = ("careful", "spoiler", "counter", "careful")


def best_us(do: Callable[[], object], number: int) -> float:
    """Return the fewest microseconds that one call took, of twenty series of calls."""
    return min(timeit.repeat(do, number=number, repeat=20)) / number * 1e6


def main() -> None:
    """Measure and print."""
    rng = Random(1)
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)

    def first(turn: soureh_bot.Turn) -> None:
        turn._unknown = None
        turn.sample(rng)

    def watch(_game: Game, turn: soureh_bot.Turn) -> None:
        if turn.is_pick or turn.id % ONE_IN:
            return
        key = "a call has vouched" if any(map(any, turn.hand.proved)) else "no call"
        figures = (
            best_us(lambda: first(turn), 1),
            best_us(lambda: turn.sample(rng), 10),
            best_us(lambda: turn.sample(rng, trust=0.9), 10),
        )
        found[key].append(figures)

    for seed in ("one", "two"):
        play_game(Rules.preset("classic", target=100), [house(name) for name in NAMES], seed, watch=watch)
    for key, rows in sorted(found.items()):
        means = [statistics.mean(column) for column in zip(*rows, strict=True)]
        print(f"{key}: {len(rows)} turns; first {means[0]:.0f} us, each {means[1]:.0f} us, trusting {means[2]:.0f} us")


if __name__ == "__main__":
    main()
