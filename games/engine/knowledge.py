"""What one player can know of a hand, and deals drawn at random from all that agree with it.

A face-down card is a place in a deck until it is seen. The places are tokens: the table
is followed token by token, and what the seat learns is written to them. A reshuffle makes
a new deck, whose tokens hold the cards of the discards in an order that nobody knows. So
a sample deals the decks of the hand one after the other: what is known to its place, what
a call vouches for to a place that may hold it, and the rest anywhere.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from math import prod
from random import Random
from typing import Any, NamedTuple

from .cards import HIDDEN, SORTED_DECK, Card, parse_card
from .coops import Table, coop_table
from .hand import NOBODY, UNLIMITED, clockwise
from .log import CallLapsed, Entry, Faulted, Reshuffled
from .notation import GO, TURN_MOVES
from .rules import Rules
from .shuffle import shuffled

KINDS = 40  # the two copies of a card are of one kind: card % KINDS
COPIES = 2

Token = int
Kind = int
KindSet = frozenset[Kind]

ALL_KINDS: KindSet = frozenset(range(KINDS))


def parse_kind(text: str) -> Kind:
    """Return the kind of the card written `text`."""
    return parse_card(text) % KINDS


@cache
def kinds_under(valid: Table, up: Kind) -> KindSet:
    """Return what may lie face-down under a face-up card so that their coop is valid."""
    return frozenset(kind for kind in range(KINDS) if valid[up][kind])


@dataclass
class Deck:
    """One deck of a hand: its tokens count from `first`, the top, and `at` of them are off it.

    Unless it is the hand's first, it was made of the cards of other tokens, the discards,
    while `table` lay on the table.
    """

    first: Token
    size: int
    made_of: Sequence[Token] = ()
    table: Sequence[Token] = ()
    at: int = 0


@dataclass
class Knowledge:
    """A hand as a seat sees it, token by token. Places on the table count as in `hand`: four for each seat."""

    rules: Rules
    cards: Sequence[Card] = SORTED_DECK  # what the first deck is made of
    decks: list[Deck] = field(default_factory=list)
    kinds: list[Kind | None] = field(default_factory=list)  # by token; None is unknown
    down: list[Token] = field(default_factory=list)  # by place
    up: list[Token] = field(default_factory=list)
    discards: list[Token] = field(default_factory=list)  # bottom to top
    caller: int = NOBODY
    shield: int = UNLIMITED
    # What unknown tokens may be of, where a call has vouched for them.
    vouched: dict[Token, KindSet] = field(default_factory=dict)
    # Calls that lapsed by themselves: of these coops, a token and the kind face-up over it, one at least is not valid.
    lapses: list[list[tuple[Token, Kind]]] = field(default_factory=list)
    # The hand's log after its deal, with tokens for cards.
    log: list[Entry] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._valid = coop_table(self.rules.coop_colour, self.rules.aces)

    def see_deal(self, event: Mapping[str, Any]) -> None:
        """Take in the `hand` entry of the log; everything else comes after it."""
        self._start_deck(range(0))
        seats = range(len(event["up"]))
        self.down, self.up = [0] * (4 * len(seats)), [0] * (4 * len(seats))
        playing = [seat for seat in seats if event["up"][seat]]
        for seat in clockwise(playing, dealer=event["dealer"]):
            for texts, tokens in ((event["down"], self.down), (event["up"], self.up)):
                for slot, text in enumerate(texts[seat]):
                    tokens[4 * seat + slot] = token = self._take()
                    self.learn(token, text)

    def see(self, event: Mapping[str, Any]) -> None:
        """Take in one later entry of the hand's log."""
        if "move" in event:
            self._see_move(event)
        elif event["event"] == "call_lapsed":
            self._see_lapse(event["seat"])
        elif event["event"] == "reshuffle":
            self._start_deck(self.discards)
            self.discards = []
            self.log.append(Reshuffled())
        elif event["event"] == "fault":
            self.log.append(Faulted(event["seat"], event["kind"]))

    def _start_deck(self, made_of: Sequence[Token]) -> None:
        size = len(made_of) or len(self.cards)
        self.decks.append(Deck(len(self.kinds), size, made_of, [*self.down, *self.up] if made_of else []))
        self.kinds += [None] * size

    def _take(self) -> Token:
        deck = self.decks[-1]
        deck.at += 1
        return deck.first + deck.at - 1

    def learn(self, token: Token, text: str) -> None:
        """Write what card a token is, if `text` tells."""
        if text != HIDDEN:
            self.kinds[token] = parse_kind(text)

    def _see_move(self, event: Mapping[str, Any]) -> None:
        seat, text = event["seat"], event["move"]
        move = TURN_MOVES.get(text)
        if move is None:
            self.log.append((seat, text, None, None))
            if text == GO:
                # He was asked, so his coops held; and the lapse that follows tells nothing.
                self.vouch(seat)
                self._end_call()
            return
        drawn = self._take()
        self.learn(drawn, event.get("drew", HIDDEN))
        out = drawn
        if move.kind == "k":
            place = 4 * seat + move.slot
            out, self.down[place] = self.down[place], drawn
            self.learn(out, event["out"])
        elif move.kind == "s":
            place = 4 * move.seat + move.slot
            out, self.up[place] = self.up[place], drawn
            self.learn(drawn, event["card"])
            if move.seat == self.caller:
                self.shield -= 1
        self.discards.append(out)
        self.log.append((seat, text, drawn, out))
        if move.calls:
            self.caller = seat
            self.shield = UNLIMITED if self.rules.caller_shield is None else self.rules.caller_shield
            if self.rules.calls == "valid":
                self.vouch(seat)

    def _coops(self, seat: int) -> list[tuple[Token, Kind]]:
        """Return a seat's face-down tokens, each with the kind that lies face-up over it."""
        found = []
        for place in range(4 * seat, 4 * seat + 4):
            up = self.kinds[self.up[place]]
            if up is None:
                raise AssertionError("what lies face-up is known")
            found.append((self.down[place], up))
        return found

    def vouch(self, seat: int) -> None:
        """Note that all four coops of a seat are valid."""
        for token, up in self._coops(seat):
            self.vouched[token] = self.vouched.get(token, ALL_KINDS) & kinds_under(self._valid, up)

    def _end_call(self) -> None:
        self.caller, self.shield = NOBODY, UNLIMITED

    def _see_lapse(self, seat: int) -> None:
        if self.caller != NOBODY:
            self.lapses.append(self._coops(seat))
        self._end_call()
        self.log.append(CallLapsed(seat))

    # What follows from it

    def unseen(self) -> list[Token]:
        """Return the tokens that lie on the table and are not known."""
        return [token for token in self.down if self.kinds[token] is None]

    def open_lapses(self) -> list[list[tuple[Token, Kind]]]:
        """Return the lapses that what is known does not explain; one that a single token must explain is settled."""
        found = []
        for lapse in self.lapses:
            known = [(self.kinds[token], up) for token, up in lapse]
            if any(kind is not None and not self._valid[up][kind] for kind, up in known):
                continue
            unsure = [(token, up) for token, up in lapse if self._may_be_invalid(token, up)]
            if len(unsure) == 1:
                ((token, up),) = unsure
                holds = kinds_under(self._valid, up)
                self.vouched[token] = self.vouched.get(token, ALL_KINDS) - holds
            else:
                found.append(unsure)
        return found

    def _may_be_invalid(self, token: Token, up: Kind) -> bool:
        return self.kinds[token] is None and not self.vouched.get(token, ALL_KINDS) <= kinds_under(self._valid, up)

    def explains(self, lapses: Iterable[Iterable[tuple[Token, Kind]]], cards: Sequence[Card]) -> bool:
        """Whether a deal leaves in each lapse a coop that is not valid."""
        return all(any(not self._valid[up][cards[token]] for token, up in lapse) for lapse in lapses)

    def plans(self) -> list[Plan]:
        """Return for each deck how it is to be dealt."""
        later: list[Demand] = []
        plans = []
        # From the last to the first: what a deck leaves for the decks after it, these must have known before.
        for deck in reversed(self.decks):
            kinds = self.kinds[deck.first : deck.first + deck.size]
            elsewhere = [self.kinds[token] for token in deck.table]
            lying = [place for place, kind in enumerate(kinds) if kind is None and deck.first + place in self.down]
            vouched = {place: self.vouched.get(deck.first + place, ALL_KINDS) for place in lying}
            picky = {place: kinds for place, kinds in vouched.items() if later or kinds != ALL_KINDS}
            stock = None if deck.made_of else self.cards
            plans.append(Plan(kinds, picky, elsewhere=elsewhere, stock=stock, later=later))
            later = [*later, Demand.of(kinds, elsewhere)]
        return plans[::-1]


