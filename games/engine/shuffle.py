"""Fair shuffles that anyone can recompute once the seed is revealed (rules 11), and the seats (rules 2).

Every random thing of a match follows from `server_seed` and the players' seeds. This
module keeps neither; it never draws randomness of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import mod
from random import Random
from typing import NamedTuple, Protocol

from .cards import DECK_SIZE, NAMES, RANK, SORTED_DECK, Card

SCHEME = "soureh-shuffle/1"
SEED_BYTES = 32
PLAYER_SEED_MAX = 64
WORDS = 8  # in a block of 32 bytes


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
        self._label = f"{label}:".encode("ascii")
        self._words: list[int] = []  # of all blocks so far
        self._taken = 0

    def _take(self, count: int) -> list[int]:
        """Return the next `count` words."""
        start, end = self._taken, self._taken + count
        blocks = (end - len(self._words) + WORDS - 1) // WORDS
        if blocks > 0:
            data = b"".join(self._mac.digests(self._label, _decimals(len(self._words) // WORDS, blocks)))
            self._words += struct.unpack(f">{WORDS * blocks}I", data)
        self._taken = end
        return self._words[start:end]

    def below(self, m: int) -> int:
        """Return the next integer below `m`; words from the incomplete last range are skipped."""
        limit = 2**32 - 2**32 % m
        while True:
            (word,) = self._take(1)
            if word < limit:
                return word % m

    def shuffled(self, cards: Sequence[Card]) -> list[Card]:
        """Return `cards` in a new order, by Fisher–Yates from the back."""
        deck = list(cards)
        i = len(deck)
        words = self._take(max(i - 1, 0))
        below: Iterable[int] = map(mod, words, range(i, 1, -1))
        if max(words, default=0) >= 2**32 - i:
            # One of them may have to be skipped, which happens once in a million decks: take one by one.
            self._taken -= len(words)
            below = map(self.below, range(i, 1, -1))
        for j in below:
            i -= 1
            card = deck[j]
            deck[j] = deck[i]
            deck[i] = card
        return deck


@lru_cache
def _decimals(first: int, count: int) -> tuple[bytes, ...]:
    """Return `count` numbers in decimal; most decks take the same few."""
    return tuple(b"%d" % number for number in range(first, first + count))


class Mac:
    """HMAC-SHA256 (RFC 2104) under one key: what messages have in common is hashed once, which saves half the time."""

    def __init__(self, key: bytes) -> None:
        padded = key.ljust(64, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in padded))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in padded))

    def digests(self, start: bytes, ends: Iterable[bytes]) -> list[bytes]:
        """Return the 32 bytes for each message that is `start` and one of `ends`."""
        begun = self._inner.copy()
        begun.update(start)
        found = []
        for end in ends:
            inner, outer = begun.copy(), self._outer.copy()
            inner.update(end)
            outer.update(inner.digest())
            found.append(outer.digest())
        return found


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
