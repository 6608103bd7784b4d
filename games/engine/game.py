"""A whole game: hand after hand until the rules, or faults, end it (rules 9).

`Game` is the state and its fold: the same rules, seeds, moves and faults always give
the same game. Hidden cards leave it only by `view`, `log_for` and `Feed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from . import view as views
from .cards import parse_deck
from .hand import PICK, SHOW_OR_GO, Hand, Setting
from .log import Entry, Faulted, GameEnded, is_move
from .notation import DISCARD, GO, show
from .rules import Rules
from .scoring import rank_places
from .shuffle import Decks, GivenDeck, RandomDecks, Shuffler

FAULT_KINDS = (
    *("start", "timeout", "illegal", "protocol", "crash", "memory", "output", "violation"),
    *("resigned", "left"),
)


class InvalidRecord(ValueError):
    """A record, or a list of moves and faults, that does not hold; the message says where and why."""


class Decision(NamedTuple):
    """What the game waits for: `kind` is "turn", "call" (show or go) or "pick"; `id` counts from 1."""

    id: int
    seat: int
    kind: str
    hand: int


class Fault(NamedTuple):
    """A seat's failing: `turn` is the id of the decision then pending, 0 for one at the start."""

    seat: int
    kind: str
    hand: int
    turn: int
    detail: str


class Result(NamedTuple):
    """How the game ended; totals and places by seat, place 1 is best and equal places tie."""

    how: str
    totals: list[int]
    places: list[int]


