"""How long pairing a round takes, and whether it grows as sorting does.

    python tests/bench/bench_pairing.py [ENTRIES]

A round of ENTRIES (2,000) entries with 2, 3 and 4 seats: a field like a ladder's, and three that are hard on it. Each
against 2 s, and against sorting as many entries by rating a hundred times in the same run. Then how the time grows from
a quarter of the entries to all of them: sorting takes some 4.7 times as long, a quadratic algorithm 16 times.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

from ladder.pairing.ladder import Contender, pair

LIMIT_S = 2.0
ROUNDS = 5
SORTS = 100


def ordinary(count: int) -> list[Contender]:
    """Up to three entries of an owner, a tenth of them new, each with its last five opponents of four seats."""
    return _field(count, owner=lambda entry: entry // 3, near=200)


def one_owner(count: int) -> list[Contender]:
    """A quarter of all is one owner's, and they are the strongest: they fill the end of the scale."""
    return _field(count, owner=lambda entry: 0 if entry < count // 4 else None, near=200, by_owner=True)


def acquainted(count: int) -> list[Contender]:
    """Everybody met his nearest neighbours last."""
    return _field(count, owner=lambda entry: None, near=16)


def all_new(count: int) -> list[Contender]:
    """Nobody has played yet: all ratings are the same."""
    return [Contender(entry, 1500.0) for entry in range(count)]


def _field(count: int, *, owner: Callable[[int], int | None], near: int, by_owner: bool = False) -> list[Contender]:
    lots = Random(count)
    ratings = sorted((lots.gauss(1500, 200) for _ in range(count)), reverse=True)
    entries = list(range(count))
    if not by_owner:
        lots.shuffle(entries)
    recent = [
        tuple(entries[min(max(0, place + lots.randint(-near // 2, near // 2)), count - 1)] for _ in range(15))
        for place in range(count)
    ]
    return [
        Contender(
            entry=entry,
            rating=ratings[place],
            owner=owner(entry),
            met=lots.randrange(100),
            recent=tuple(other for other in recent[place] if other != entry),
            byes=lots.randrange(2),
            sat=(lots.randrange(50), lots.randrange(50), lots.randrange(50), lots.randrange(50)),
        )
        for place, entry in enumerate(entries)
    ]


def best_of(call: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the least processor time of some calls, in seconds."""
    took = []
    for _ in range(rounds):
        began = time.process_time()
        call()
        took.append(time.process_time() - began)
    return min(took)


def main() -> None:
    """Print the tables."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"{'field':12} {'seats':>5} {'s':>7} {'limit':>6} {'to sorts':>9} {'growth':>7} {'sorts grow':>10}")
    for make in (ordinary, one_owner, acquainted, all_new):
        whole, quarter = make(count), make(count // 4)
        sorts, few_sorts = best_of(partial(sort, whole)), best_of(partial(sort, quarter))
        for seats in (2, 3, 4):
            took = best_of(partial(pair, whole, seats=seats, seed="bench"))
            less = best_of(partial(pair, quarter, seats=seats, seed="bench"))
            row = f"{make.__name__:12} {seats:5} {took:7.3f} {LIMIT_S:6.1f} {took / sorts:9.1f}"
            print(f"{row} {took / less:7.1f} {sorts / few_sorts:10.1f}{'' if took <= LIMIT_S else '   MISSED'}")


def sort(field: list[Contender]) -> None:
    """Sort a field by rating a hundred times, out of a random order."""
    lots = Random(1)
    mixed = lots.sample(field, len(field))
    for _ in range(SORTS):
        sorted(mixed, key=lambda one: one.rating)


if __name__ == "__main__":
    main()
