"""Who meets whom in a ladder's round: pure, on plain values.

The least played come first, near ratings meet, nobody meets a bot of his own owner, and last
opponents are avoided where that is possible. The same input and seed give the same tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Contender:
    """An entry that may be paired.

    `owner` is None for a house bot, which may meet any other. `recent` are the entries that it
    met lately, newest first; one that it met twice may stand there twice.
    """

    entry: int
    rating: float
    pairings: int
    owner: int | None = None
    recent: tuple[int, ...] = ()


Table = tuple[Contender, ...]


def pair(contenders: Iterable[Contender], *, seats: int, seed: str) -> list[tuple[int, ...]]:
    """Return the tables of a round, each a tuple of `seats` entries; who is left over sits out.

    As many tables as the owners allow; whoever has played less than another of the same owner
    never sits out for it. `seed` decides among equals.

    Raises:
        ValueError: fewer than two seats, or an entry stands there twice.
    """
    queue = _queue(contenders, seed=seed)
    if seats < 2:
        raise ValueError(f"expected two seats at least: {seats}")
    if len({one.entry for one in queue}) != len(queue):
        raise ValueError("expected every entry once")
    count = _table_count(queue, seats)
    pool = _pool(queue, count, seats)
    tables: list[Table] = []
    for left in range(count, 0, -1):
        table = _table(pool, left, seats)
        tables.append(table)
        seated = {one.entry for one in table}
        pool = [one for one in pool if one.entry not in seated]
    return [tuple(one.entry for one in table) for table in _spread_repeats(tables)]


def _queue(contenders: Iterable[Contender], *, seed: str) -> list[Contender]:
    """Return the contenders, least played first, by lot among equals, whatever order they came in."""
    queue = sorted(contenders, key=lambda one: one.entry)
    Random(seed).shuffle(queue)
    return sorted(queue, key=lambda one: one.pairings)


def _group(one: Contender) -> tuple[str, int]:
    """Return what may sit at a table once only: an owner, or a house bot itself."""
    return ("entry", one.entry) if one.owner is None else ("owner", one.owner)


def _table_count(queue: Sequence[Contender], seats: int) -> int:
    """Return how many full tables are possible.

    T tables take at most T of each owner, and any T * seats entries with no more than T of one
    owner can be laid out (always seat those first who have as many left as there are tables).
    """
    sizes = Counter(_group(one) for one in queue).values()
    count = len(queue) // seats
    while count and sum(min(size, count) for size in sizes) < count * seats:
        count -= 1
    return count


def _pool(queue: Sequence[Contender], count: int, seats: int) -> list[Contender]:
    """Return the count * seats least played, no more than `count` of one owner."""
    taken: Counter[tuple[str, int]] = Counter()
    pool: list[Contender] = []
    for one in queue:
        if len(pool) < count * seats and taken[_group(one)] < count:
            taken[_group(one)] += 1
            pool.append(one)
    return pool


def _table(pool: Sequence[Contender], left: int, seats: int) -> Table:
    """Return the next of the `left` tables that the pool must fill: the least played, and who fits best."""
    sizes = Counter(_group(one) for one in pool)
    table: Table = (pool[0],)
    while len(table) < seats:
        seated = {_group(one) for one in table}
        # An owner with as many entries as tables are left must sit at every one of them.
        due = {group for group, size in sizes.items() if size == left} - seated
        is_forced = len(due) >= seats - len(table)
        fitting = [one for one in pool if _group(one) not in seated and (not is_forced or _group(one) in due)]
        table += (min(fitting, key=lambda one: _fit(one, table)),)
    return table


def _fit(one: Contender, table: Table) -> tuple[float, float]:
    """Return how ill one fits a table: how lately it met those there, then how far its rating is from theirs."""
    return sum(_acquaintance(one, other) for other in table), sum(abs(one.rating - other.rating) for other in table)


def _acquaintance(one: Contender, other: Contender) -> float:
    """Return how fresh the memory of the last meeting is: 1 for the last opponent, 0 for a stranger."""
    return max(_memory(one, other.entry), _memory(other, one.entry))


def _memory(one: Contender, entry: int) -> float:
    return 1.0 / (1 + one.recent.index(entry)) if entry in one.recent else 0.0


def _spread_repeats(tables: list[Table]) -> list[Table]:
    """Exchange one entry between two tables wherever that brings fewer old acquaintances together."""
    for first in range(len(tables)):
        for second in range(len(tables)):
            if first != second and _repeats(tables[first]):
                tables[first], tables[second] = _best_exchange(tables[first], tables[second])
    return tables


def _best_exchange(first: Table, second: Table) -> tuple[Table, Table]:
    """Return both tables with the one exchange that lessens repeats most, or as they were."""
    options = [(first, second)]
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            options.append(((*first[:i], other, *first[i + 1 :]), (*second[:j], one, *second[j + 1 :])))
    allowed = [option for option in options if all(_is_lawful(table) for table in option)]
    return min(allowed, key=lambda option: (_repeats(option[0]) + _repeats(option[1]), _spread(option)))


def _is_lawful(table: Table) -> bool:
    return len({_group(one) for one in table}) == len(table)


def _repeats(table: Table) -> float:
    return sum(_acquaintance(one, other) for i, one in enumerate(table) for other in table[:i])


def _spread(tables: Sequence[Table]) -> float:
    ratings = [[one.rating for one in table] for table in tables]
    return sum(max(table) - min(table) for table in ratings)
