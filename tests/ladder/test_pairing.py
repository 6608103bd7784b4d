"""The pairing of a ladder's round: what must hold for any field over many rounds, and fields worked by hand."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ladder.pairing.ladder import BURST, Contender, accounts, are_repeats, pair
from ladder.pairing.seating import seat

SEATS = st.integers(2, 4)
# Chance of a seed: drawn entry by entry a field takes longer to make than to pair.
RANDOMS = st.integers(0, 2**32).map(Random)


@st.composite
def fields(draw, most: int = 60):
    """Draw a field with few owners, so that they get in each other's way, and few who were not met lately."""
    count, random = draw(st.integers(0, most)), draw(RANDOMS)
    owners = draw(st.integers(0, 12))
    return [
        Contender(
            entry=entry,
            rating=random.uniform(800, 2400),
            owner=random.choice([None, *range(owners)]),
            met=random.randrange(40),
            recent=tuple(other for other in random.choices(range(count), k=5) if other != entry),
            byes=random.choice([None, 0, 1, 2, 7]),
            waited=random.choice([0, 0, 0, 1]),
            sat=tuple(random.randrange(9) for _ in range(4)),
        )
        for entry in range(count)
    ]


def most_tables(field, seats: int) -> int:
    """Count by brute arithmetic: T tables hold at most T of an owner's entries."""
    sizes = Counter(("house", one.entry) if one.owner is None else ("owner", one.owner) for one in field).values()
    return max(t for t in range(len(field) // seats + 1) if t == 0 or sum(min(size, t) for size in sizes) >= t * seats)


@given(fields(), SEATS)
def test_pair_seats_everybody_at_most_once_and_no_owner_twice(field, seats: int) -> None:
    tables = pair(field, seats=seats, seed="s")
    owner = {one.entry: one.owner for one in field}
    assert all(len(table) == seats for table in tables)
    seated = [entry for table in tables for entry in table]
    assert len(set(seated)) == len(seated)
    for table in tables:
        owners = [owner[entry] for entry in table if owner[entry] is not None]
        assert len(set(owners)) == len(owners)


@given(fields(), SEATS)
def test_pair_makes_as_many_tables_as_the_owners_allow(field, seats: int) -> None:
    assert len(pair(field, seats=seats, seed="s")) == most_tables(field, seats)


@given(fields(), SEATS, RANDOMS)
def test_pair_is_the_same_for_a_seed_whatever_order_the_entries_came_in(field, seats: int, random) -> None:
    mixed = list(field)
    random.shuffle(mixed)
    assert pair(field, seats=seats, seed="s") == pair(mixed, seats=seats, seed="s")


@given(fields(), SEATS)
def test_pair_leaves_out_nobody_who_stands_before_one_that_plays(field, seats: int) -> None:
    """Whoever sits out was left over no longer, and sat out no oftener, than anyone whose place it could take."""
    tables = pair(field, seats=seats, seed="s")
    seated = {entry for table in tables for entry in table}
    account = accounts(field, seats=seats)
    of_owner = Counter(one.owner for one in field if one.entry in seated and one.owner is not None)
    for out in (one for one in field if one.entry not in seated):
        is_full = out.owner is not None and of_owner[out.owner] == len(tables)
        rivals = [one for one in field if one.entry in seated and (not is_full or one.owner == out.owner)]
        for one in rivals:
            assert (account[out.entry], out.waited) <= (account[one.entry], one.waited)


# Many rounds


class Pool:
    """Entries over many rounds: what each knows of its past, and who sat out when it could have played."""

    def __init__(self, owners: list[int | None], *, seats: int, random: Random) -> None:
        self.seats, self.random = seats, random
        self.entries: dict[int, Contender] = {}
        self.out: Counter[int] = Counter()
        self.longest: Counter[int] = Counter()
        self.tables: list[tuple[int, ...]] = []
        for owner in owners:
            self.enter(owner)

    def enter(self, owner: int | None = None) -> int:
        entry = len(self.entries)
        self.entries[entry] = Contender(entry, self.random.gauss(1500, 200), owner=owner)
        return entry

    def hold(self, here: list[int] | None = None) -> None:
        """Hold a round of those who are here, all by default."""
        free = [one for one in self.entries.values() if here is None or one.entry in here]
        tables = pair(free, seats=self.seats, seed=str(len(self.tables)))
        if not tables:
            return
        account, seated = accounts(free, seats=self.seats), {entry for table in tables for entry in table}
        for one in free:
            is_out = one.entry not in seated
            self.out[one.entry] += is_out
            waited = one.waited + 1 if is_out else 0
            self.longest[one.entry] = max(self.longest[one.entry], waited)
            byes = account[one.entry] + is_out
            self.entries[one.entry] = replace(one, byes=byes, waited=waited, met=one.met + (not is_out))
        for table in tables:
            for number, entry in enumerate(table):
                one, others = self.entries[entry], tuple(other for other in table if other != entry)
                sat = [*one.sat] or [0] * self.seats
                sat[number] += 1
                self.entries[entry] = replace(one, sat=tuple(sat), recent=(others + one.recent)[:15])
        self.tables += tables


def spread(figures) -> int:
    return max(figures) - min(figures)


@settings(max_examples=20, deadline=None)
@given(SEATS, st.integers(4, 60), RANDOMS)
def test_byes_are_at_most_one_more_than_anybody_elses(seats: int, count: int, random) -> None:
    pool = Pool([None] * count, seats=seats, random=random)
    for _ in range(10):
        pool.hold()
        assert spread([pool.out[entry] for entry in pool.entries]) <= 1
    assert max(pool.longest.values()) <= 1, "who was left over is first next time"


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 9), SEATS, st.integers(0, 60), RANDOMS)
def test_byes_of_one_owners_entries_differ_by_one_at_most(owners: int, seats: int, count: int, random) -> None:
    pool = Pool([random.randrange(owners) for _ in range(count)], seats=seats, random=random)
    for _ in range(10):
        pool.hold()
        for owner in range(owners):
            byes = [pool.out[one.entry] for one in pool.entries.values() if one.owner == owner]
            assert not byes or spread(byes) <= 1


