"""How often honest ladders look odd, and how soon dishonest ones do.

`python tests/bench/bench_fairplay.py [--ladders 400] [--pairings 1600] [--entries 40] [--seed 1]`. Every simulated
ladder has entries of normal strength (SD 200 Elo), pairs four of them at a time by lot, has the results drawn by
Plackett and Luce with some ties, and moves its Elo ratings as the site does, from the first pairing on: what a day's
report would read. Prints the share of honest ladders with a flag of each kind (5 % at most are asked for, a day and
ladder), and of ladders with one dishonest pair the share in which that pair is flagged.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from ladder import elo, oddities  # noqa: E402  (found from the root)
from ladder.oddities import Oddity, Row  # noqa: E402

SETTLED = 20
TIES = 0.1
# How a dishonest pair (entries 0 and 1) changes what each is worth at this table; values are Elo.
Cheat = Callable[[Sequence[int]], dict[int, float]]


def main() -> None:
    """Simulate and print."""
    parser = argparse.ArgumentParser(description="Count false alarms of the fair play report, and what it finds.")
    parser.add_argument("--ladders", type=int, default=400)
    parser.add_argument("--pairings", type=int, default=1600)
    parser.add_argument("--entries", type=int, default=40)
    parser.add_argument("--seats", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sizes = {"entries": options.entries, "pairings": options.pairings, "seats": options.seats}
    began = time.monotonic()
    alarms = Counter[str]()
    for number in range(options.ladders):
        found = flags(random.Random(f"{options.seed}/{number}"), **sizes)
        alarms.update({one.kind for one in found} | ({"any"} if found else set()))
    print(f"honest: {options.ladders} ladders in {time.monotonic() - began:.0f} s")
    for kind in ("any", "margin", "losses", "company"):
        print(f"  {kind:<8}{alarms[kind] / options.ladders:>7.1%} of the ladders have a flag")
    for name, kind, cheat in CHEATS:
        hits = sum(
            any(one.kind == kind and {one.entry, one.other} == {0, 1} for one in flags(lots, cheat=cheat, **sizes))
            for lots in (random.Random(f"{options.seed}/{name}/{i}") for i in range(max(1, options.ladders // 10)))
        )
        print(f"{name}: {hits / max(1, options.ladders // 10):.0%} found")


def flags(lots: random.Random, *, cheat: Cheat | None = None, **sizes: int) -> list[Oddity]:
    """Return what looks odd in one simulated ladder."""
    owners = dict(enumerate(range(100, 100 + sizes["entries"])))
    return oddities.oddities(oddities.tally(simulate(lots, cheat=cheat, **sizes), owners))


def simulate(
    lots: random.Random, *, entries: int, pairings: int, seats: int, cheat: Cheat | None = None
) -> Iterator[list[Row]]:
    """Yield the settled rows of each pairing; a cheating pair meets at every other table."""
    strengths = [lots.gauss(1500, 200) for _ in range(entries)]
    ratings, counts = [1500.0] * entries, [0] * entries
    for number in range(pairings):
        table = lots.sample(range(entries), seats)
        if cheat and number % 8 == 0:
            table = [0, 1, *lots.sample(range(2, entries), seats - 2)]
        shift = cheat(table) if cheat else {}
        places = _places(lots, [strengths[one] + shift.get(one, 0.0) for one in table])
        rows = [
            Row(one, ratings[one], place) for one, place in zip(table, places, strict=True) if counts[one] >= SETTLED
        ]
        k = [40.0 if counts[one] < 30 else 20.0 for one in table]
        for one, change in zip(table, elo.change([ratings[one] for one in table], places, k), strict=True):
            ratings[one] += change
            counts[one] += 1
        if len(rows) > 1:
            yield rows


def _places(lots: random.Random, strengths: Sequence[float]) -> list[int]:
    """Draw places: exponential times at rates by strength, by which the Elo scale's expectations hold; some tie."""
    times = [lots.expovariate(10 ** (strength / elo.SCALE - 4)) for strength in strengths]
    order = sorted(range(len(times)), key=times.__getitem__)
    places, place = [0] * len(times), 1
    for rank, one in enumerate(order):
        place = place if rank and lots.random() < TIES else rank + 1
        places[one] = place
    return places


def _together(table: Sequence[int]) -> dict[int, float]:
    return {0: 250.0, 1: 250.0} if {0, 1} <= set(table) else {}


def _dumps(table: Sequence[int]) -> dict[int, float]:
    return {0: -600.0} if {0, 1} <= set(table) else {}


CHEATS: list[tuple[str, str, Cheat]] = [
    ("two that play 250 Elo better in each other's company", "company", _together),
    ("one that plays 600 Elo worse where the other sits", "losses", _dumps),
]


if __name__ == "__main__":
    main()
