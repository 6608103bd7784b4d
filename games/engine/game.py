"""A whole game: hand after hand until the rules, or faults, end it (rules 9).

`Game` is the state and its fold: the same rules, seeds, moves and faults always give
the same game. Hidden cards leave it only by `view`, `log_for` and `Feed`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import view as views
from .hand import PICK, SHOW_OR_GO, Hand
from .log import Entry, Faulted, GameEnded, HandEnded
from .notation import DISCARD, GO, MAX_SEATS, IllegalMove, show
from .rules import Rules
from .scoring import rank_places
from .shuffle import Shuffler

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
        if not 2 <= seats <= MAX_SEATS:
            raise ValueError(f"expected 2 to {MAX_SEATS} seats: {seats}")
        self.rules = rules
        self.seats = seats
        self.server_seed = server_seed
        self.player_seeds = ("",) * seats if player_seeds is None else tuple(player_seeds)
        if len(self.player_seeds) != seats:
            raise ValueError(f"expected {seats} player seeds: {len(self.player_seeds)}")
        self.decisions_made = 0
        self.totals = [0] * seats
        self.faults: list[Fault] = []
        self.result: Result | None = None
        self._eliminated_in: dict[int, int] = {}  # seat to hand number
        self._log: list[Entry] = []
        self._hands: list[Hand] = []
        self._shuffler = self._new_shuffler()
        self._legal: list[str] | None = None
        self._deal(dealer=0)

    def _new_shuffler(self) -> Shuffler:
        return Shuffler(self.server_seed, self.player_seeds)

    @property
    def _hand(self) -> Hand:
        return self._hands[-1]

    def _deal(self, *, dealer: int) -> None:
        self._hands.append(
            Hand(
                self.rules,
                no=len(self._hands) + 1,
                dealer=dealer,
                in_hand=self.playing,
                totals=self.totals,
                shuffler=self._shuffler,
                log=self._log,
            )
        )

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

    def legal(self) -> list[str]:
        """Return the legal moves in the order of the formats; [] once the game is over."""
        return list(self._legal_moves())

    def _legal_moves(self) -> list[str]:
        if self._legal is None:
            self._legal = self._hand.legal()
        return self._legal

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
        legal = self._legal_moves()
        if move not in legal:
            expected = f"one of {', '.join(legal)}" if legal else "no move, the game is over"
            raise IllegalMove(f"expected {expected}: {show(move)}")
        self._legal = None
        self.decisions_made += 1
        self._hand.play(move)
        if self._hand.end is not None:
            self._settle()

    def _settle(self) -> None:
        """Carry a finished hand's totals over, then end the game or deal again (rules 2, 9)."""
        hand = self._hand
        if hand.end is None:
            raise AssertionError("only a finished hand is settled")
        self.totals = list(hand.end.totals)
        self._log.append(HandEnded(hand.no, hand.down, hand.end))
        if self.rules.end == "elimination" and hand.end.how != "stopped":
            for seat in self.playing:
                if self.totals[seat] >= self.rules.target:
                    self._eliminated_in[seat] = hand.no
        how = self._ended_by(hand)
        if how is not None:
            self._end(how)
            return
        # The deal passes clockwise over eliminated seats.
        playing = self.playing
        self._deal(dealer=next((seat for seat in playing if seat > hand.dealer), playing[0]))

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
        return "fault" if self._is_decided_by_faults() else None

    def _is_decided_by_faults(self) -> bool:
        return len(set(self.playing) - set(self.faulted)) < 2

    def _end(self, how: str) -> None:
        self.result = Result(how, list(self.totals), self._places())
        self._log.append(GameEnded(list(self.totals), list(self.result.places), how))

    def _places(self) -> list[int]:
        """Rank by the rules, faulted seats behind all others and earlier faults behind later ones."""
        behind: dict[int, tuple[float, ...]] = {}
        for order, fault in enumerate(self.faults):
            behind[fault.seat] = (2,) if fault.turn == 0 else (1, -order)
        # Later elimination is better; those of one hand, and those who stay in, go by totals (rules 9).
        return rank_places(
            [
                behind.get(seat, (0, -self._eliminated_in.get(seat, len(self._hands) + 1), self.totals[seat]))
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
            del self._log[-2:]
        self.faults.append(Fault(seat, kind, self._hand.no, turn, reason))
        self._log.append(Faulted(seat, kind))
        if self._is_decided_by_faults():
            self._legal = None
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

    def log_for(self, seat: int | None, start: int = 0, *, revealed: bool = False) -> list[dict[str, Any]]:
        """Return what happened from index `start` on, as `seat` may see it.

        The numbering is the same for every viewer. `revealed` as for `view`; it adds
        `drew` to the turns.
        """
        return [views.render(entry, seat, revealed=revealed) for entry in self._log[start:]]

    @property
    def log(self) -> range:
        """The indices of what happened so far; `len` of it is their number."""
        return range(len(self._log))

    def copy(self) -> Game:
        """Return an independent copy."""
        twin = Game.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.totals = list(self.totals)
        twin.faults = list(self.faults)
        twin._eliminated_in = dict(self._eliminated_in)
        twin._log = list(self._log)
        twin._hands = [*self._hands[:-1], self._hand.copy(twin._log)]
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
