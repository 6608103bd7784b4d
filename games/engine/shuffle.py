"""Fair shuffles that anyone can recompute once the seed is revealed (rules 11), and the seats (rules 2).

Every random thing of a match follows from `server_seed` and the players' seeds. This
module keeps neither; it never draws randomness of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

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

    def __init__(self, key: bytes, label: str) -> None:
        self._words = _words(key, label)

    def below(self, m: int) -> int:
        """Return the next integer below `m`; words from the incomplete last range are skipped."""
        limit = 2**32 - 2**32 % m
        for word in self._words:
            if word < limit:
                return word % m
        raise AssertionError("the stream has no end")

    def shuffled(self, cards: Sequence[Card]) -> list[Card]:
        """Return `cards` in a new order, by Fisher–Yates from the back."""
        deck = list(cards)
        for i in range(len(deck) - 1, 0, -1):
            j = self.below(i + 1)
            deck[i], deck[j] = deck[j], deck[i]
        return deck


def _words(key: bytes, label: str) -> Iterator[int]:
    block = 0
    while True:
        data = hmac.digest(key, f"{label}:{block}".encode("ascii"), "sha256")
        yield from struct.unpack(">8I", data)
        block += 1


class Shuffler:
    """All the decks of one match; the front of a list is the top of the deck."""

    def __init__(self, server_seed: bytes, player_seeds: Sequence[str]) -> None:
        self._key = match_key(server_seed, player_seeds)

    def deal(self, hand: int) -> list[Card]:
        """Return the shuffled and cut deck of hand number `hand`, from 1."""
        stream = Stream(self._key, f"deal/{hand}")
        deck = stream.shuffled(SORTED_DECK)
        cut = stream.below(DECK_SIZE)
        return deck[cut:] + deck[:cut]

    def reshuffle(self, hand: int, number: int, discards: Sequence[Card]) -> list[Card]:
        """Return a new stock made of the discard pile, given from bottom to top (rules 7)."""
        return Stream(self._key, f"reshuffle/{hand}/{number}").shuffled(discards)


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
    stream = Stream(match_key(server_seed, player_seeds), "seats")
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
