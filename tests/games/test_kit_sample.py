"""What the kit deals at random where a seat cannot see."""

from collections import Counter
from random import Random

import pytest

from games.engine import Rules, Sampler
from games.kit import soureh_bot
from tests.games.kit_tables import house, play_game

IDLE = "idle"
TABLES = [
    pytest.param("classic", {}, ["careful", "spoiler", "counter", "careful"], {"proved", "disproved"}, id="calls"),
    pytest.param(
        *("classic", {"caller_shield": None}, ["spoiler", "careful", "spoiler", "counter"], {"proved", "lapses"}),
        id="no-shield",
    ),
    pytest.param("common", {}, ["random"] * 3, {"disproved", "lapses", "lasting"}, id="bluffs"),
    pytest.param("classic", {}, [IDLE, "careful", IDLE, "random"], {"lasting"}, id="reshuffles"),
    pytest.param("classic", {"end": "elimination"}, ["careful"] * 3, {"proved"}, id="elimination"),
]


def idle(turn):
    return "d" if "d" in turn.legal else turn.legal[-1]


def bots(names):
    return [idle if name == IDLE else house(name) for name in names]


def others_down(turn, down):
    """Return of all face-down cards those at the others' seats, by seat and slot."""
    return {(seat, slot): down[seat][slot] for seat in turn.opponents for slot in soureh_bot.SLOTS}


def fits(turn, cards):
    """Tell whether cards, by seat and slot, agree with all that the hand remembers of them."""
    hand, valid = turn.hand, turn.rules.valid
    for (seat, slot), card in cards.items():
        if not all(valid(up, card) for up in hand.proved[seat][slot]):
            return False
        if any(valid(up, card) for up in hand.disproved[seat][slot]):
            return False
    for seat, unsure in hand.lapses:
        if all(valid(up, cards[seat, slot]) for slot, up in unsure.items()):
            return False
    for number, counts in enumerate(hand.lasting):
        old = Counter(card for (seat, slot), card in cards.items() if hand.since[seat][slot] <= number)
        if any(count > counts[card] for card, count in old.items()):
            return False
    return True


@pytest.mark.parametrize(("preset", "options", "names", "expected"), TABLES)
def test_a_sample_and_the_truth_agree_with_what_was_seen(preset, options, names, expected):
    rng = Random(5)
    met = set()

    def watch(game, turn):
        if turn.seat != 1:
            return
        hand = turn.hand
        met.update(key for key in ("lapses", "lasting") if getattr(hand, key))
        met.update(key for key in ("proved", "disproved") if any(map(any, getattr(hand, key))))
        # What the seat holds for certain is true.
        assert fits(turn, others_down(turn, game.view(turn.seat, revealed=True)["down"]))
        for trust in (0.0, 0.9):
            sample = turn.sample(rng, trust=trust)
            cards = others_down(turn, sample.down)
            assert fits(turn, cards)
            assert sample.down[turn.seat] == turn.down
            assert [len(down) for down in sample.down] == [len(up) for up in turn.up]
            assert (len(sample.stock), len(sample.hidden) + len(hand.pile)) == (turn.stock, turn.discards)
            dealt = Counter([*cards.values(), *sample.stock, *sample.hidden])
            assert dict.fromkeys(soureh_bot.DECK, 0) | dealt == turn.unseen()

    play_game(Rules.preset(preset, target=60, **options), bots(names), "samples", watch=watch)
    assert expected <= met


def test_samples_are_spread_as_the_engine_s_are_over_the_cards_of_a_caller():
    found = []

    def watch(game, turn):
        if found or turn.call is None or turn.call["seat"] == turn.seat:
            return
        caller, rng, draws = turn.call["seat"], Random(11), 2000
        ours = Counter(kind(turn.sample(rng).down[caller][slot]) for _ in range(draws) for slot in range(4))
        exact = Sampler(game.rules, game.view(turn.seat), game.log_for(turn.seat, own_draws=True))
        theirs = Counter(
            kind(exact.sample(rng).view(turn.seat, revealed=True)["down"][caller][slot])
            for _ in range(draws // 4)
            for slot in range(4)
        )
        found.append(sum(abs(ours[key] - 4 * theirs[key]) for key in ours | theirs) / (4 * draws) / 2)

    play_game(Rules.preset("classic", target=60), bots(["careful"] * 3), "spread", watch=watch)
    # The total variation over 20 ranks and colours: 0.02 to 0.05 between two draws of this size from one urn,
    # and 0.28 if the call were not believed.
    assert found[0] < 0.08


def kind(card):
    return soureh_bot.rank(card), soureh_bot.is_red(card)


def test_trust_fills_coops_that_their_owner_completed():
    shares = Counter()

    def watch(_game, turn):
        if turn.seat or turn.call:
            return
        for trust in (0.0, 1.0):
            down = turn.sample(Random(turn.id), trust=trust).down
            for seat in turn.opponents:
                for slot, kept in enumerate(turn.hand.kept[seat]):
                    if kept:
                        shares[trust, turn.rules.valid(kept, down[seat][slot])] += 1

    play_game(Rules.preset("classic"), bots(["careful"] * 3), "trust", watch=watch)
    assert shares[0.0, False] > 20
    assert shares[1.0, False] == 0 < shares[1.0, True]


def test_a_sample_draws_the_same_from_the_same_randomness_and_is_refused_at_a_pick():
    refused = []

    def watch(_game, turn):
        if turn.is_pick:
            with pytest.raises(ValueError, match="expected a turn"):
                turn.sample()
            refused.append(turn.id)
            return
        first, second = (turn.sample(Random(turn.id)) for _ in range(2))
        assert (first.down, first.stock, first.hidden) == (second.down, second.stock, second.hidden)

    play_game(Rules.preset("classic", target=30, picks="player"), bots(["careful"] * 2), "same", watch=watch)
    assert refused
