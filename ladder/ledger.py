"""What a log of pairings makes of ratings: the ledger's arithmetic, one pairing after the other.

Pure: it reads and writes no row, and imports no Django. `ratings` keeps the books by it, pairing for
pairing, and `replay` goes through a whole log by the same functions, so that both reach the same figures to the last
bit. Figures are full-precision floats; nothing here rounds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import combinations
from typing import NamedTuple

from ladder import elo

RECENT = 20  # pairings


@dataclass(frozen=True)
class Terms:
    """How a ladder counts; the fields are named as in Ladder."""

    k_new: float
    k_settled: float
    settled_after: int
    daily_cap: float | None

    def k(self, pairings: int) -> float:
        """Return the K of an entry with so many rated pairings."""
        return self.k_new if pairings < self.settled_after else self.k_settled


class Figures(NamedTuple):
    """What the ledger says of one entry; the fields are named as in Entry."""

    rating: float
    pairings: int = 0
    won: int = 0
    drawn: int = 0
    place_sum: int = 0
    recent_ratings: tuple[float, ...] = ()
    """The ratings before its last RECENT pairings and after each of them, oldest first."""


class Line(NamedTuple):
    """What one pairing does to one entry; the fields are named as in RatingChange."""

    nth: int
    place: int
    k: float
    before: float
    after: float
    capped: float  # what the daily cap withheld: the change without it, less the change


class Balance(NamedTuple):
    """What an entry won on balance against one other owner, on the last day (UTC) on which they met."""

    day: date
    points: float


class Met(NamedTuple):
    """How two entries fared against each other; the fields are named as in Meeting."""

    pairings: int = 0
    ahead: int = 0
    level: int = 0


class Sitter(NamedTuple):
    """One entry at a table: its id, and its owner's (None for a house bot)."""

    entry: int
    owner: int | None


@dataclass
class Books:
    """Where entries stand. `figures` must hold every entry that sits down; the rest grows as entries meet."""

    figures: dict[int, Figures]
    balances: dict[tuple[int, int], Balance] = field(default_factory=dict)  # by entry and other owner
    meetings: dict[tuple[int, int], Met] = field(default_factory=dict)  # by entry and other entry, in order

    def book(self, terms: Terms, table: Sequence[Sitter], places: Sequence[int], day: date) -> list[Line]:
        """Enter one pairing's result and return what it does, by entrant.

        `table` and `places` are by entrant, 2 to 4 of them; `day` is that of its rating, in UTC.
        """
        stood = [self.figures[one.entry] for one in table]
        k = [terms.k(one.pairings) for one in stood]
        plain = elo.change([one.rating for one in stood], places, k)
        changes = plain
        if terms.daily_cap is not None:
            changes = self._capped(terms.daily_cap, table, places, k, plain, day)
        firsts = sum(place == 1 for place in places)
        lines = []
        for i, (one, place) in enumerate(zip(stood, places, strict=True)):
            after = one.rating + changes[i]
            lines.append(Line(one.pairings + 1, place, k[i], one.rating, after, plain[i] - changes[i]))
            self.figures[table[i].entry] = Figures(
                rating=after,
                pairings=one.pairings + 1,
                won=one.won + (place == 1 and firsts == 1),
                drawn=one.drawn + (place == 1 and firsts > 1),
                place_sum=one.place_sum + place,
                recent_ratings=(*(one.recent_ratings or (one.rating,)), after)[-RECENT - 1 :],
            )
        self._meet(table, places)
        return lines

    def _capped(
        self,
        cap: float,
        table: Sequence[Sitter],
        places: Sequence[int],
        k: Sequence[float],
        plain: Sequence[float],
        day: date,
    ) -> list[float]:
        """Return the changes under the daily cap, and keep the day's balances."""
        points = elo.exchange([self.figures[one.entry].rating for one in table], places, k)
        balances = [[self._balance(one, other, day) for other in table] for one in table]
        taken = elo.within_cap(points, balances, cap)
        for one, of_day, row in zip(table, balances, taken, strict=True):
            for other, balance, gain in zip(table, of_day, row, strict=True):
                if balance is not None and other.owner is not None:
                    self.balances[one.entry, other.owner] = Balance(day, balance + gain)
        return [plain[i] if taken[i] == points[i] else elo.total(taken[i]) for i in range(len(table))]

    def _balance(self, one: Sitter, other: Sitter, day: date) -> float | None:
        """Return the day's balance of one against the other's owner; None where none is kept."""
        if one is other or one.owner is None or other.owner is None:
            return None
        kept = self.balances.get((one.entry, other.owner))
        return kept.points if kept and kept.day == day else 0.0

    def _meet(self, table: Sequence[Sitter], places: Sequence[int]) -> None:
        for (one, place), (other, others) in pairs(table, places):
            met = self.meetings.get((one, other), Met())
            self.meetings[one, other] = Met(
                met.pairings + 1, met.ahead + (place < others), met.level + (place == others)
            )


def pairs(table: Sequence[Sitter], places: Sequence[int]) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield every two of a table as (entry, place) each, the lower entry first."""
    return combinations(sorted((one.entry, place) for one, place in zip(table, places, strict=True)), 2)
