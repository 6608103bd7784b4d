"""What looks odd in a ladder's results, by arithmetic alone: for a person to look at, never to punish by.

Every test compares what happened with what ratings expect, and with how the same entries fare elsewhere, so that who
is merely rated wrong does not look odd. What is summed up are residuals: the share of the point (1, ½, 0) that one took
from another, less the share that Elo expects. Pure; no Django.

Each kind of test may be wrong about one ladder in a hundred a run (`LEVEL`), however many entries it has: the level is
divided by the number of tests (Bonferroni). The variances are not estimated but bounded: a score within [0, 1]
whose mean is E has at most the variance E (1 - E) (Bhatia and Davis 2000). So ties and
luck make the tests more careful, not less.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import NamedTuple

from ladder.elo import expected, score

LEVEL = 0.01  # of each kind of test
FEWEST = 20  # meetings, or tables, on either side of a comparison


class Row(NamedTuple):
    """One entry at a table: how it was rated when it sat down, and its place."""

    entry: int
    rating: float
    place: int


@dataclass
class Sums:
    """Residuals: how many, their sum, and a bound on the variance of that sum."""

    n: int = 0
    residuals: float = 0.0
    variance: float = 0.0

    def add(self, residual: float, expectation: float) -> None:
        """Take in one residual of a score that was expected to be `expectation`, in [0, 1]."""
        self.n += 1
        self.residuals += residual
        self.variance += expectation * (1 - expectation)

    def without(self, other: "Sums") -> "Sums":
        """Return these without some of them."""
        return Sums(self.n - other.n, self.residuals - other.residuals, self.variance - other.variance)

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.n + other.n, self.residuals + other.residuals, self.variance + other.variance)

    @property
    def mean(self) -> float:
        """The mean residual."""
        return self.residuals / self.n if self.n else 0.0

    @property
    def error2(self) -> float:
        """The square of the mean's standard error."""
        return self.variance / self.n**2 if self.n else math.inf


class Oddity(NamedTuple):
    """Two that fare otherwise together than apart. `third` is who had to be there for it, or None.

    `gap` is by how much of a point per meeting, `z` how many standard errors that is, `limit` how many are odd.
    """

    kind: str  # margin | losses | company
    entry: int
    other: int
    third: int | None
    meetings: int
    gap: float
    z: float
    limit: float


@dataclass
class Tally:
    """Sums over tables. Keys are entries; of a pair the lower comes first, unless it says otherwise."""

    owners: Mapping[int, int | None]
    pair: dict[tuple[int, int], Sums] = field(default_factory=lambda: defaultdict(Sums))
    third: dict[tuple[int, int, int], Sums] = field(default_factory=lambda: defaultdict(Sums))
    """Of the pair (a, b), with c there."""
    own: dict[int, Sums] = field(default_factory=lambda: defaultdict(Sums))
    """Of a's mean at a table, over tables."""
    beside: dict[tuple[int, int], Sums] = field(default_factory=lambda: defaultdict(Sums))
    """Of a's own, where b sat; (a, b) and (b, a) are two."""
    joint: dict[tuple[int, int], Sums] = field(default_factory=lambda: defaultdict(Sums))
    """Of the pair's, against the rest of the table."""

    def add(self, table: Sequence[Row]) -> None:
        """Take in one table of 2 to 4."""
        rows = sorted(table)
        shares = {
            (a.entry, b.entry): (score(a.place, b.place), expected(a.rating, b.rating))
            for a in rows
            for b in rows
            if a is not b
        }
        ids = [row.entry for row in rows]
        for i, a in enumerate(ids):
            self._add_own(a, ids, shares)
            for b in ids[i + 1 :]:
                won, due = shares[a, b]
                self.pair[a, b].add(won - due, due)
                rest = [c for c in ids if c not in (a, b)]
                for c in rest:
                    self.third[a, b, c].add(won - due, due)
                if rest:
                    self.joint[a, b].add(*_mean([shares[one, c] for one in (a, b) for c in rest]))

    def _add_own(self, a: int, ids: Sequence[int], shares: Mapping[tuple[int, int], tuple[float, float]]) -> None:
        mean = _mean([shares[a, b] for b in ids if b != a])
        self.own[a].add(*mean)
        for b in ids:
            if b != a:
                self.beside[a, b].add(*mean)

    def apart(self, a: int, b: int) -> Sums:
        """Return how a fares at tables without b."""
        return self.own[a].without(self.beside[a, b])