class Game:
    """A game between `seats` players (2 to 4); the first hand is dealt at once.

    `server_seed` is 32 bytes. `player_seeds` stand in order of entry, one for each
    player; left out, they are all empty.

    Raises:
        ValueError: a number or a seed is out of bounds.
    """

    def __init__(self, rules: Rules, seats: int, server_seed: bytes, player_seeds: Sequence[str] | None = None) -> None:
        self._setting = Setting.of(rules, range(seats), seats)
        self.rules = rules
        self.seats = seats
        self.server_seed = server_seed
        self.player_seeds = ("",) * seats if player_seeds is None else tuple(player_seeds)
        if len(self.player_seeds) != seats:
            raise ValueError(f"expected {seats} player seeds: {len(self.player_seeds)}")
        # Like the rules and the seeds these are replaced, never changed in place: copies share them.
        self.totals = [0] * seats
        self.faults: list[Fault] = []
        self.result: Result | None = None
        self._eliminated_in: Mapping[int, int] = {}  # seat to hand number
        self._past: tuple[Hand, ...] = ()
        self._past_decisions = self._past_entries = 0
        self._decks: Decks = self._new_shuffler()
        self._hand = self._deal(1, dealer=0)

    def _new_shuffler(self) -> Shuffler:
        return Shuffler(self.server_seed, self.player_seeds)

    def _deal(self, no: int, *, dealer: int) -> Hand:
        return Hand(self._setting, no=no, dealer=dealer, totals=self.totals, decks=self._decks)

    @property
    def _hands(self) -> tuple[Hand, ...]:
        """All hands that were dealt, the present one last."""
        return (*self._past, self._hand)

    @property
    def _log(self) -> list[Entry]:
        return self._entries(0)

    def _entries(self, start: int) -> list[Entry]:
        """Return the log from index `start` on."""
        if start >= self._past_entries:
            return self._hand.log[start - self._past_entries :]
        entries = [entry for hand in self._hands for entry in hand.log]
        return entries[start:]

    @classmethod
    def from_deck(cls, rules: Rules, seats: int, deck: Sequence[str], rng: Random | None = None) -> Game:
        """Return a game whose first hand is dealt from `deck`, eighty card names, the top first.

        All further decks come out of `rng`, a new one by default. Such a game has no seed and no record.

        Raises:
            ValueError: a number is out of bounds, or `deck` is not the eighty cards.
        """
        decks = RandomDecks(rng or Random())
        opening = GivenDeck(parse_deck(deck), decks)
        hand = Hand(Setting.of(rules, range(seats), seats), no=1, dealer=0, totals=[0] * seats, decks=opening)
        return cls.restored(rules, hand, decisions=0)

    @classmethod
    def restored(
        cls,
        rules: Rules,
        hand: Hand,
        *,
        decisions: int,
        faults: Sequence[Fault] = (),
        eliminated_in: Mapping[int, int] | None = None,
    ) -> Game:
        """Return a game that goes on with `hand`, after so many decisions. It has no seed, and no earlier hands."""
        game = cls.__new__(cls)
        game.rules, game.seats = rules, len(hand.totals)
        game.server_seed, game.player_seeds = b"", ()
        game.totals, game.faults, game.result = list(hand.totals), list(faults), None
        game._eliminated_in = dict(eliminated_in or {})
        game._past, game._past_entries, game._past_decisions = (), 0, decisions - hand.decisions
        game._decks, game._setting, game._hand = hand.decks, hand.setting, hand
        return game

    # What is to be decided

    @property
    def decision(self) -> Decision | None:
        """The pending decision; None once the game is over."""
        hand = self._hand
        if hand.kind is None:
            return None
        return Decision(self.decisions_made + 1, hand.seat, hand.kind, hand.no)

    @property
    def playing(self) -> list[int]:
        """The seats that are not eliminated, ascending."""
        return [seat for seat in range(self.seats) if seat not in self._eliminated_in]

    @property
    def eliminated(self) -> list[int]:
        """The eliminated seats, ascending."""
        return sorted(self._eliminated_in)

    @property
    def faulted(self) -> list[int]:
        """The seats on autopilot, ascending."""
        return sorted(fault.seat for fault in self.faults)

    @property
    def decisions_made(self) -> int:
        """How many decisions have been made; the pending one's id is one more."""
        return self._past_decisions + self._hand.decisions

    def legal(self) -> tuple[str, ...]:
        """Return the legal moves in the order of the formats; () once the game is over."""
        return self._hand.legal()

    def autopilot(self) -> str | None:
        """Return the move that a faulted seat makes (d, go, best pick); None if its player decides."""
        hand = self._hand
        if not self.faults or hand.kind is None or hand.seat not in self.faulted:
            return None
        if hand.kind == PICK:
            return hand.best_score(hand.seat).pick
        return GO if hand.kind == SHOW_OR_GO else DISCARD

    # What happens

    def play(self, move: str) -> None:
        """Play the pending decision and run on to the next, or to the end of the game.

        Raises:
            IllegalMove: `move` is not legal, or the game is over; nothing has changed.
        """
        if self._hand.play(move):
            self._settle()

    def _settle(self) -> None:
        """Carry a finished hand's totals over, then end the game or deal again (rules 2, 9)."""
        hand = self._hand
        if hand.end is None:
            raise AssertionError("only a finished hand is settled")
        self.totals = hand.end.totals
        hand.note(hand.ending())
        if self.rules.end == "elimination" and hand.end.how != "stopped":
            out = [seat for seat in self.playing if self.totals[seat] >= self.rules.target]
            self._eliminated_in = {**self._eliminated_in, **dict.fromkeys(out, hand.no)}
        how = self._ended_by(hand)
        if how is not None:
            self._end(how)
            return
        self._past += (hand,)
        self._past_decisions += hand.decisions
        self._past_entries += len(hand.log)
        playing = self._setting.players
        if len(self._eliminated_in) != self.seats - len(playing):
            playing = tuple(self.playing)
            self._setting = Setting.of(self.rules, playing, self.seats)
        # The deal passes clockwise over eliminated seats.
        self._hand = self._deal(hand.no + 1, dealer=next((seat for seat in playing if seat > hand.dealer), playing[0]))

    def _ended_by(self, hand: Hand) -> str | None:
        rules = self.rules
        if hand.end is not None and hand.end.how == "stopped":
            return "fault"
        if rules.end == "hands" and rules.hands == hand.no:
            return "hands"
        if rules.end == "target" and max(self.totals) >= rules.target:
            return "target"
        if rules.end == "elimination" and len(self.playing) < 2:
            return "elimination"
        return "fault" if self.faults and self._is_decided_by_faults() else None

    def _is_decided_by_faults(self) -> bool:
        return len(set(self.playing) - set(self.faulted)) < 2

    def _end(self, how: str) -> None:
        self.result = Result(how, list(self.totals), self._places())
        self._hand.note(GameEnded(self.totals, self.result.places, how))

    def _places(self) -> list[int]:
        """Rank by the rules, faulted seats behind all others and earlier faults behind later ones."""
        behind: dict[int, tuple[float, ...]] = {}
        for order, fault in enumerate(self.faults):
            behind[fault.seat] = (2,) if fault.turn == 0 else (1, -order)
        # Later elimination is better; those of one hand, and those who stay in, go by totals (rules 9).
        return rank_places(
            [
                behind.get(seat, (0, -self._eliminated_in.get(seat, self._hand.no + 1), self.totals[seat]))
                for seat in range(self.seats)
            ]
        )

    def fault(self, seat: int, kind: str, *, reason: str = "", at_start: bool = False) -> None:
        """Put a seat on autopilot; the game ends at once if at most one seat is left without a fault.

        A fault at the start is one from before the first decision: it stands at turn 0,
        and more than one may be reported, even if the first has ended the game.

        Raises:
            ValueError: the kind is unknown, the seat is none, eliminated or faulted
                already, or the game is past where such a fault can happen.
        """
        self._check_fault(seat, kind, at_start=at_start)
        turn = 0 if at_start else self.decisions_made + 1
        if self.result is not None:
            # The second of two who fail at the start: the ending is drawn up anew.
            self._hand.unsay(2)
        self.faults = [*self.faults, Fault(seat, kind, self._hand.no, turn, reason)]
        self._hand.note(Faulted(seat, kind))
        if self._is_decided_by_faults():
            self._hand.stop()
            self._settle()

    def _check_fault(self, seat: int, kind: str, *, at_start: bool) -> None:
        if kind not in FAULT_KINDS:
            raise ValueError(f"expected a fault of {', '.join(FAULT_KINDS)}: {show(kind)}")
        if seat not in self.playing:
            raise ValueError(f"expected a seat that is in the game: {show(seat)}")
        if seat in self.faulted:
            raise ValueError(f"expected a seat without a fault: {show(seat)}")
        if at_start and (self.decisions_made or any(fault.turn for fault in self.faults)):
            raise ValueError("expected a start fault before all else: the first decision is past")
        if self.result is not None and not at_start:
            raise ValueError("expected a fault while a decision is pending: the game is over")

    # What leaves

    def view(self, seat: int | None, *, revealed: bool = False) -> dict[str, Any]:
        """Return the table as `seat` may see it (None: a spectator), as JSON-able values.

        `revealed` shows every card and is for replays of finished games only.
        """
        return views.view(self, self._hand, seat, revealed=revealed)

    def log_for(
        self, seat: int | None, start: int = 0, *, revealed: bool = False, own_draws: bool = False
    ) -> list[dict[str, Any]]:
        """Return what happened from index `start` on, as `seat` may see it.

        The numbering is the same for every viewer. `revealed` as for `view`; it adds
        `drew` to the turns, and `own_draws` to those of `seat`.
        """
        entries = self._entries(start)
        return [views.render(entry, seat, revealed=revealed, with_own_draws=own_draws) for entry in entries]

    @property
    def log(self) -> range:
        """The indices of what happened so far; `len` of it is their number."""
        return range(self._past_entries + len(self._hand.log))

    def movers(self) -> list[int]:
        """Return the seats that made the decisions so far, in order."""
        return [entry[0] for entry in self._log if is_move(entry)]

    def copy(self) -> Game:
        """Return an independent copy."""
        twin = Game.__new__(type(self))
        twin.rules, twin.seats = self.rules, self.seats
        twin.server_seed, twin.player_seeds, twin._decks = self.server_seed, self.player_seeds, self._decks
        twin.totals, twin.faults, twin.result = self.totals, self.faults, self.result
        twin._eliminated_in, twin._past = self._eliminated_in, self._past
        twin._past_decisions, twin._past_entries = self._past_decisions, self._past_entries
        twin._setting, twin._hand = self._setting, self._hand.copy()
        return twin