class Demand(NamedTuple):
    """What a later deck is known to have had, by kind: `there` copies, of the `copies` that did not lie elsewhere."""

    copies: list[int]
    there: list[int]

    @classmethod
    def of(cls, kinds: Sequence[Kind | None], elsewhere: Sequence[Kind | None]) -> Demand:
        """Return the demand of a deck with these known kinds, while those `elsewhere` lay on the table."""
        return cls(
            [COPIES - elsewhere.count(kind) for kind in range(KINDS)], [kinds.count(kind) for kind in range(KINDS)]
        )

    def odds(self, kind: Kind, taken: int) -> float:
        """Return the share of the ways to meet the demand that is left if one more copy of `kind` lies elsewhere."""
        left = self.copies[kind] - taken
        return max(0.0, (left - self.there[kind]) / left) if left > 0 else 0.0


class Plan:
    """How a deck is dealt at random, every way that agrees as likely as any other.

    `kinds` has by place the kind that is known to lie there, or None, and `picky` by place
    the kinds that may lie there. `elsewhere` are kinds that lay on the table when the deck
    was made. The first deck of a hand is dealt from `stock`; a later one from what `deal`
    is given. `later` is what later decks demand: each of their ways is a way of its own, so
    a card that leaves them fewer is chosen less often.

    Picky places choose one after the other among the cards that are left, by weight. So a
    deal comes up with the inverse of the product of the sums of these weights. It counts
    only with the probability of that product over a bound on it, which makes up for that.
    """

    def __init__(
        self,
        kinds: Sequence[Kind | None],
        picky: Mapping[int, KindSet],
        *,
        elsewhere: Sequence[Kind | None] = (),
        stock: Sequence[Card] | None = SORTED_DECK,
        later: Sequence[Demand] = (),
    ) -> None:
        self._size = len(kinds)
        self._picky = sorted(picky.items(), key=lambda item: len(item[1]))
        self._free = [place for place, kind in enumerate(kinds) if kind is None and place not in picky]
        self._known = [(place, kind) for place, kind in enumerate(kinds) if kind is not None]
        # By how many copies are taken already, and kind.
        self._weights = [
            [prod(demand.odds(kind, taken) for demand in later) for kind in range(KINDS)] for taken in range(COPIES)
        ]
        # The first deck is always the same cards: what is known of it is dealt once and for all.
        self._opening = None if stock is None else self._deal_known(stock, Random(0))
        copies = [COPIES - elsewhere.count(kind) - kinds.count(kind) for kind in range(KINDS)]
        if self._opening is not None:
            copies = [sum(card % KINDS == kind for card in self._opening[1]) for kind in range(KINDS)]
        self._bound = prod(self._bound_of(number, copies) for number in range(len(self._picky)))

    def _bound_of(self, number: int, copies: Sequence[int]) -> float:
        """Return what the weights that the picky place of that number chooses by can come to."""
        kinds = self._picky[number][1]
        weights = sorted((self._weights[0][kind] for kind in kinds for _ in range(copies[kind])), reverse=True)
        weights = [weight for weight in weights if weight][: self._size - len(self._known)]
        if not weights:
            raise AssertionError("what was seen is possible")
        least = min(weight for row in self._weights for weight in row if weight)
        earlier = sum(earlier <= kinds for _place, earlier in self._picky[:number])
        return max(sum(weights) - earlier * least, least)

    def _deal_known(self, stock: Sequence[Card], rng: Random) -> tuple[list[Card], list[Card]] | None:
        """Return the cards by place and those that are left; None if the stock has not got what is known."""
        left: dict[Kind, list[Card]] = {}
        for card in stock:
            left.setdefault(card % KINDS, []).append(card)
        cards = [0] * self._size
        for place, kind in self._known:
            copies = left.get(kind)
            if not copies:
                return None
            cards[place] = copies.pop(int(rng.random() * len(copies)))
        return cards, [card for copies in left.values() for card in copies]

    def deal(self, rng: Random, stock: Sequence[Card] = ()) -> list[Card] | None:
        """Return a card for each place, or None if this attempt does not count."""
        opening = self._opening or self._deal_known(stock, rng)
        if opening is None:
            return None
        cards, rest = opening[0][:], opening[1][:]
        if self._picky and not self._choose(cards, rest, rng):
            return None
        for place, card in zip(self._free, shuffled(rest, rng), strict=True):
            cards[place] = card
        return cards

    def _choose(self, cards: list[Card], rest: list[Card], rng: Random) -> bool:
        """Let the picky places choose from `rest`; return whether this attempt counts."""
        product = 1.0
        taken = [0] * KINDS
        for place, kinds in self._picky:
            options = [card for card in rest if card % KINDS in kinds]
            ends = list(accumulate(self._weights[taken[card % KINDS]][card % KINDS] for card in options))
            if not ends or not ends[-1]:
                return False
            product *= ends[-1]
            card = options[bisect(ends, rng.random() * ends[-1])]
            cards[place] = card
            rest.remove(card)
            taken[card % KINDS] += 1
        return rng.random() * self._bound < product
