"""Is A better than B? A test that may be looked at after every set and stopped whenever one likes.

It bets against the claim that A is placed ahead of B in no more than half of their games, and
against the reverse. If a claim is true nobody can expect to win such a bet, so whoever has grown
a stake twentyfold has strong evidence against it, however often he looked and whenever he
stopped. Source: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by
betting", J. R. Stat. Soc. B 86 (theorem 3 with the diversified bets of its appendix B), and
Ville's inequality.

What is observed is a set's *share*: of the games of one deal, played from every seat, the part in
which A was placed ahead of B, a tie counting half. It lies between 0 and 1 by the rules, so
nothing is clipped, and faults count as they do on a ladder. All that is asked of the sets is that
none is left out for how it ended and that, after all that came before, a set's expected share is
the same: fresh deals, bots that remember nothing, sets counted in the order in which they are dealt.

The standard library only; nothing here knows of processes, files or Django.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

LEVEL = 0.05
LEAST_LEVEL, MOST_LEVEL = 0.0001, 0.5

EVEN = 0.5
BETS = tuple(0.9 / 2**halvings for halvings in range(6))
"""What part of each sixth of the stake is bet on a set: from large ones, for a whitewash in eight
sets, to small ones, for five Elo in thousands."""

MOST_EVIDENCE = 1_000_000
"""Beyond it evidence is cut off: more would tell nobody more."""


class Verdict(NamedTuple):
    """What is known after some sets.

    `share` is the mean of their shares, `low` and `high` hold the true one but for the level, at
    all times together; None without a set. `better` is 0 for the first of the two, 1 for the
    second, None while that is open. `evidence` is for the one that `leader` names: the stake's
    growth, at most 10⁶, halved since there are two questions. Were it not better, evidence of x
    would come up, ever, in at most 1 of x series.
    """

    sets: int
    share: float | None
    low: float
    high: float
    leader: int
    evidence: float
    better: int | None
    level: float


@dataclass
class Duel:
    """The sets of the first of two against the second: how many had which share.

    `level` is the chance, at most, ever to name a better one wrongly.
    """

    level: float = LEVEL
    shares: Counter[float] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        if not LEAST_LEVEL <= self.level <= MOST_LEVEL:
            raise ValueError(f"expected a level from {LEAST_LEVEL} to {MOST_LEVEL}: {self.level}")

    def add(self, share: float) -> None:
        """Count a set in which the first was ahead in this share of the games, 0 to 1."""
        if not 0 <= share <= 1:
            raise ValueError(f"expected a share from 0 to 1: {share}")
        self.shares[share] += 1

    def evidence(self) -> tuple[float, float]:
        """Return the evidence that the first is better, and that the second is; at most 10⁶."""
        first, second = (log_growth(shares, EVEN) for shares in (self.shares, mirrored(self.shares)))
        return _halved(first), _halved(second)

    def better(self) -> int | None:
        """Return 0 or 1 for the one that is better, or None while that is open."""
        return self._lead()[2]

    def _lead(self) -> tuple[int, float, int | None]:
        """Return who leads, by what evidence, and whether that makes him the better one."""
        evidence = self.evidence()
        leader = evidence.index(max(evidence))
        return leader, evidence[leader], leader if evidence[leader] * self.level >= 1 else None

    def verdict(self) -> Verdict:
        """Return all that is known now."""
        sets = self.shares.total()
        share = sum(value * count for value, count in self.shares.items()) / sets if sets else None
        low, high = self._least(self.shares), 1 - self._least(mirrored(self.shares))
        return Verdict(sets, share, low, high, *self._lead(), self.level)

    def _least(self, shares: Mapping[float, int]) -> float:
        """Return the lower end of the confidence interval: the least mean that is not refuted."""
        mean = sum(value * count for value, count in shares.items()) / max(1, sum(shares.values()))
        refuted, kept = 0.0, mean
        # The growth falls as the mean that is bet against rises; at the observed one it is below 1.
        while kept - refuted > 1e-5:
            middle = (refuted + kept) / 2
            if log_growth(shares, middle) >= math.log(2 / self.level):
                refuted = middle
            else:
                kept = middle
        return refuted


def log_growth(shares: Mapping[float, int], mean: float) -> float:
    """Return the logarithm of what a stake of 1 has become that was bet on the mean share to be above `mean`.

    `mean` is above 0 and below 1. A sixth of the stake is bet by each of BETS, in every set.
    """
    logs = [sum(count * math.log1p(bet * (share / mean - 1)) for share, count in shares.items()) for bet in BETS]
    most = max(logs)
    return most + math.log(sum(math.exp(each - most) for each in logs) / len(logs))


def mirrored(shares: Mapping[float, int]) -> Counter[float]:
    """Return the same sets as the other one sees them."""
    seen: Counter[float] = Counter()
    for share, count in shares.items():
        # Two shares may differ by less than their mirror images can.
        seen[1 - share] += count
    return seen


def _halved(log_growth: float) -> float:
    return min(math.exp(min(log_growth, 700.0)) / 2, MOST_EVIDENCE)


def share_ahead(places: Sequence[Sequence[int]]) -> float:
    """Return in what share of games the first bot was placed ahead of the second; a tie counts half.

    `places` are those of one game by bot, for each game of a set.
    """
    return sum((first < second) + 0.5 * (first == second) for first, second, *_ in places) / len(places)


def tell(verdict: Verdict, names: Sequence[str]) -> str:
    """Return the verdict in plain words; `names` are those of the first and the second."""
    if verdict.share is None:
        return "Not decided: no set was played to its end."
    sets = f"{verdict.sets:,} set{'s' if verdict.sets > 1 else ''}"
    odds = f"{tell_evidence(verdict.evidence)} to 1"
    if verdict.better is None:
        needed = tell_evidence(1 / verdict.level)
        leader = "either" if verdict.share == EVEN else names[verdict.leader]
        return (
            f"Not decided after {sets}: {_tell_share(verdict, names, 0)}. "
            f"Evidence {odds} for {leader}, where {needed} to 1 would decide."
        )
    better, other = names[verdict.better], names[1 - verdict.better]
    return (
        f"{better} is better than {other}: {sets}, evidence {odds}. "
        f"If it were not, evidence this strong would ever come up in at most 1 of "
        f"{tell_evidence(verdict.evidence)} series. {_tell_share(verdict, names, verdict.better)}."
    )


def _tell_share(verdict: Verdict, names: Sequence[str], of: int) -> str:
    assert verdict.share is not None
    ends = (verdict.share, verdict.low, verdict.high)
    share, low, high = ends if of == 0 else (1 - verdict.share, 1 - verdict.high, 1 - verdict.low)
    sure = f"{100 * (1 - verdict.level):g} %"
    return (
        f"{names[of]} was ahead of {names[1 - of]} in {100 * share:.1f} % of their games, a tie counting half "
        f"({sure} interval {100 * low:.1f} % to {100 * high:.1f} %)"
    )


def tell_evidence(evidence: float) -> str:
    """Return evidence in words, rounded down so that it promises no more than it holds."""
    if evidence >= MOST_EVIDENCE:
        return f"{MOST_EVIDENCE:,}"
    # A power of ten in binary may fall short by its last bit.
    evidence += 1e-9
    return f"{math.floor(evidence):,}" if evidence >= 10 else f"{math.floor(10 * evidence) / 10:g}"
