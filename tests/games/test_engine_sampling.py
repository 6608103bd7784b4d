"""Sampled games: they agree with all that a seat has seen, and every deal that does comes up alike."""

import random
from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given, settings

from games.engine import Game, Rules, Sampler
from games.engine.knowledge import Deck, Knowledge, Plan
from games.engine.sampling import GivenDeck
from tests.games.engine_games import any_rules, play_out, policies, record_of, seat_counts, seeds
from tests.games.test_engine_views import play_with_secret_calls_left_out, swapped


class DecksOf(GivenDeck):
    """The decks of a sampled hand, and no others."""

    def __init__(self, hand):
        super().__init__(hand.deck, None)
        self.reshuffles = hand.reshuffles

    def reshuffle(self, hand, number, discards):
        assert sorted(discards) == sorted(self.reshuffles[number - 1])
        return self.reshuffles[number - 1]


def sampler_of(game, seat):
    return Sampler(game.rules, game.view(seat), game.log_for(seat, own_draws=True))


def history(game, seat):
    """Return the log of the present hand as a seat may see it, the cards that it drew included."""
    return game.log_for(seat, len(game.log) - len(game._hand.log), own_draws=True)


def check_replay(world, game, seat):
    """Play the present hand of `game` anew with the decks of `world`: the seat must see the same at every step."""
    hand = world._hand
    twin = Game.restored(
        game.rules,
        type(hand)(hand.setting, no=hand.no, dealer=hand.dealer, totals=hand.totals, decks=DecksOf(hand)),
        decisions=game._past_decisions,
        eliminated_in=world._eliminated_in,
    )
    told = history(game, seat)
    waiting = [entry for entry in told[1:] if entry.get("event") == "fault"]
    for entry in told[1:]:
        if "move" in entry:
            twin.play(entry["move"])
        elif entry.get("event") == "fault":
            waiting.remove(entry)
    assert not waiting
    seen = [entry for entry in told if entry.get("event") != "fault"]
    assert history(twin, seat) == seen
    assert {**twin.view(seat), "faulted": None} == {**game.view(seat), "faulted": None}


@settings(max_examples=80, deadline=None)
@given(any_rules(), seat_counts, seeds, policies)
def test_samples_agree_with_the_whole_history(rules, seats, seed, policy):
    rng = random.Random(policy)
    game = Game(rules, seats, seed)
    for _ in range(6):
        play_out(game, rng, limit=rng.randrange(60))
        if game.decision is None:
            return
        for seat in set(range(seats)) - set(game.eliminated):
            world = sampler_of(game, seat).sample(rng)
            assert world.decision == game.decision
            assert world.view(seat) == game.view(seat)
            assert history(world, seat) == history(game, seat)
            held = [*world._hand.down, *world._hand.up, world._hand.stock[world._hand.at :], world._hand.discards]
            drawn = [] if world._hand.drawn is None else [world._hand.drawn]
            assert sorted(card for cards in [*held, drawn] for card in cards) == list(range(80))
            check_replay(world, game, seat)


def test_sampled_game_goes_on_to_its_end_and_leaves_the_real_one_alone():
    game = play_out(Game(Rules.preset("common", target=30), 3, bytes(32)), random.Random(4), limit=20)
    before = game.view(None, revealed=True)
    world = sampler_of(game, 1).sample(random.Random(5))
    play_out(world, random.Random(6))
    assert world.result.how == "target" and max(world.result.totals) >= 30
    assert game.view(None, revealed=True) == before


def test_sampled_game_has_no_record():
    game = Game(Rules.preset("classic", target=20), 2, bytes(32))
    world = play_out(sampler_of(game, 0).sample(random.Random(1)), random.Random(2))
    with pytest.raises(ValueError, match="dealt from a seed"):
        record_of(world)


def test_sampler_is_not_told_what_its_seat_does_not_see():
    """Two games that differ in hidden cards only give the same samples to the same generator."""
    rng = random.Random(9)
    for policy in range(10):
        game = Game(Rules.preset("classic", target=1000), 3, bytes(32))
        play_with_secret_calls_left_out(game, 1, random.Random(policy), 60)
        twin = swapped(game, 1, rng)
        one, other = (sampler_of(each, 1).sample(random.Random(3)) for each in (game, twin))
        assert one.view(None, revealed=True) == other.view(None, revealed=True)
        assert one._hand.deck == other._hand.deck
        assert game._hand.deck != twin._hand.deck