@settings(max_examples=20, deadline=None)
@given(SEATS, st.integers(0, 60), RANDOMS)
def test_nobody_sits_out_three_times_running_whoever_comes_and_goes(seats: int, count: int, random) -> None:
    """The bound on the wait, where no owner has more entries than there are tables."""
    pool = Pool([None] * count, seats=seats, random=random)
    for _ in range(10):
        for _ in range(random.randrange(3)):
            pool.enter()
        pool.hold([entry for entry in pool.entries if random.random() < 0.7])
    assert max(pool.longest.values(), default=0) <= 2


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_late_comers_neither_make_up_for_old_rounds_nor_go_before_those_who_wait(seats: int) -> None:
    pool = Pool([None] * (2 * seats + 1), seats=seats, random=Random(1))
    for _ in range(20):
        pool.hold()
    before = Counter(pool.out)
    late = pool.enter()
    for _ in range(20):
        pool.hold()
    since = {entry: pool.out[entry] - before[entry] for entry in pool.entries}
    assert abs(since[late] - sum(since.values()) / len(since)) <= 2
    assert pool.longest[late] <= 1


def test_who_was_away_for_long_sits_out_no_oftener_than_the_others_from_then_on() -> None:
    """A bot in long matches collects no byes; its return must not be a row of them."""
    pool = Pool([None] * 5, seats=2, random=Random(1))
    pool.hold()
    for _ in range(30):
        pool.hold([1, 2, 3])
    before = Counter(pool.out)
    for _ in range(10):
        pool.hold()
    assert pool.out[0] - before[0] <= 3, "a fifth of ten rounds, and one"


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_seats_are_balanced_over_time(seats: int) -> None:
    pool = Pool([None] * 21, seats=seats, random=Random(seats))
    for number in range(1, 41):
        pool.hold()
        if number in (10, 40):
            assert max(spread(one.sat) for one in pool.entries.values()) <= 3


@given(st.lists(st.lists(st.integers(0, 30), min_size=4, max_size=4), min_size=2, max_size=4), st.integers())
def test_seat_evens_out_where_the_table_sat(pasts, seed: int) -> None:
    """No order of the table leaves the squares of all counts smaller."""
    table = [Contender(entry, 1500, sat=tuple(past)) for entry, past in enumerate(pasts)]

    def squares(order) -> int:
        counts = [list(one.sat) for one in order]
        for number, count in enumerate(counts):
            count[number] += 1
        return sum(figure**2 for count in counts for figure in count)

    seated = seat(table, lots=Random(seed))
    assert sorted(one.entry for one in seated) == list(range(len(table)))
    assert squares(seated) == min(squares(seat_order) for seat_order in _orders(table))


def _orders(table):
    if len(table) < 2:
        return [table]
    return [[one, *rest] for i, one in enumerate(table) for rest in _orders(table[:i] + table[i + 1 :])]


def test_everybody_has_met_everybody_when_there_were_rounds_enough() -> None:
    pool = Pool([None] * 10, seats=2, random=Random(3))
    for _ in range(40):
        pool.hold()
    assert {frozenset(table) for table in pool.tables} == {frozenset((i, j)) for i in range(10) for j in range(i)}


# Who meets whom


def settled(count: int) -> list[Contender]:
    """Return entries that have played enough, their ratings as a normal distribution's, in order."""
    random = Random(5)
    ratings = sorted(random.gauss(1500, 200) for _ in range(count))
    return [Contender(entry, rating, met=50, byes=0) for entry, rating in enumerate(ratings)]


