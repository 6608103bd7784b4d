"""What happened in a game, entry by entry, as the engine knows it: hidden cards and all.

Entries never leave the engine; `view.render` turns each into what one viewer may see.
"""

from __future__ import annotations

from typing import NamedTuple

from .cards import Card
from .scoring import HandEnd


class HandDealt(NamedTuple):
    """The table as dealt; an eliminated seat has no cards."""

    no: int
    dealer: int
    down: list[list[Card]]
    up: list[list[Card]]
    totals: list[int]


class Moved(NamedTuple):
    """A decision. `drew` is None unless it was a turn; `shown` is the card that went face-up, if one did."""

    seat: int
    move: str
    drew: Card | None = None
    shown: Card | None = None


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
    down: list[list[Card]]
    end: HandEnd


class GameEnded(NamedTuple):
    """The game is over."""

    totals: list[int]
    places: list[int]
    how: str


Entry = HandDealt | Moved | CallLapsed | Reshuffled | Faulted | HandEnded | GameEnded
