"""Who meets whom in a ladder's round: pure, on plain values.

Everybody gets a place on the scale of ratings, and neighbours there meet. A settled entry's is its
rating give or take a window with a long tail; a few are sent far away, so that the whole field stays
connected; a new one goes up and down the whole range first, since nobody knows yet where it belongs.
Nobody meets a bot of his own owner, and those met lately are avoided where that is possible. The same
input and seed give the same tables. Beside sorting, the work for each entry is bounded by a window.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from random import Random

from ladder.pairing.line import Contender, accounts, first_in, line_up, table_count
from ladder.pairing.seating import seat

__all__ = ["BURST", "Contender", "accounts", "are_repeats", "pair"]

# The first so many pairings of an entry are spread over the whole range of ratings.
BURST = 10
# Elo: how far a settled entry is moved on average; one in twenty by more than three times that.
WINDOW = 30.0
# So many of the tables have a guest from far away.
FAR = 0.15
# How many that fit are looked at for a seat, and how many tables on each side for an exchange.
LOOK = 24
NEAR_TABLES = 12
# Multiples of it, each less its whole part, are spread evenly however many are taken.
GOLDEN = (5**0.5 - 1) / 2

Table = list[Contender]


def pair(contenders: Iterable[Contender], *, seats: int, seed: str) -> list[tuple[int, ...]]:
    """Return the tables of a round, each a tuple of `seats` entries in the order of their seats.

    As many tables as the owners allow; who is left over sits out (`line` says who). `seed` decides
    among equals.

    Raises:
        ValueError: fewer than two seats, or an entry stands there twice.
    """
    if seats < 2:
        raise ValueError(f"expected two seats at least: {seats}")
    lots = Random(seed)
    line = line_up(contenders, seats=seats, lots=lots)
    if len({one.entry for one in line}) != len(line):
        raise ValueError("expected every entry once")
    count = table_count(line, seats)
    pool = first_in(line, tables=count, seats=seats)
    places = _places(pool, tables=count, lots=lots)
    known = _Acquaintances(pool)
    tables = _fill(sorted(pool, key=lambda one: places[one.entry]), tables=count, seats=seats, known=known)
    _part(tables, places, known)
    return [tuple(one.entry for one in seat(table, lots=lots)) for table in tables]


def are_repeats(table: Sequence[Contender]) -> bool:
    """Tell whether everybody at a table met everybody else there lately."""
    known = _Acquaintances(table)
    return all(known.how_well(one, [other]) > 0 for i, one in enumerate(table) for other in table[:i])


# Places


def _places(pool: Sequence[Contender], *, tables: int, lots: Random) -> dict[int, float]:
    """Return by entry where on the scale of ratings it looks for company this time."""
    ratings = sorted(one.rating for one in pool)
    settled = [one for one in pool if one.met >= BURST]
    # Rounded up or down by chance, so that a ladder of few tables has its share of far ones too.
    guests = min(len(settled), int(FAR * tables + lots.random()))
    far = {one.entry for one in lots.sample(settled, guests)}
    return {one.entry: _place(one, ratings, is_far=one.entry in far, lots=lots) for one in pool}


def _place(one: Contender, ratings: Sequence[float], *, is_far: bool, lots: Random) -> float:
    if one.met < BURST:
        # Each from a start of its own, or all who came together would meet nobody but each other.
        return _quantile(ratings, Random(one.entry).random() + one.met * GOLDEN)
    if is_far:
        own = bisect_left(ratings, one.rating) / len(ratings)
        return _quantile(ratings, own + lots.uniform(0.25, 0.75))
    return one.rating + lots.choice((-1, 1)) * lots.expovariate(1 / WINDOW)


def _quantile(ratings: Sequence[float], share: float) -> float:
    """Return the rating that so great a share of all is below; beyond all it begins again from the lowest."""
    return ratings[int(share % 1 * len(ratings))]


# Tables


class _Acquaintances:
    """How fresh everybody's memory of everybody is: 1 for the last met, a half for the one before, 0 for a stranger."""

    def __init__(self, contenders: Iterable[Contender]) -> None:
        self._fresh: dict[int, Mapping[int, float]] = {}
        for one in contenders:
            # Oldest first, so that of two meetings the later one stands.
            self._fresh[one.entry] = {other: 1 / (1 + ago) for ago, other in reversed(list(enumerate(one.recent)))}

    def how_well(self, one: Contender, others: Iterable[Contender]) -> float:
        """Return the sum over `others`, whichever of two remembers better; itself not counted."""
        own = self._fresh[one.entry]
        return sum(max(own.get(other.entry, 0.0), self._fresh[other.entry].get(one.entry, 0.0)) for other in others)

    def within(self, table: Sequence[Contender]) -> float:
        """Return the sum over the pairs of a table."""
        return sum(self.how_well(one, table[:i]) for i, one in enumerate(table))