def test_settled_entries_meet_their_like_but_for_ten_to_twenty_percent_far_away() -> None:
    field = settled(400)
    gaps = [abs(one - two) for seed in range(10) for one, two in pair(field, seats=2, seed=str(seed))]
    far = sum(gap >= 100 for gap in gaps) / len(gaps)  # a quarter of the field
    assert 0.10 <= far <= 0.20
    assert sorted(gaps)[len(gaps) // 2] <= 25


def test_windows_have_a_tail() -> None:
    """Beyond the neighbours there is no edge at which all stops."""
    field = settled(400)
    gaps = Counter(abs(one - two) // 25 for seed in range(10) for one, two in pair(field, seats=2, seed=str(seed)))
    assert gaps[0] > gaps[1] > gaps[2] > 0


@pytest.mark.parametrize("seats", [2, 4])
def test_new_entries_meet_the_whole_range_first(seats: int) -> None:
    field = settled(200)
    for new in (Contender(entry, 1500) for entry in (500, 501, 502)):
        quarters = Counter()
        for met in range(BURST):
            here = [*field, replace(new, met=met)]
            table = next(table for table in pair(here, seats=seats, seed=str(met)) if new.entry in table)
            quarters.update(other // 50 for other in table if other != new.entry)
        assert len(quarters) == 4 and max(quarters.values()) <= 5 * (seats - 1)


def test_new_entries_that_come_together_do_not_meet_each_other_only() -> None:
    new = [Contender(entry, 1500) for entry in range(1000, 1020)]
    tables = pair([*settled(200), *new], seats=2, seed="s")
    assert sum(all(entry >= 1000 for entry in table) for table in tables) <= 3


@pytest.mark.parametrize("seed", "abcdefgh")
def test_pair_avoids_the_last_opponent_however_near(seed: str) -> None:
    field = [
        Contender(0, 1500, met=50, recent=(1,)),
        Contender(1, 1500, met=50, recent=(0,)),
        Contender(2, 2100, met=50, recent=(3,)),
        Contender(3, 2100, met=50, recent=(2,)),
    ]
    tables = named(pair(field, seats=2, seed=seed))
    assert frozenset({0, 1}) not in tables and frozenset({2, 3}) not in tables


@pytest.mark.parametrize("seed", "abcdefgh")
def test_pair_exchanges_where_the_first_choice_leaves_a_repeat(seed: str) -> None:
    """0 and 1 are strangers of one strength, but that would leave 2 with 3, whom it has just met."""
    field = [
        Contender(0, 1500, met=50),
        Contender(1, 1500, met=50),
        Contender(2, 2100, met=50, recent=(3,)),
        Contender(3, 2100, met=50, recent=(2,)),
    ]
    assert frozenset({2, 3}) not in named(pair(field, seats=2, seed=seed))


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_pair_hardly_ever_repeats_in_a_large_field(seats: int) -> None:
    pool = Pool([None] * 120, seats=seats, random=Random(2))
    seen = Counter()
    for _ in range(6):
        pool.hold()
    for table in pool.tables:
        seen.update(frozenset((one, two)) for i, one in enumerate(table) for two in table[:i])
    assert sum(count - 1 for count in seen.values()) <= sum(seen.values()) / 100


def test_pair_repeats_rather_than_let_anybody_sit_idle() -> None:
    field = [Contender(0, 1500, recent=(1,)), Contender(1, 1500, recent=(0,))]
    assert named(pair(field, seats=2, seed="s")) == {frozenset({0, 1})}
    assert are_repeats(field)


def test_table_of_three_is_a_repeat_only_if_all_met() -> None:
    one, two, three = Contender(0, 1500, recent=(1,)), Contender(1, 1500), Contender(2, 1500)
    assert are_repeats([one, two]) and not are_repeats([one, two, three])


def test_pair_lets_house_bots_meet_but_not_two_of_one_owner() -> None:
    house = [Contender(0, 1500), Contender(1, 1500)]
    owned = [Contender(0, 1500, owner=7), Contender(1, 1500, owner=7)]
    assert pair(house, seats=2, seed="s") and not pair(owned, seats=2, seed="s")


def test_pair_keeps_by_an_owner_with_half_the_field() -> None:
    """Greedy choice alone would let 3 and 4 meet and leave the owner's three with one opponent."""
    field = [Contender(i, 1500, owner=1) for i in range(3)] + [Contender(i, 1500) for i in (3, 4, 5)]
    tables = pair(field, seats=2, seed="s")
    assert len(tables) == 3
    assert all(len([entry for entry in table if entry < 3]) == 1 for table in tables)


def test_pair_draws_lots_among_equals() -> None:
    field = [Contender(i, 1500) for i in range(9)]
    out = {next(iter(set(range(9)) - {e for t in pair(field, seats=2, seed=str(s)) for e in t})) for s in range(40)}
    assert len(out) > 3


@pytest.mark.parametrize("seats", [0, 1])
def test_pair_refuses_fewer_than_two_seats(seats: int) -> None:
    with pytest.raises(ValueError, match="two seats at least"):
        pair([], seats=seats, seed="s")


def test_pair_refuses_an_entry_twice() -> None:
    with pytest.raises(ValueError, match="every entry once"):
        pair([Contender(1, 1500), Contender(1, 1600)], seats=2, seed="s")


def named(tables) -> set[frozenset[int]]:
    return {frozenset(table) for table in tables}
