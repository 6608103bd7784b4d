"""Fair shuffles that anyone can recompute once the seed is revealed (rules 11), and the seats (rules 2).

Every random thing of a match follows from `server_seed` and the players' seeds. This
module keeps neither; it never draws randomness of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple, Protocol

from .cards import DECK_SIZE, NAMES, RANK, SORTED_DECK, Card

SCHEME = "soureh-shuffle/1"
SEED_BYTES = 32
PLAYER_SEED_MAX = 64


def commitment(server_seed: bytes) -> str:
    """Return what is published before the first card: SHA-256 of the seed, in hex."""
    return hashlib.sha256(server_seed).hexdigest()


def rng_seed(server_seed: bytes, seat: int) -> str:
    """Return the 16 hex digits with which the bot in `seat` may seed its own generator."""
    return hmac.digest(server_seed, f"rng/{seat}".encode("ascii"), "sha256").hex()[:16]


def match_key(server_seed: bytes, player_seeds: Sequence[str]) -> bytes:
    """Return the key K of a match; `player_seeds` in order of entry.

    Raises:
        ValueError: a seed has the wrong length or characters that are not printable ASCII.
    """
    if len(server_seed) != SEED_BYTES:
        raise ValueError(f"expected a server seed of {SEED_BYTES} bytes: {len(server_seed)}")
    for seed in player_seeds:
        if len(seed) > PLAYER_SEED_MAX or not (seed.isascii() and seed.isprintable()):
            raise ValueError(f"expected up to {PLAYER_SEED_MAX} printable ASCII characters: {ascii(seed[:80])}")
    return hmac.digest(server_seed, "\n".join(player_seeds).encode("ascii"), "sha256")


class Stream:
    """The integers of one label: 4 bytes each, big-endian, without bias."""

    def __init__(self, mac: Mac, label: str) -> None:
        self._mac = mac
        self._label = label.encode("ascii")
        self._blocks = 0
        self._words: list[int] = []  # those not taken yet, the next one last

    def _fill(self, count: int) -> None:
        """Have at least `count` words ready."""
        blocks = (count - len(self._words) + 7) // 8
        if blocks > 0:
            digest, label = self._mac.digest, self._label
            numbers = range(self._blocks, self._blocks + blocks)
            data = b"".join([digest(b"%s:%d" % (label, number)) for number in numbers])
            self._words = [*struct.unpack(f">{8 * blocks}I", data)[::-1], *self._words]
            self._blocks += blocks

    def below(self, m: int) -> int:
        """Return the next integer below `m`; words from the incomplete last range are skipped."""
        limit = 2**32 - 2**32 % m
        while True:
            self._fill(1)
            word = self._words.pop()
            if word < limit:
                return word % m

    def shuffled(self, cards: Sequence[Card]) -> list[Card]:
        """Return `cards` in a new order, by Fisher–Yates from the back."""
        deck = list(cards)
        last = len(deck) - 1
        self._fill(last)
        words = self._words[: -last - 1 : -1] if last > 0 else []
        if max(words, default=0) >= 2**32 - len(deck):
            # One of them may have to be skipped, which happens once in a million decks.
            for i in range(last, 0, -1):
                j = self.below(i + 1)
                deck[i], deck[j] = deck[j], deck[i]
            return deck
        del self._words[len(self._words) - max(last, 0) :]
        for i, m, word in zip(range(last, 0, -1), range(last + 1, 1, -1), words, strict=True):
            j = word % m
            deck[i], deck[j] = deck[j], deck[i]
        return deck


class Mac:
    """HMAC-SHA256 (RFC 2104) under one key: the two hashes are prepared once, which takes a third of the time."""

    def __init__(self, key: bytes) -> None:
        padded = key.ljust(64, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))

    def digest(self, message: bytes) -> bytes:
        """Return the 32 bytes for a message."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()