def test_sampler_refuses_a_game_that_is_over():
    game = play_out(Game(Rules.preset("classic", target=10), 2, bytes(32)), random.Random(2))
    with pytest.raises(ValueError, match="goes on"):
        sampler_of(game, 0)


def check_even(counts, ways):
    """Check by chi-square that what came up has the weights of `ways` (within five standard deviations)."""
    assert counts.keys() == ways.keys()
    expected = {way: counts.total() * weight / ways.total() for way, weight in ways.items()}
    chi = sum((counts[way] - expected[way]) ** 2 / expected[way] for way in expected)
    freedom = len(expected) - 1
    assert chi < freedom + 5 * (2 * freedom) ** 0.5


def kinds_of(cards):
    return tuple(card % 40 for card in cards)


@pytest.mark.parametrize(
    ("stock", "kinds", "picky"),
    [
        pytest.param((1, 2, 3, 4), (None,) * 4, {}, id="free"),
        pytest.param((1, 41, 2, 3), (None, 1, None, None), {}, id="one-of-two-copies-known"),
        pytest.param((1, 2, 3, 4, 5), (None,) * 5, {0: {1, 2}, 3: {2, 3, 4}}, id="overlapping"),
        pytest.param((1, 2, 3, 41, 42), (None, 2, None, None, None), {0: {1, 2}, 4: {1, 3}, 2: {1}}, id="nested"),
    ],
)
def test_plan_deals_every_way_alike(stock, kinds, picky):
    picky = {place: frozenset(found) for place, found in picky.items()}
    ways = [
        cards
        for cards in permutations(stock)
        if all(kind in (None, card % 40) for card, kind in zip(cards, kinds, strict=True))
        and all(cards[place] % 40 in found for place, found in picky.items())
    ]
    plan, rng = Plan(kinds, picky, stock=stock), random.Random(1)
    counts = Counter()
    while counts.total() < 4_000:
        if (cards := plan.deal(rng)) is not None:
            counts[kinds_of(cards)] += 1
    # Which copy is known is dealt once and for all, so ways are told apart by kinds.
    check_even(counts, Counter(kinds_of(cards) for cards in ways))


def test_two_decks_deal_every_way_alike():
    """Two eyes on seven cards: a deck, then the discards shuffled, and cards seen in both."""
    stock = (1, 41, 2, 42, 3, 4, 5)
    # Tokens 0 and 1 lie face-down unseen, 2 was seen as a "1" and discarded, 3 to 6 were discarded, 5 and 6 unseen.
    first = [None, None, 1, 3, 4, None, None]
    # The second deck: a "1" was seen, and a "2", the others are unseen; one of them lies face-down, vouched for.
    second = [1, None, 2, None, None]
    made_of = [2, 3, 4, 5, 6]
    knowledge = Knowledge(Rules.preset("classic"), cards=stock, kinds=[*first, *second])
    knowledge.down, knowledge.up = [0, 1, 8, 8], [7, 9, 7, 9]
    knowledge.decks = [Deck(0, 7), Deck(7, 5, made_of, [0, 1])]
    knowledge.vouched = {8: frozenset({2, 3, 4}), 1: frozenset({1, 2, 5})}
    ways = Counter()
    for cards in permutations(stock):
        if any(kind not in (None, card % 40) for card, kind in zip(cards, first, strict=True)):
            continue
        if cards[1] % 40 not in knowledge.vouched[1]:
            continue
        for later in permutations([cards[token] for token in made_of]):
            seen = all(kind in (None, card % 40) for card, kind in zip(later, second, strict=True))
            if seen and later[1] % 40 in knowledge.vouched[8]:
                ways[kinds_of([*cards, *later])] += 1
    plans, rng, counts = knowledge.plans(), random.Random(1), Counter()
    while counts.total() < 20_000:
        cards = plans[0].deal(rng)
        later = cards and plans[1].deal(rng, [cards[token] for token in made_of])
        if later:
            counts[kinds_of([*cards, *later])] += 1
    check_even(counts, ways)
