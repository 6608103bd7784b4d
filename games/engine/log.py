"""What happened in a game, entry by entry, as the engine knows it: hidden cards and all.

Entries never leave the engine; `view.render` turns each into what one viewer may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

from .cards import Card
from .scoring import HandEnd


class HandDealt(NamedTuple):
    """A hand was dealt out of `deck`, to the seats in `order`."""

    no: int
    dealer: int
    order: Sequence[int]
    deck: Sequence[Card]
    totals: Sequence[int]

    def down(self, seat: int) -> Sequence[Card]:
        """Return the face-down cards that a seat was dealt; none for an eliminated one (rules 3)."""
        first = 8 * self.order.index(seat) if seat in self.order else len(self.deck)
        return self.deck[first : first + 4]

    def up(self, seat: int) -> Sequence[Card]:
        """Return the face-up cards that a seat was dealt."""
        first = 8 * self.order.index(seat) + 4 if seat in self.order else len(self.deck)
        return self.deck[first : first + 4]


# A decision: its seat, the move and, if it was a turn, the card drawn for it and the card that it put on the discards,
# else None twice. A bare tuple, since there is one for every decision, and a class of its own would cost as much as the
# move.
Moved = tuple[int, str, Card | None, Card | None]


class CallLapsed(NamedTuple):
    """The caller's call stands no longer, by `go` or because his coops are not valid."""

    seat: int


class Reshuffled(NamedTuple):
    """The discards became the new stock."""


class Faulted(NamedTuple):
    """A seat is on autopilot from here on."""

    seat: int
    kind: str


class HandEnded(NamedTuple):
    """A hand is over; its cards are open."""

    no: int
    players: Sequence[int]
    cards: Sequence[Card]  # face-down, four for each seat
    end: HandEnd

    def down(self, seat: int) -> Sequence[Card]:
        """Return a seat's face-down cards; none for an eliminated one."""
        return self.cards[4 * seat : 4 * seat + 4] if seat in self.players else ()


class GameEnded(NamedTuple):
    """The game is over."""

    totals: Sequence[int]
    places: Sequence[int]
    how: str


Entry = HandDealt | Moved | CallLapsed | Reshuffled | Faulted | HandEnded | GameEnded


def is_move(entry: Entry) -> TypeGuard[Moved]:
    """Say whether an entry is a decision, and not one of the happenings, which are classes of their own."""
    return type(entry) is tuple
