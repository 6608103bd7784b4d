import functools
import math
import random
from collections import Counter

import pytest

from games.sequential import MOST_EVIDENCE, Duel, log_growth, share_ahead, tell, tell_evidence

NAMES = ("counter", "careful")

# Shares of a set between two that are alike, with how often each comes up; every mean is a half.
ALIKE = {
    "as_luck_would_have_it": {0.0: 0.25, 0.5: 0.5, 1.0: 0.25},
    # Many small wins, and at times all is lost.
    "skewed": {0.625: 0.8, 0.0: 0.2},
    # 166 sets of spoiler and careful, weighted (by q to the power of the share) until they are even.
    "house_bots_centred": {0.0: 0.2360, 0.5: 0.5280, 1.0: 0.2360},
    "never_apart": {0.5: 1.0},
}


def alarms(shape, *, runs, sets, level=0.05):
    """Return in what share of the runs somebody who looks after every set is ever told that one is better."""
    assert sum(value * weight for value, weight in shape.items()) == pytest.approx(0.5)
    # A set that is split wins and loses nothing, so that few different counts come up.
    telling = [value for value in shape if value != 0.5]

    @functools.cache
    def is_decided(*counts):
        return Duel(level, Counter(dict(zip(telling, counts, strict=True)))).better() is not None

    rng = random.Random("alarms")
    found = 0
    for _ in range(runs):
        counts = dict.fromkeys(telling, 0)
        for share in rng.choices(list(shape), list(shape.values()), k=sets):
            if share == 0.5:
                continue
            counts[share] += 1
            if is_decided(*counts.values()):
                found += 1
                break
    return found / runs


def test_a_split_set_is_no_evidence():
    shares = Counter({0.0: 3, 1.0: 17})
    assert Duel(0.05, shares).evidence() == Duel(0.05, shares + Counter({0.5: 1000})).evidence()


@pytest.mark.parametrize("shape", ALIKE.values(), ids=ALIKE.keys())
def test_false_alarms_stay_under_the_level_while_peeking_after_every_set(shape):
    found = alarms(shape, runs=10_000, sets=200)
    assert found <= 0.05
    # The test is no dead letter either: unless nothing ever differs, luck does alarm at times.
    assert (found > 0) == (len(shape) > 1)


def test_a_milder_level_alarms_more_often_and_still_no_more_than_it_says():
    mild, strict = (alarms(ALIKE["as_luck_would_have_it"], runs=2_000, sets=100, level=level) for level in (0.3, 0.01))
    assert strict <= 0.01 < mild <= 0.3


def sets_until_decided(shape, *, most, seed):
    duel, values, weights = Duel(), list(shape), list(shape.values())
    rng = random.Random(f"power:{seed}")
    for share in rng.choices(values, weights, k=most):
        duel.add(share)
        if duel.better() is not None:
            break
    return duel.verdict()


def test_a_whitewash_is_decided_after_nine_sets():
    verdict = sets_until_decided({1.0: 1.0}, most=100, seed=0)
    assert (verdict.better, verdict.sets) == (0, 9)


def test_real_differences_are_found_in_reasonable_time_and_the_right_way_round():
    # Spoiler and careful as they were in 166 sets: 78 % of the games.
    found = [sets_until_decided({0.0: 7, 0.5: 59, 1.0: 100}, most=200, seed=run) for run in range(100)]
    assert {verdict.better for verdict in found} == {0}
    assert sorted(verdict.sets for verdict in found)[50] <= 25
    losing = sets_until_decided({0.0: 100, 0.5: 59, 1.0: 7}, most=200, seed=0)
    assert losing.better == 1 and losing.high < 0.5


def test_the_interval_holds_the_true_share_at_all_times_together():
    truth = {0.25: 0.3, 0.5: 0.2, 1.0: 0.5}
    mean, missed = 0.675, 0
    for run in range(100):
        duel, rng = Duel(0.2), random.Random(f"interval:{run}")
        verdicts = []
        for number, share in enumerate(rng.choices(list(truth), list(truth.values()), k=60)):
            duel.add(share)
            if number % 4 == 0:
                verdicts.append(duel.verdict())
        missed += any(not verdict.low <= mean <= verdict.high for verdict in verdicts)
        assert all(verdict.low <= verdict.share <= verdict.high for verdict in verdicts)
        assert verdicts[-1].high - verdicts[-1].low < verdicts[0].high - verdicts[0].low
    assert 0 < missed / 100 <= 0.2


