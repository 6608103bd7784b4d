"""Valid coops and the ace guard: truth tables made from the rules' sentences (rules 4, 5)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from .cards import ACE, IS_RED, RANK, SORTED_DECK, TEN, Card, parse_card

Table = tuple[tuple[bool, ...], ...]

ACE_CARD = parse_card("As")


def is_valid_coop(up: Card, down: Card, *, coop_colour: str, aces: str) -> bool:
    """Say whether a face-up and a face-down card make a valid coop (rules 5)."""
    if RANK[up] == RANK[down]:  # Equal ranks are invalid; two aces are no exception.
        return False
    if RANK[up] == ACE or (aces == "either" and RANK[down] == ACE):
        return True
    if coop_colour == "same" and IS_RED[up] != IS_RED[down]:
        return False
    return RANK[up] < RANK[down] if IS_RED[up] else RANK[up] > RANK[down]


def may_replace(drawn: Card, up: Card, *, ace_guard: str) -> bool:
    """Say whether the drawn card may replace an opponent's face-up card (rules 4)."""
    return RANK[up] != ACE or (ace_guard == "ten" and RANK[drawn] == TEN)


@cache
def coop_table(coop_colour: str, aces: str) -> Table:
    """Return `is_valid_coop` as a table, indexed by the face-up, then the face-down card."""
    return shared(
        tuple(is_valid_coop(up, down, coop_colour=coop_colour, aces=aces) for down in SORTED_DECK) for up in SORTED_DECK
    )


def shared(rows: Iterable[tuple[bool, ...]]) -> Table:
    """Return rows as a table in which equal rows are one, so that it fits into the processor's cache."""
    known: dict[tuple[bool, ...], tuple[bool, ...]] = {}
    return tuple(known.setdefault(row, row) for row in rows)


@cache
def fits_table(coop_colour: str, aces: str) -> Table:
    """Return `is_valid_coop` as a table, indexed by the face-down, then the face-up card."""
    return shared(zip(*coop_table(coop_colour, aces), strict=True))


@cache
def opens_table(ace_guard: str) -> tuple[bool, ...]:
    """Return by drawn card whether it may replace even a face-up ace; every other card any card may."""
    return tuple(may_replace(drawn, ACE_CARD, ace_guard=ace_guard) for drawn in SORTED_DECK)
