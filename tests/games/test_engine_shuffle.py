"""Fair shuffles and the draw for the deal, against vectors made elsewhere."""

import struct

import pytest

from games.engine import commitment, draw_seats, fixed_seats, rng_seed
from games.engine.cards import NAMES, format_cards, parse_card
from games.engine.shuffle import Mac, Shuffler, Stream, match_key
from tests.games.engine_games import vector

SHUFFLES = vector("shuffles.json")


@pytest.fixture(params=range(len(SHUFFLES)))
def case(request):
    doc = SHUFFLES[request.param]
    return {**doc, "seed": bytes.fromhex(doc["server_seed"])}


def test_commitment_and_key(case):
    assert commitment(case["seed"]) == case["commitment"]
    assert match_key(case["seed"], case["player_seeds"]).hex() == case["key"]


def test_stream_of_integers(case):
    expected = case.get("first_integers_below_80_of_label_probe", [])
    stream = Stream(Mac(bytes.fromhex(case["key"])), "probe")
    assert [stream.below(80) for _ in expected] == expected


def test_seats_are_drawn(case):
    seating = draw_seats(case["seed"], case["player_seeds"])
    assert seating.how == "draw"
    assert list(seating.order) == case["seats"]["order"]
    assert seating.rounds == case["seats"]["rounds"]


def test_decks_are_dealt_and_reshuffled(case):
    shuffler = Shuffler(case["seed"], case["player_seeds"])
    for label in (label for label in case if label.startswith("deal/")):
        assert format_cards(shuffler.deal(int(label[5:]))) == case[label]
    for label in (label for label in case if label.startswith("reshuffle/")):
        _, hand, number = label.split("/")
        discards = [parse_card(name) for name in case["discards_bottom_to_top"]]
        assert format_cards(shuffler.reshuffle(int(hand), int(number), discards)) == case[label]


def test_every_deck_is_the_eighty_cards():
    shuffler = Shuffler(bytes(32), ["", ""])
    assert sorted(format_cards(shuffler.deal(7))) == sorted(NAMES)


def test_words_of_the_incomplete_range_are_skipped():
    class Words(Mac):
        def digests(self, start, ends):
            return [struct.pack(">8I", 2**32 - 1, 2**32 - 2, 2**32 - 3, 7, 0, 0, 0, 0) for _ in ends]

    stream = Stream(Words(b""), "x")
    # 2**32 % 2**31 is 0 and nothing is skipped; 2**32 % (2**31 + 1) is 2**31 - 1.
    assert stream.below(2**31) == 2**31 - 1
    assert stream.below(2**31 + 1) == 7


def test_shuffle_skips_a_word_where_one_integer_after_the_other_would():
    class Words(Mac):
        def digests(self, start, ends):
            # Of 2**32 the remainder is 4 by 6, 0 by 4, and 1 by 5 and by 3.
            high = (2**32 - 1, 2**32 - 5, 2**32 - 1, 5, 2**32 - 1, 2**32 - 1, 2**32 - 2, 9)
            return [struct.pack(">8I", *high) for _ in ends]

    def one_by_one(cards):
        stream = Stream(Words(b""), "x")
        for i in range(len(cards) - 1, 0, -1):
            j = stream.below(i + 1)
            cards[i], cards[j] = cards[j], cards[i]
        return cards, stream.below(7)

    stream = Stream(Words(b""), "x")
    assert (stream.shuffled("ABCDEF"), stream.below(7)) == one_by_one(list("ABCDEF"))


def test_rng_seed_differs_by_seat_only():
    assert rng_seed(bytes(32), 0) == rng_seed(bytes(32), 0) != rng_seed(bytes(32), 1)
    assert len(rng_seed(bytes(32), 3)) == 16


def test_fixed_seats_skip_the_draw():
    assert fixed_seats(3) == ("fixed", (0, 1, 2), [])


@pytest.mark.parametrize("seed", ["x" * 65, "é", "tab\t", "line\n"])
def test_player_seeds_out_of_bounds_are_refused(seed):
    with pytest.raises(ValueError, match="printable ASCII"):
        match_key(bytes(32), ["", seed])


@pytest.mark.parametrize("length", [0, 31, 33])
def test_server_seeds_of_another_length_are_refused(length):
    with pytest.raises(ValueError, match="32 bytes"):
        match_key(bytes(length), ["", ""])
