"""The eighty cards, as small integers with lookup tables (rules 1).

A card is an integer below 80. `card % 40` says what it is and `card // 40` which of
the two copies; no rule tells copies apart, so cards are only ever compared by what
the tables below say of them. Text ("Td") is for the door: `format_cards` on the way
out, `parse_card` on the way in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Card = int

RANKS = "A23456789T"
SUITS = "shdc"
HIDDEN = "??"
DECK_SIZE = 80

# The sorted deck: within a pack suit by suit, within a suit A 2 … 9 T, then all again (rules 11).
SORTED_DECK: tuple[Card, ...] = tuple(range(DECK_SIZE))
NAMES: tuple[str, ...] = tuple(rank + suit for suit in SUITS for rank in RANKS) * 2
RANK: tuple[int, ...] = tuple(card % 10 + 1 for card in SORTED_DECK)
IS_RED: tuple[bool, ...] = tuple(name[1] in "hd" for name in NAMES)

ACE = 1
TEN = 10

_BY_NAME: dict[str, Card] = {name: card for card, name in reversed(list(enumerate(NAMES)))}


def parse_card(text: str) -> Card:
    """Return the first of the two copies of the card written `text`.

    Raises:
        ValueError: `text` names no card.
    """
    card = _BY_NAME.get(text)
    if card is None:
        raise ValueError(f"expected a rank of {RANKS} and a suit of {SUITS}: {text!r}")
    return card


def parse_deck(texts: Sequence[str]) -> list[Card]:
    """Return the cards written in `texts`, each of the eighty once.

    Raises:
        ValueError: a text names no card, or a card is missing or too many.
    """
    kinds = [parse_card(text) for text in texts]
    if sorted(kinds) != sorted(card % 40 for card in SORTED_DECK):
        raise ValueError(f"expected the {DECK_SIZE} cards, each of {len(set(NAMES))} twice: {len(kinds)} cards")
    # The second of two alike is the other copy.
    return [kind + 40 * (kind in kinds[:place]) for place, kind in enumerate(kinds)]


def format_cards(cards: Iterable[Card]) -> list[str]:
    """Return the two-character names of `cards`, in order."""
    return [NAMES[card] for card in cards]