class Decks(Protocol):
    """Where the decks of a game come from; the front of a list is the top of the deck."""

    def deal(self, hand: int) -> list[Card]:
        """Return the deck of hand number `hand`, from 1."""
        ...

    def reshuffle(self, hand: int, number: int, discards: Sequence[Card]) -> list[Card]:
        """Return new stock number `number`, from 1, of a hand, made of the discard pile from bottom to top."""
        ...


class Shuffler:
    """The decks of a match, out of its seeds."""

    def __init__(self, server_seed: bytes, player_seeds: Sequence[str]) -> None:
        self._mac = Mac(match_key(server_seed, player_seeds))

    def deal(self, hand: int) -> list[Card]:
        """Return the shuffled and cut deck of hand number `hand`, from 1."""
        stream = Stream(self._mac, f"deal/{hand}")
        deck = stream.shuffled(SORTED_DECK)
        cut = stream.below(DECK_SIZE)
        return deck[cut:] + deck[:cut]

    def reshuffle(self, hand: int, number: int, discards: Sequence[Card]) -> list[Card]:
        """Return a new stock made of the discard pile, given from bottom to top (rules 7)."""
        return Stream(self._mac, f"reshuffle/{hand}/{number}").shuffled(discards)


class GivenDeck:
    """A deck that is known, and where others come from."""

    def __init__(self, deck: Sequence[Card], others: Decks) -> None:
        self._deck, self._others = deck, others
        self._is_dealt = False

    def deal(self, hand: int) -> list[Card]:
        """Return the given deck, and the next time another."""
        if self._is_dealt:
            return self._others.deal(hand)
        self._is_dealt = True
        return list(self._deck)

    def reshuffle(self, hand: int, number: int, discards: Sequence[Card]) -> list[Card]:
        """Return a new stock."""
        return self._others.reshuffle(hand, number, discards)


class RandomDecks:
    """Decks out of a random generator, for games whose seed is not known."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    def deal(self, hand: int) -> list[Card]:
        """Return a shuffled deck."""
        return shuffled(SORTED_DECK, self._rng)

    def reshuffle(self, hand: int, number: int, discards: Sequence[Card]) -> list[Card]:
        """Return a new stock made of the discard pile."""
        return shuffled(discards, self._rng)


def shuffled(cards: Sequence[Card], rng: Random) -> list[Card]:
    """Return `cards` in a random order; `Random.shuffle` takes three times as long."""
    random = rng.random
    return [card for _key, card in sorted([(random(), card) for card in cards])]


class Seating(NamedTuple):
    """Who sits where: `order[seat]` is the entrant; `rounds` are the draws, entrant (as text) to card."""

    how: str
    order: tuple[int, ...]
    rounds: list[dict[str, str]]


def fixed_seats(n: int) -> Seating:
    """Return the seating of a match whose seats were decided beforehand."""
    return Seating("fixed", tuple(range(n)), [])


def draw_seats(server_seed: bytes, player_seeds: Sequence[str]) -> Seating:
    """Draw for the deal among `len(player_seeds)` entrants (rules 2).

    All whose rank is also another's current card draw again, in the entrants' order.
    """
    stream = Stream(Mac(match_key(server_seed, player_seeds)), "seats")
    deck: list[Card] = []
    current: dict[int, Card] = {}
    rounds: list[dict[str, str]] = []
    drawing = list(range(len(player_seeds)))
    while drawing:
        for entrant in drawing:
            # Ties that eat up a deck are conceivable; then a new one is shuffled.
            deck = deck or stream.shuffled(SORTED_DECK)
            current[entrant] = deck.pop(0)
        rounds.append({str(entrant): NAMES[current[entrant]] for entrant in drawing})
        ranks = Counter(RANK[card] for card in current.values())
        drawing = [entrant for entrant, card in sorted(current.items()) if ranks[RANK[card]] > 1]
    order = sorted(current, key=lambda entrant: RANK[current[entrant]])
    return Seating("draw", tuple(order), rounds)