def _mean(shares: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean residual, and the mean expectation, of (score, expectation) pairs."""
    won, due = (sum(column) / len(shares) for column in zip(*shares, strict=True))
    return won - due, due


def tally(tables: Iterable[Sequence[Row]], owners: Mapping[int, int | None]) -> Tally:
    """Sum up tables. `owners` says whose each entry is; None for a house bot."""
    found = Tally(owners)
    for table in tables:
        found.add(table)
    return found


def oddities(found: Tally) -> list[Oddity]:
    """Return all that looks odd, the oddest first."""
    odd = [*_odd(_margins(found), sides=2), *_odd(_losses(found), sides=1), *_odd(_company(found), sides=1)]
    return sorted(odd, key=lambda one: -abs(one.z))


def _odd(tested: list[Oddity], *, sides: int) -> list[Oddity]:
    """Return those of these tests that exceed what their number allows; of a pair the oddest."""
    if not tested:
        return []
    limit = NormalDist().inv_cdf(1 - LEVEL / sides / len(tested))
    oddest: dict[tuple[int, int], Oddity] = {}
    for one in sorted(tested, key=lambda one: abs(one.z)):
        if (abs(one.z) if sides == 2 else one.z) > limit:
            oddest[one.entry, one.other] = one._replace(limit=limit)
    return list(oddest.values())


def _margins(found: Tally) -> list[Oddity]:
    """Test each pair's margin with each third party at the table against that without."""
    tested = []
    for (a, b, c), there in found.third.items():
        away = found.pair[a, b].without(there)
        if there.n >= FEWEST and away.n >= FEWEST:
            tested.append(_test("margin", a, b, there, there.mean - away.mean, there.error2 + away.error2, third=c))
    return tested


def _losses(found: Tally) -> list[Oddity]:
    """Test whether one loses to an account's entries more than the two are worth elsewhere. House bots are left out."""
    met: dict[tuple[int, int], list[tuple[int, Sums]]] = defaultdict(list)
    for (a, b), sums in found.pair.items():
        if None in (found.owners[a], found.owners[b]):
            continue
        met[a, found.owners[b] or 0].append((b, sums))
        met[b, found.owners[a] or 0].append((a, Sums(sums.n, -sums.residuals, sums.variance)))
    tested = []
    for (loser, _), rows in met.items():
        together = sum((sums for _, sums in rows), Sums())
        # Of several entries of an account none may sit beside another, so their tables are different ones.
        away = found.own[loser]
        theirs = Sums()
        for other, _ in rows:
            away = away.without(found.beside[loser, other])
            theirs += found.apart(other, loser)
        if min(together.n, away.n, theirs.n) < FEWEST:
            continue
        gap = (away.mean - theirs.mean) - together.mean
        most_met = max(rows, key=lambda row: (row[1].n, -row[0]))[0]
        error2 = together.error2 + away.error2 + theirs.error2
        tested.append(_test("losses", loser, most_met, together, gap, error2))
    return tested


def _company(found: Tally) -> list[Oddity]:
    """Test whether two take more from the rest of a table together than each does apart."""
    tested = []
    for (a, b), joint in found.joint.items():
        one, other = found.apart(a, b), found.apart(b, a)
        if min(joint.n, one.n, other.n) < FEWEST:
            continue
        gap = joint.mean - (one.mean + other.mean) / 2
        tested.append(_test("company", a, b, joint, gap, joint.error2 + (one.error2 + other.error2) / 4))
    return tested


def _test(
    kind: str, entry: int, other: int, sums: Sums, gap: float, error2: float, *, third: int | None = None
) -> Oddity:
    z = gap / math.sqrt(error2) if error2 > 0 else 0.0
    return Oddity(kind, entry, other, third, sums.n, gap, z, math.inf)