def replay(
    rules: Rules,
    seats: int,
    server_seed: bytes,
    player_seeds: Sequence[str],
    moves: Sequence[str],
    faults: Sequence[Mapping[str, Any]] = (),
) -> Game:
    """Return the game that these moves and faults make: the fold.

    A fault {"seat","kind","turn","detail"} is applied while decision `turn` is pending
    (0: at the start), before that decision's move.

    Raises:
        IllegalMove: a move is not legal where it stands.
        InvalidRecord: a fault has no place, or a faulted seat did not play as the autopilot.
        ValueError: a number or a seed is out of bounds.
    """
    game = Game(rules, seats, server_seed, player_seeds)
    waiting = list(reversed(faults))
    apply_faults(game, waiting)
    for move in moves:
        check_autopilot(game, move)
        game.play(move)
        apply_faults(game, waiting)
    if waiting:
        raise InvalidRecord(f"expected no fault after the end: {show(waiting[-1])}")
    return game


def apply_faults(game: Game, waiting: list[Mapping[str, Any]]) -> None:
    """Apply the faults that are due while the present decision is pending; `waiting` is last first."""
    while waiting and waiting[-1]["turn"] in (0, game.decisions_made + 1):
        fault = waiting.pop()
        try:
            at_start = fault["turn"] == 0
            game.fault(fault["seat"], fault["kind"], reason=fault.get("detail", ""), at_start=at_start)
        except ValueError as error:
            raise InvalidRecord(f"fault at turn {fault['turn']}: {error}") from error


def check_autopilot(game: Game, move: str) -> None:
    """Raise InvalidRecord if the seat that is to decide is on autopilot and `move` is not what that plays."""
    expected = game.autopilot()
    if expected not in (None, move):
        raise InvalidRecord(f"expected the autopilot's {expected} of a faulted seat: {show(move)}")
