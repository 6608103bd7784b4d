"""Who plays in a round and who sits out: pure, on plain values.

Whoever sat out most stands first in the line, and before his equals who was left over last time. So
nobody sits out more than once oftener than anybody else, nor more than once running unless a flood of
newcomers stands before him, and then twice.

What is compared is an account, not a bare count. Who has never been in a round opens it with the most
that anybody has: he neither makes up for rounds that were before his time, nor goes before those who
wait already. Who was away, paused or in a long match, keeps his own, but at least the most less one:
of the next that sit out he may be the first, once, and then he is level.

An owner who has more entries than there are tables must leave some of them out, however the others
fare. His entries take turns among themselves, and are no measure for the others' accounts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Contender:
    """An entry that may be paired now. Ids are not negative."""

    entry: int
    rating: float  # or fitted strength: Elo scale
    owner: int | None = None  # None for a house bot, which may meet any other
    met: int = 0  # its pairings so far, with those that are being played
    recent: tuple[int, ...] = ()  # whom it met lately, newest first; who was met twice may stand there twice
    byes: int | None = None  # its account of rounds sat out; None for one that was in no round yet
    waited: int = 0  # rounds running in which it was left over
    sat: tuple[int, ...] = ()  # by seat, how often it sat there

    @property
    def group(self) -> int:
        """What sits at a table once only: an owner, or a house bot by itself."""
        return -1 - self.entry if self.owner is None else self.owner


def accounts(contenders: Iterable[Contender], *, seats: int) -> dict[int, int]:
    """Return by entry how often it counts as having sat out before this round."""
    here = list(contenders)
    tables = table_count(here, seats)
    sizes = Counter(one.group for one in here)
    # The owners with too many entries each by themselves, all others together.
    company = {one.entry: one.group if sizes[one.group] > tables else None for one in here}
    most: dict[int | None, int] = defaultdict(int)
    for one in here:
        most[company[one.entry]] = max(most[company[one.entry]], one.byes or 0)
    return {one.entry: _account(one, most[company[one.entry]]) for one in here}


def _account(one: Contender, most: int) -> int:
    return most if one.byes is None else max(one.byes, most - 1)


def line_up(contenders: Iterable[Contender], *, seats: int, lots: Random) -> list[Contender]:
    """Return the contenders, who is to play first first, by lot among equals, whatever order they came in."""
    line = sorted(contenders, key=lambda one: one.entry)
    lots.shuffle(line)
    account = accounts(line, seats=seats)
    # Of equals whoever has never been in a round: its owner was told that it plays in the next one.
    return sorted(line, key=lambda one: (-account[one.entry], -one.waited, one.byes is not None))


def table_count(contenders: Sequence[Contender], seats: int) -> int:
    """Return how many full tables are possible.

    T tables take at most T of each owner, and any T * seats entries with no more than T of one
    owner can be laid out (always seat those first who have as many left as there are tables).
    """
    sizes = Counter(one.group for one in contenders).values()
    low, high = 0, len(contenders) // seats
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(size, middle) for size in sizes) >= middle * seats:
            low = middle
        else:
            high = middle - 1
    return low


def first_in(line: Iterable[Contender], *, tables: int, seats: int) -> list[Contender]:
    """Return the tables * seats that play: the first of the line, but no more than `tables` of one owner."""
    taken: Counter[int] = Counter()
    chosen: list[Contender] = []
    for one in line:
        if len(chosen) < tables * seats and taken[one.group] < tables:
            taken[one.group] += 1
            chosen.append(one)
    return chosen