def _fill(waiting: list[Contender], *, tables: int, seats: int, known: _Acquaintances) -> list[Table]:
    """Return the tables, neighbours together; `waiting` are all who play, by their places."""
    sizes = Counter(one.group for one in waiting)
    with_size: dict[int, set[int]] = defaultdict(set)
    for group, size in sizes.items():
        with_size[size].add(group)
    filled: list[Table] = []
    for left in range(tables, 0, -1):
        table = [waiting.pop(0)]
        while len(table) < seats:
            # An owner with as many entries as tables are left must sit at every one of them.
            due = with_size[left] - {one.group for one in table}
            is_forced = len(due) >= seats - len(table)
            table.append(waiting.pop(_next(waiting, table, due if is_forced else None, known)))
        for one in table:
            with_size[sizes[one.group]].discard(one.group)
            sizes[one.group] -= 1
            with_size[sizes[one.group]].add(one.group)
        filled.append(table)
    return filled


def _next(waiting: Sequence[Contender], table: Table, due: set[int] | None, known: _Acquaintances) -> int:
    """Return the index of who sits down next: the first stranger among the next that may, else who was met longest ago.

    With `due` only those of such groups may.
    """
    seated = {one.group for one in table}
    best, least, looked_at = -1, 0.0, 0
    for index, one in enumerate(waiting):
        if one.group in seated or (due is not None and one.group not in due):
            continue
        met = known.how_well(one, table)
        if best < 0 or met < least:
            best, least = index, met
        looked_at += 1
        if not least or looked_at == LOOK:
            break
    return best


def _part(tables: list[Table], places: Mapping[int, float], known: _Acquaintances) -> None:
    """Exchange entries of near tables wherever that brings fewer old acquaintances together."""
    for number, table in enumerate(tables):
        near = [*tables[max(0, number - NEAR_TABLES) : number], *tables[number + 1 : number + 1 + NEAR_TABLES]]
        # Each exchange mends one of those who sit there.
        for _ in table:
            if not known.within(table) or not _exchange(table, near, places, known):
                break


def _exchange(table: Table, near: Sequence[Table], places: Mapping[int, float], known: _Acquaintances) -> bool:
    """Make the one exchange with a near table that lessens acquaintance most, then moves least; False if none does."""
    best: tuple[float, float] = (-1e-9, 0.0)
    chosen: tuple[Table, int, int] | None = None
    for other in near:
        for i, one in enumerate(table):
            for j, two in enumerate(other):
                if _is_barred(one, other, two) or _is_barred(two, table, one):
                    continue
                found = (_change(one, table, two, other, known), abs(places[one.entry] - places[two.entry]))
                if found < best:
                    best, chosen = found, (other, i, j)
    if chosen is None:
        return False
    other, i, j = chosen
    table[i], other[j] = other[j], table[i]
    return True


def _is_barred(one: Contender, table: Table, leaving: Contender) -> bool:
    """Tell whether one may not take the seat of who is leaving."""
    return any(other.group == one.group for other in table if other is not leaving)


def _change(one: Contender, table: Table, two: Contender, other: Table, known: _Acquaintances) -> float:
    """Return how much acquaintance there would be more if two entries exchanged their tables."""
    rest, others = [each for each in table if each is not one], [each for each in other if each is not two]
    before = known.how_well(one, rest) + known.how_well(two, others)
    return known.how_well(two, rest) + known.how_well(one, others) - before
