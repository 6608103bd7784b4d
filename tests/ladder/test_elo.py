"""Elo by hand-worked tables, and what must hold for any table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ladder.elo import change, exchange, expected, total, within_cap

RATING = st.floats(min_value=-3000, max_value=6000)


@pytest.mark.parametrize(
    ("rating", "other", "share"),
    [
        pytest.param(1500, 1500, 0.5, id="equals"),
        pytest.param(1900, 1500, 10 / 11, id="400-above"),
        pytest.param(1500, 1900, 1 / 11, id="400-below"),
        pytest.param(2300, 1500, 100 / 101, id="800-above"),
    ],
)
def test_expected_follows_the_logistic_scale(rating: float, other: float, share: float) -> None:
    assert expected(rating, other) == pytest.approx(share, abs=1e-15)


@pytest.mark.parametrize(
    ("ratings", "places", "k", "changes"),
    [
        pytest.param([1500, 1500], [1, 2], [40, 40], [20, -20], id="two-equals"),
        pytest.param([1500, 1500], [1, 1], [40, 40], [0, 0], id="two-tie"),
        pytest.param([1900, 1500], [1, 2], [20, 20], [20 / 11, -20 / 11], id="favourite-wins"),
        pytest.param([1900, 1500], [2, 1], [20, 20], [-200 / 11, 200 / 11], id="favourite-loses"),
        pytest.param([1900, 1500], [1, 1], [20, 20], [-90 / 11, 90 / 11], id="favourite-only-ties"),
        pytest.param([1500, 1500], [2, 1], [40, 20], [-20, 10], id="own-k-each"),
        pytest.param([1500] * 3, [1, 2, 3], [40] * 3, [20, 0, -20], id="three-equals"),
        pytest.param([1500] * 4, [1, 2, 2, 4], [30] * 4, [15, 0, 0, -15], id="four-with-a-shared-place"),
        pytest.param([1500] * 4, [3, 3, 1, 2], [60] * 4, [-20, -20, 30, 10], id="four-shared-last"),
    ],
)
def test_change_matches_the_table(ratings, places, k, changes) -> None:
    assert change(ratings, places, k) == pytest.approx(changes, abs=1e-12)


@pytest.mark.parametrize(
    ("ratings", "places", "k"),
    [
        pytest.param([1500], [1], [40], id="one"),
        pytest.param([], [], [], id="none"),
        pytest.param([1500, 1500], [1], [40, 40], id="places-short"),
        pytest.param([1500, 1500], [1, 2], [40, 40, 40], id="k-long"),
    ],
)
def test_change_refuses_shapes_that_differ(ratings, places, k) -> None:
    with pytest.raises(ValueError, match="of one length, two at least"):
        change(ratings, places, k)


tables = st.integers(2, 4).flatmap(lambda n: st.lists(st.tuples(RATING, st.integers(1, 4)), min_size=n, max_size=n))


@given(tables, st.floats(1, 100))
def test_change_with_equal_k_sums_to_zero(table, k) -> None:
    ratings, places = zip(*table, strict=True)
    assert sum(change(ratings, places, [k] * len(table))) == pytest.approx(0, abs=1e-9)


@given(tables, st.randoms(use_true_random=False))
def test_change_does_not_depend_on_the_order_to_the_last_bit(table, random) -> None:
    order = list(range(len(table)))
    random.shuffle(order)
    k = [20.0 + i for i in range(len(table))]
    plain = change([row[0] for row in table], [row[1] for row in table], k)
    mixed = change([table[i][0] for i in order], [table[i][1] for i in order], [k[i] for i in order])
    assert mixed == [plain[i] for i in order]


@given(tables)
def test_change_never_exceeds_k_and_a_sole_winner_never_loses(table) -> None:
    ratings, places = zip(*table, strict=True)
    changes = change(ratings, places, [40.0] * len(table))
    assert all(abs(one) <= 40 for one in changes)
    if places.count(best := min(places)) == 1:
        assert changes[places.index(best)] >= 0


@given(tables, st.floats(1, 100))
def test_exchange_adds_up_to_the_change_and_what_one_gains_the_other_loses(table, k) -> None:
    ratings, places = zip(*table, strict=True)
    points = exchange(ratings, places, [k] * len(table))
    assert [total(row) for row in points] == pytest.approx(change(ratings, places, [k] * len(table)), abs=1e-9)
    for i in range(len(table)):
        assert points[i][i] == 0
        for j in range(i):
            assert points[i][j] == pytest.approx(-points[j][i], abs=1e-12)


@pytest.mark.parametrize(
    ("mine", "theirs", "gain"),
    [
        pytest.param(0.0, 0.0, 20.0, id="room-for-both"),
        pytest.param(30.0, -30.0, 20.0, id="just-room"),
        pytest.param(45.0, -45.0, 5.0, id="cut"),
        pytest.param(50.0, -50.0, 0.0, id="full"),
        pytest.param(45.0, 0.0, 5.0, id="the-winner-is-full"),
        pytest.param(0.0, -48.0, 2.0, id="the-loser-has-lost-enough"),
        pytest.param(-50.0, 50.0, 20.0, id="on-the-way-back"),
        pytest.param(50.0, None, 20.0, id="a-house-bot-loses"),
        pytest.param(None, -50.0, 20.0, id="a-house-bot-wins"),
    ],
)
def test_within_cap_cuts_both_sides_of_a_pair_alike(mine, theirs, gain) -> None:
    points = exchange([1500.0, 1500.0], [1, 2], [40.0, 40.0])
    taken = within_cap(points, [[None, mine], [theirs, None]], 50.0)
    assert taken == [[0.0, gain], [-gain, 0.0]]


balances = st.floats(-100, 100)


@given(tables, st.floats(1, 200), st.data())
def test_within_cap_keeps_every_balance_within_it_and_makes_no_points(table, k, data) -> None:
    n = len(table)
    ratings, places = zip(*table, strict=True)
    before = [[data.draw(balances) if i != j else None for j in range(n)] for i in range(n)]
    points = exchange(ratings, places, [k] * n)
    taken = within_cap(points, before, 100.0)
    for i in range(n):
        for j in range(n):
            if i != j:
                assert abs(before[i][j] + taken[i][j]) <= 100 + 1e-9
                assert abs(taken[i][j]) <= abs(points[i][j])
                assert taken[i][j] == pytest.approx(-taken[j][i], abs=1e-9)


@given(tables, st.floats(1, 200))
def test_within_cap_changes_nothing_to_the_last_bit_where_there_is_room(table, k) -> None:
    ratings, places = zip(*table, strict=True)
    points = exchange(ratings, places, [k] * len(table))
    assert within_cap(points, [[0.0] * len(table)] * len(table), 200.0) == points
