"""Full games that agree with what one player has seen, drawn at random: for programs that search.

A `Sampler` is made of what a seat has been shown, its view and its log, and of nothing
else. All deals that agree with everything that the seat has seen are equally likely.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

from .cards import Card
from .game import Fault, Game
from .hand import NOBODY, PICK, SHOW_OR_GO, Hand, Setting
from .knowledge import Knowledge
from .log import Entry, Moved, is_move
from .notation import SHOW
from .rules import Rules
from .shuffle import Decks, GivenDeck, RandomDecks

NO_TOKEN = -1


class Sampler:
    """Samples full games that agree with what a seat has been shown.

    `view` is `Game.view(seat)` and `history` is `Game.log_for(seat, own_draws=True)`, from
    the start of the game, or a bot's own account of both.

    Raises:
        ValueError: the game is over, or the history has no hand.
    """

    def __init__(self, rules: Rules, view: Mapping[str, Any], history: Sequence[Mapping[str, Any]]) -> None:
        if view["kind"] is None:
            raise ValueError("expected a game that goes on: no decision is pending")
        starts = [number for number, event in enumerate(history) if event.get("event") == "hand"]
        if not starts:
            raise ValueError("expected a history with the hand that is played: it has none")
        self._rules, self._view = rules, view
        self._dealt = history[starts[-1]]
        self._knowledge = self._learn(history[starts[-1] :])
        # Each entry of the hand's log, and its tokens if it is a decision.
        self._entries = [(entry, _with_tokens(entry) if is_move(entry) else None) for entry in self._knowledge.log]
        self._asides = sum(move is None for _entry, move in self._entries)
        self._lapses = self._knowledge.open_lapses()
        self._plans = self._knowledge.plans()
        self._totals = list(self._dealt["totals"])
        seats = range(view["seats"])
        self._setting = Setting.of(rules, [seat for seat in seats if seat not in view["eliminated"]], len(seats))
        self._faults = list(_faults(history))
        self._eliminated_in = self._eliminations([history[start] for start in starts])

    def _learn(self, events: Sequence[Mapping[str, Any]]) -> Knowledge:
        view, knowledge = self._view, Knowledge(self._rules)
        knowledge.see_deal(events[0])
        for event in events[1:]:
            knowledge.see(event)
        deck = knowledge.decks[-1]
        if view["drawn"] is not None:
            knowledge.learn(deck.first + deck.at, view["drawn"])
        for seat, texts in enumerate(view["down"]):
            for slot, text in enumerate(texts):
                knowledge.learn(knowledge.down[4 * seat + slot], text)
        if view["kind"] == SHOW_OR_GO:
            # He is asked, so his coops hold.
            knowledge.vouch(view["to_act"])
        return knowledge

    def _eliminations(self, deals: Sequence[Mapping[str, Any]]) -> dict[int, int]:
        """Return by eliminated seat the hand after which it was not dealt to any more."""
        last = {seat: deal["no"] for deal in deals for seat, cards in enumerate(deal["up"]) if cards}
        return {seat: last.get(seat, 0) for seat in self._view["eliminated"]}

    @property
    def is_vouched(self) -> bool:
        """Whether a call narrows what cards unseen on the table may be."""
        return any(token in self._knowledge.vouched for token in self._knowledge.unseen())

    def sample(self, rng: Random) -> Game:
        """Return a game at the same decision, dealt at random, which goes on with decks out of `rng`.

        It has the present hand alone: no earlier ones, no seed, and no record.
        """
        cards = self._deal(rng)
        return Game.restored(
            self._rules,
            self._hand(cards, RandomDecks(rng)),
            decisions=self._view["decision"] - 1,
            faults=self._faults,
            eliminated_in=self._eliminated_in,
        )

    def _deal(self, rng: Random) -> list[Card]:
        """Return a card for each token, the decks of the hand one after the other."""
        while True:
            cards = self._try_deal(rng)
            if cards is not None and self._knowledge.explains(self._lapses, cards):
                return cards

    def _try_deal(self, rng: Random) -> list[Card] | None:
        cards: list[Card] = []
        for plan, deck in zip(self._plans, self._knowledge.decks, strict=True):
            dealt = plan.deal(rng, [cards[token] for token in deck.made_of])
            if dealt is None:
                return None
            cards += dealt
        return cards

    def _hand(self, cards: Sequence[Card], decks: Decks) -> Hand:
        knowledge, view, dealt = self._knowledge, self._view, self._dealt
        lying = [list(cards[deck.first : deck.first + deck.size]) for deck in knowledge.decks]
        opening = GivenDeck(lying[0], decks)
        hand = Hand(self._setting, no=dealt["no"], dealer=dealt["dealer"], totals=self._totals, decks=opening)
        hand.decks = decks
        hand._down, hand._up = [cards[token] for token in knowledge.down], [cards[token] for token in knowledge.up]
        hand.judge()
        hand.reshuffles = lying[1:]
        hand.stock, hand.at = lying[-1], knowledge.decks[-1].at
        hand.caller, hand.shield = knowledge.caller, knowledge.shield
        hand.log += self._log(cards)
        hand.asides += self._asides
        hand.ask(view["kind"], view["to_act"])
        if hand.kind == PICK:
            self._restore_picks(hand)
        return hand

    def _log(self, cards: Sequence[Card]) -> list[Entry]:
        """Return the hand's log after its deal, with cards for tokens."""
        shown = [*cards, None]  # NO_TOKEN is its last place
        return [
            entry if move is None else (move[0], move[1], shown[move[2]], shown[move[3]])
            for entry, move in self._entries
        ]

    def _restore_picks(self, hand: Hand) -> None:
        """Note who has won the hand and what was picked so far."""
        shown = any(is_move(entry) and entry[1] == SHOW for entry in hand.log)
        winner = hand.caller if shown or (hand.caller != NOBODY and all(hand.coops(hand.caller))) else None
        picks = [(entry[0], entry[1]) for entry in hand.log if is_move(entry) and entry[1][0] == "p"]
        hand.restore_picks(winner, picks)


def _with_tokens(entry: Moved) -> tuple[int, str, int, int]:
    seat, move, drew, out = entry
    return seat, move, NO_TOKEN if drew is None else drew, NO_TOKEN if out is None else out


def _faults(history: Sequence[Mapping[str, Any]]) -> Iterator[Fault]:
    """Yield the faults of a history, each with the hand and the decision during which it came."""
    hand, decisions = 0, 0
    for event in history:
        hand = event["no"] if event.get("event") == "hand" else hand
        decisions += "move" in event
        if event.get("event") == "fault":
            yield Fault(event["seat"], event["kind"], hand, decisions + 1, "")