def test_one_is_better_exactly_when_the_interval_leaves_out_the_half():
    rng = random.Random("agree")
    seen = set()
    for _ in range(300):
        shares = Counter({share / 8: rng.randrange(12) for share in range(9)})
        shares[rng.choice((0.0, 1.0))] += rng.randrange(60)
        verdict = Duel(0.1, shares).verdict()
        seen.add(verdict.better)
        assert (verdict.better == 0) == (verdict.low > 0.5) and (verdict.better == 1) == (verdict.high < 0.5)
    assert seen == {0, 1, None}


def test_growth_is_that_of_the_bets_one_by_one():
    shares = [1.0, 0.25, 0.5, 1.0, 0.0, 1.0]
    stakes = [1 / 6] * 6
    for share in shares:
        stakes = [
            stake * (1 + bet * (share - 0.4) / 0.4)
            for stake, bet in zip(stakes, (0.9, 0.45, 0.225, 0.1125, 0.05625, 0.028125), strict=True)
        ]
    assert log_growth(Counter(shares), 0.4) == pytest.approx(math.log(sum(stakes)))


def test_both_sides_see_the_same():
    shares = Counter({0.0: 2, 0.125: 1, 0.5: 7, 0.75: 9, 1.0: 24})
    here, there = Duel(0.05, shares).verdict(), Duel(0.05, Counter({1 - s: n for s, n in shares.items()})).verdict()
    assert here.better == 0 and there.better == 1
    assert (here.low, here.high) == pytest.approx((1 - there.high, 1 - there.low))
    assert here.evidence == pytest.approx(there.evidence)


@pytest.mark.parametrize(
    ("places", "share"),
    [
        pytest.param([(1, 2), (2, 1)], 0.5, id="one_each"),
        pytest.param([(1, 1), (1, 2)], 0.75, id="a_tie_counts_half"),
        pytest.param([(3, 4, 1, 2), (2, 3, 1, 4), (2, 1, 3, 4), (1, 3, 2, 4)], 0.75, id="the_others_do_not_count"),
    ],
)
def test_share_ahead_compares_the_first_two(places, share):
    assert share_ahead(places) == share


@pytest.mark.parametrize("share", [-0.01, 1.01, float("nan")])
def test_no_share_lies_outside_0_to_1(share):
    with pytest.raises(ValueError, match="expected a share from 0 to 1"):
        Duel().add(share)


@pytest.mark.parametrize("level", [0, 0.6, 1, -1, float("nan")])
def test_levels_are_chances(level):
    with pytest.raises(ValueError, match="expected a level from 0.0001 to 0.5"):
        Duel(level)


SAID = [
    pytest.param({}, "Not decided: no set was played to its end.", id="nothing"),
    pytest.param(
        {1.0: 9},
        "counter is better than careful: 9 sets, evidence 30 to 1. If it were not, evidence this strong would ever "
        "come up in at most 1 of 30 series. counter was ahead of careful in 100.0 % of their games, a tie counting "
        "half (95 % interval 52.6 % to 100.0 %).",
        id="first",
    ),
    pytest.param({0.0: 9}, "careful is better than counter: 9 sets, evidence 30 to 1.", id="second"),
    pytest.param({0.0: 20_000, 0.5: 1}, "evidence 1,000,000 to 1", id="no_end_of_evidence"),
    pytest.param(
        {1.0: 1},
        "Not decided after 1 set: counter was ahead of careful in 100.0 % of their games, a tie counting half (95 % "
        "interval 0.8 % to 100.0 %). Evidence 0.6 to 1 for counter, where 20 to 1 would decide.",
        id="open",
    ),
    pytest.param({0.5: 100}, "Evidence 0.5 to 1 for either, where 20 to 1 would decide.", id="even"),
]


@pytest.mark.parametrize(("shares", "said"), SAID)
def test_verdicts_are_told_plainly(shares, said):
    assert said in tell(Duel(0.05, Counter(shares)).verdict(), NAMES)


@pytest.mark.parametrize(
    ("evidence", "said"),
    [(0.5, "0.5"), (1, "1"), (1 / 0.3, "3.3"), (9.99, "9.9"), (1 / 0.05, "20"), (19.99, "19"), (2_675.7, "2,675")]
    + [(MOST_EVIDENCE, "1,000,000")],
)
def test_evidence_is_rounded_down(evidence, said):
    assert tell_evidence(evidence) == said
