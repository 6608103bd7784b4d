import random

import pytest

from games.comparison import Score, compare, estimate, fit_elo, mean_points, student


def duel(wins, draws, losses):
    results = [(1, 2)] * wins + [(1, 1)] * draws + [(2, 1)] * losses
    return [Score(number, (10 * first, 10 * second), (first, second)) for number, (first, second) in enumerate(results)]


def test_fit_elo_of_two_is_the_logistic_of_their_score():
    # With one imagined draw 29 to 9 is 29.5 to 9.5 of 39: 400 log10(29.5 / 9.5) apart.
    first, second = fit_elo(duel(29, 0, 9))
    assert first - second == pytest.approx(196.84, abs=0.01)
    assert first + second == pytest.approx(0, abs=1e-6)


def test_fit_elo_is_even_after_equal_results_and_finite_after_a_whitewash():
    assert fit_elo(duel(5, 4, 5)) == pytest.approx([0, 0], abs=1e-6)
    first, second = fit_elo(duel(100, 0, 0))
    assert first - second == pytest.approx(921.0, abs=0.5)


def test_fit_elo_finds_the_strengths_that_the_games_were_made_from():
    rng = random.Random("strengths")
    elos = [150, 50, -50, -150]

    def strength(bot):
        # Exponential clocks: the first to ring of any two is Bradley-Terry.
        return rng.expovariate(10 ** (elos[bot] / 400))

    scores = []
    for number in range(4000):
        order = sorted(range(4), key=strength)
        scores.append(Score(number, [0] * 4, [order.index(bot) + 1 for bot in range(4)]))
    values, intervals = estimate(scores, fit_elo)
    assert values == pytest.approx(elos, abs=15)
    assert all(low < elo < high for elo, (low, high) in zip(elos, intervals, strict=True))


def test_mean_points_and_their_interval_match_the_textbook():
    totals = [31, 45, 28, 60, 52, 39]
    scores = [Score(number, (total, 100), (1, 2)) for number, total in enumerate(totals)]
    assert mean_points(scores) == [42.5, 100]
    values, intervals = estimate(scores, mean_points)
    # t(5) = 2.571 times the standard error of the mean, 5.0249.
    assert intervals[0] == pytest.approx((42.5 - 12.919, 42.5 + 12.919), abs=0.01)
    assert intervals[1] == (None, None), "always 100: nothing to tell an error from"


def test_games_of_one_set_are_one_observation():
    rng = random.Random("sets")
    totals = [rng.randrange(20, 200) for _ in range(12)]
    apart = [Score(number, (total, 0), (2, 1)) for number, total in enumerate(totals)]
    twice = [Score(number, (total, 0), (2, 1)) for number, total in enumerate(totals) for _ in range(2)]
    assert estimate(twice, mean_points) == estimate(apart, mean_points)


def test_one_set_says_nothing_of_its_error():
    [row, _] = compare(["a", "b"], [Score(1, (5, 9), (1, 2))] * 2, [{}, {"crash": 2}])
    assert row["mean_points_interval"] == [None, None] and row["interval"] == [None, None]
    assert row["games"] == 2 and row["places"] == [2, 0]


@pytest.mark.parametrize("games", [2, 20, 50])
def test_a_whitewash_has_no_interval_and_one_lost_game_gives_it_one(games):
    assert estimate(duel(games, 0, 0), fit_elo)[1] == [(None, None)] * 2
    values, [(low, high), _] = estimate(duel(games, 0, 1), fit_elo)
    assert high - low > 50 and low < values[0] < high


def test_compare_counts_faults_of_every_kind():
    rows = compare(["a", "b"], duel(2, 1, 1), [{}, {"crash": 2}])
    assert rows[0]["faults"] == dict.fromkeys(rows[0]["faults"], 0)
    assert rows[1]["faults"]["crash"] == 2
    assert rows[0]["places"] == [3, 1] and rows[1]["places"] == [2, 2]


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.706), (11, 2.201), (20, 2.086), (39, 2.023), (1000, 1.962)])
def test_student_quantile(freedom, quantile):
    assert student(freedom) == pytest.approx(quantile, abs=0.003)
