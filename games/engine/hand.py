"""One hand, from the deal to the last pick (rules 3 to 8).

A hand runs on by itself from one decision to the next: lapses, reshuffles, draws and
scoring happen inside `play`. It knows every card; what leaves it, leaves by `view`.

What the rules ask again and again is kept as sets, so that a turn costs a few operations
on small integers. Coops are numbered through: slot `i` of seat `p` is place `4 * p + i`.
`_invalid` has a bit for each place whose coop is not valid. `allowed` has a bit for each
move of a turn that is legal (`notation.BIT`), and `_unguarded` for each that the ace
guard leaves to any card; a place and the swap on it have the same bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from .cards import ACE, RANK, TEN, Card
from .coops import Table, coop_table, fits_table, opens_table
from .log import CallLapsed, Entry, HandDealt, HandEnded, Reshuffled, is_move
from .notation import (
    BIT,
    FIRST_KEEP,
    GO,
    KEEP,
    MAX_SEATS,
    PLAIN_MOVES,
    SHOW,
    SLOTS,
    SWAP,
    TURN_MOVES,
    IllegalMove,
    moves_of,
    set_of,
    show,
)
from .rules import Rules
from .scoring import HandEnd, Score, best_score, picks_of, score
from .shuffle import Decks

T = TypeVar("T")

TURN = "turn"
SHOW_OR_GO = "call"
PICK = "pick"

NOBODY = -1
UNLIMITED = 99  # more replacements than a call can suffer

ALL = set_of(*PLAIN_MOVES)
SWAPS_ON: tuple[int, ...] = tuple(set_of(*seat) for seat in SWAP)  # by seat
KEEPS = set_of(*KEEP)
PLACE_BIT: tuple[int, ...] = tuple(1 << place for place in range(4 * MAX_SEATS))  # of its coop and the swap on it
# By a seat's four bits of `_invalid`: whether one move may leave all four valid, as at most one is not.
NEARLY_VALID: tuple[bool, ...] = tuple(bits.bit_count() < 2 for bits in range(16))
IS_ACE: tuple[bool, ...] = tuple(rank == ACE for rank in RANK)
# Face-up, an ace begins to be guarded and a ten may have ended that: no other card can replace an ace.
MOVES_GUARD: tuple[bool, ...] = tuple(rank in (ACE, TEN) for rank in RANK)

_KEEP, _SWAP, _DISCARD = range(3)
# By a turn's move: its bit, which of the three it is, the slot that is kept to or the place that is swapped, and
# whether it calls.
_TURN: dict[str, tuple[int, int, int, bool]] = {
    text: (
        BIT[text[:-1] if move.calls else text],
        "ksd".index(move.kind),
        max(4 * move.seat, 0) + move.slot,
        move.calls,
    )
    for text, move in TURN_MOVES.items()
}


@dataclass(frozen=True, slots=True)
class Setting:
    """What the rules and the players of a hand settle once and for all."""

    rules: Rules
    players: tuple[int, ...]  # ascending
    valid: Table  # by the face-up, then the face-down card
    fits: Table  # the same by the face-down, then the face-up card
    opens: tuple[bool, ...]  # by drawn card: whether it may replace a guarded ace
    may_call: tuple[bool, ...]  # by a seat's four bits of `_invalid`: whether any move may call, if no call stands
    left_of: tuple[int, ...]  # by seat
    reach: tuple[int, ...]  # by seat: its keeps, the swaps on all others in the hand, and the discard
    rows: tuple[slice, ...]  # by seat: its places; none for a seat that is not in the hand

    @classmethod
    def of(cls, rules: Rules, players: Sequence[int], seats: int) -> Setting:
        """Return the setting of hands between `players`, ascending, at a table of so many seats.

        Raises:
            ValueError: the number of seats is out of bounds.
        """
        if not 2 <= seats <= MAX_SEATS:
            raise ValueError(f"expected 2 to {MAX_SEATS} seats: {seats}")
        left_of = dict(zip(players, [*players[1:], players[0]], strict=True))
        nobodys = sum(swaps for seat, swaps in enumerate(SWAPS_ON) if seat not in players)
        return cls(
            rules,
            tuple(players),
            valid=coop_table(rules.coop_colour, rules.aces),
            fits=fits_table(rules.coop_colour, rules.aces),
            opens=opens_table(rules.ace_guard),
            may_call=NEARLY_VALID if rules.calls == "valid" else (True,) * len(NEARLY_VALID),
            left_of=tuple(left_of.get(seat, NOBODY) for seat in range(seats)),
            reach=tuple(ALL & ~nobodys & ~SWAPS_ON[seat] for seat in range(seats)),
            rows=tuple(slice(4 * seat, 4 * seat + 4 if seat in players else 4 * seat) for seat in range(seats)),
        )


def clockwise(players: Sequence[int], *, dealer: int) -> list[int]:
    """Return `players`, ascending, in the order in which they are dealt to: from the dealer's left, the dealer last."""
    return [seat for seat in players if seat > dealer] + [seat for seat in players if seat <= dealer]


class Hand:
    """The state of one hand.

    `kind` says what is to be decided next ("turn", "call" for show or go, "pick") and
    `seat` by whom; `kind` is None once the hand is over, and `end` then says how.
    Lists of hands of cards are by seat; a seat that is not in the hand has [].
    """

    __slots__ = (
        *("setting", "dealt", "decks", "reshuffles", "end", "_valid"),
        *("kind", "seat", "drawn", "allowed", "caller", "shield", "_scores", "_winner"),
        *("stock", "at", "log", "asides", "_down", "_up", "_invalid", "_unguarded"),
    )

    def __init__(self, setting: Setting, *, no: int, dealer: int, totals: Sequence[int], decks: Decks) -> None:
        self.setting = setting
        self._valid = setting.valid
        self.decks = decks
        self.dealt = HandDealt(no, dealer, clockwise(setting.players, dealer=dealer), decks.deal(no), totals)
        self.kind: str | None = TURN
        self.seat = self.order[0]
        self.drawn: Card | None = None
        self.allowed = 0
        self.caller = NOBODY
        self.shield = UNLIMITED  # replacements that the caller must still suffer
        self.end: HandEnd | None = None
        self._scores: dict[int, Score] = {}
        self._winner: int | None = None
        self._deal()
        self._draw()

    def _deal(self) -> None:
        """Deal eight in a row to each player, four face-down and four face-up (rules 3)."""
        deck = self.deck
        self.reshuffles: Sequence[Sequence[Card]] = []
        self._down: list[Card] = [0] * (4 * len(self.totals))  # by place
        self._up = self._down[:]
        for number, seat in enumerate(self.order):
            first, place = 8 * number, 4 * seat
            self._down[place : place + 4] = deck[first : first + 4]
            self._up[place : place + 4] = deck[first + 4 : first + 8]
        self.judge()
        self.stock, self.at = deck, 8 * len(self.order)  # the next card to be drawn is stock[at]
        self.log: list[Entry] = [self.dealt]
        self.asides = 1  # entries of the log that are no decisions

    def judge(self) -> None:
        """Note which coops are valid and which face-up cards are aces, of all that lie."""
        valid = self._valid
        coops = [*zip(PLACE_BIT, self._up, self._down, strict=False)]  # of as many seats as there are
        self._invalid = sum([bit for bit, up, down in coops if not valid[up][down]])
        self._unguarded = ALL - sum([bit for bit, up, _down in coops if IS_ACE[up]])

    def copy(self) -> Hand:
        """Return an independent copy."""
        twin = Hand.__new__(Hand)
        twin.setting, twin._valid, twin.dealt, twin.decks = self.setting, self._valid, self.dealt, self.decks
        twin.kind, twin.seat, twin.drawn = self.kind, self.seat, self.drawn
        twin.allowed, twin.caller, twin.shield = self.allowed, self.caller, self.shield
        twin.stock, twin.at, twin.asides = self.stock, self.at, self.asides
        twin._invalid, twin._unguarded = self._invalid, self._unguarded
        # Replaced, never changed in place: the copies may share them.
        twin.reshuffles, twin._scores, twin._winner, twin.end = self.reshuffles, self._scores, self._winner, self.end
        twin._down, twin._up, twin.log = self._down[:], self._up[:], self.log[:]
        return twin

    # What there is

    @property
    def no(self) -> int:
        """The number of the hand, from 1."""
        return self.dealt.no

    @property
    def dealer(self) -> int:
        """The seat that dealt."""
        return self.dealt.dealer

    @property
    def order(self) -> Sequence[int]:
        """The seats in the hand, in the order in which they were dealt to."""
        return self.dealt.order

    @property
    def deck(self) -> Sequence[Card]:
        """The deck that was dealt, the top first."""
        return self.dealt.deck

    @property
    def totals(self) -> Sequence[int]:
        """The totals by seat as at the start of the hand."""
        return self.dealt.totals

    @property
    def decisions(self) -> int:
        """How many decisions have been made in this hand."""
        return len(self.log) - self.asides

    @property
    def moves(self) -> list[str]:
        """The decisions made in this hand, in order."""
        return [entry[1] for entry in self.log if is_move(entry)]

    @property
    def discards(self) -> list[Card]:
        """The discard pile from bottom to top: what each turn since the present stock was made put there."""
        outs = [entry[3] for entry in self.log if is_move(entry) and entry[3] is not None]
        return outs[len(outs) - self.discarded :]

    @property
    def discarded(self) -> int:
        """How many cards the discard pile has: those that were drawn from the present stock, but for a pending one."""
        dealt = 0 if self.reshuffles else 8 * len(self.order)
        return self.at - dealt - (self.drawn is not None)

    @property
    def top(self) -> tuple[Card, bool] | None:
        """The card on top of the discard pile and whether it lies face-up; None if there is none."""
        if not self.discarded:
            return None
        for entry in reversed(self.log):
            if is_move(entry) and entry[3] is not None:
                # A keep alone lays its card open; all else goes on the pile face-down (rules 4).
                return entry[3], entry[1][0] == "k"
        raise AssertionError("what was discarded, a turn has put there")

    @property
    def down(self) -> list[list[Card]]:
        """The face-down cards by seat."""
        return self.by_seat(self._down)

    @property
    def up(self) -> list[list[Card]]:
        """The face-up cards by seat."""
        return self.by_seat(self._up)

    def by_seat(self, by_place: list[T]) -> list[list[T]]:
        """Return what there is one of for each place as lists by seat."""
        return [by_place[row] for row in self.setting.rows]

    def coops(self, seat: int) -> list[bool]:
        """Return the validity of a seat's four coops (rules 5)."""
        return [not self._invalid & PLACE_BIT[4 * seat + slot] for slot in SLOTS]

    def _holds(self, seat: int) -> bool:
        return not self._invalid >> 4 * seat & 15

    def legal(self) -> tuple[str, ...]:
        """Return the legal moves in the order of the formats; () once the hand is over."""
        allowed = self.allowed
        if allowed:
            return moves_of(allowed, self.calls())
        if self.kind == SHOW_OR_GO:
            return (SHOW, GO)
        return picks_of(self.setting.rules) if self.kind == PICK else ()

    # What is done

    def play(self, move: str) -> bool:
        """Play the pending decision and run on to the next; return whether the hand is over.

        Raises:
            IllegalMove: `move` is not legal; nothing has changed.
        """
        try:
            bit, kind, place, calls = _TURN[move]
        except (KeyError, TypeError):
            return self._play_other(move)
        if not self.allowed & bit or (calls and not self.calls() & bit):
            raise self._illegal(move)
        # All of a turn in one piece: a game spends its time here, and each call would cost as much as a rule.
        # Only a turn allows moves of a turn, and a turn is decided with a drawn card.
        seat: int = self.seat
        drawn: Card = self.drawn  # type: ignore[assignment]
        if kind == _SWAP:
            out = self._up[place]
            self._up[place] = drawn
            if self._valid[drawn][self._down[place]]:
                self._invalid &= ~bit
            else:
                self._invalid |= bit
            if MOVES_GUARD[drawn]:
                self._unguarded = self._unguarded & ~bit if IS_ACE[drawn] else self._unguarded | bit
            if place >> 2 == self.caller:
                self.shield -= 1
        elif kind == _KEEP:
            place += 4 * seat
            out = self._down[place]
            self._down[place] = drawn
            if self._valid[self._up[place]][drawn]:
                self._invalid &= ~PLACE_BIT[place]
            else:
                self._invalid |= PLACE_BIT[place]
        else:
            out = drawn
        self.log.append((seat, move, drawn, out))
        if calls:
            self._call(seat)
        seat = self.seat = self.setting.left_of[seat]
        return self._draw() if seat != self.caller else self._start_callers_turn()

    def _call(self, seat: int) -> None:
        limit = self.setting.rules.caller_shield
        self.caller, self.shield = seat, UNLIMITED if limit is None else limit

    def _draw(self) -> bool:
        """Draw for the seat whose turn it is and see what it may do (rules 4, 6); return whether the hand is over."""
        try:
            drawn = self.drawn = self.stock[self.at]
        except IndexError:
            return self._draw_from_empty_stock()
        self.at += 1
        setting = self.setting
        allowed = setting.reach[self.seat]
        if not setting.opens[drawn]:
            allowed &= self._unguarded
        if not self.shield:
            allowed &= ~SWAPS_ON[self.caller]
        self.allowed = allowed
        return False

    def calls(self) -> int:
        """Return the legal moves of a turn that may call: those that leave all four coops valid, or any (rules 4)."""
        invalid = self._invalid >> 4 * self.seat & 15
        return self._calls(invalid) if self.setting.may_call[invalid] and self.caller == NOBODY else 0

    def _calls(self, invalid: int) -> int:
        """Return what `calls` does where any may; `invalid` are the four bits of the seat's coops."""
        first = 4 * self.seat
        if self.setting.rules.calls == "any":
            return self.allowed
        # Only a keep changes coops of one's own, and only one of them: all others must hold already.
        fits = self.setting.fits[self.drawn]  # type: ignore[index]  # a turn is decided with a drawn card
        if invalid:
            slot = invalid.bit_length() - 1
            return invalid << FIRST_KEEP if fits[self._up[first + slot]] else 0
        one, two, three, four = self._up[first : first + 4]
        keeps = fits[one] | fits[two] << 1 | fits[three] << 2 | fits[four] << 3
        return self.allowed & ~KEEPS | keeps << FIRST_KEEP

    def _start_callers_turn(self) -> bool:
        """Let the caller show or go on if his coops hold, else draw (rules 6)."""
        if not self._holds(self.seat):
            self._lapse()
            return self._draw()
        self.kind, self.drawn, self.allowed = SHOW_OR_GO, None, 0
        return False

    def ending(self) -> HandEnded:
        """Return what the log says of a hand that is over."""
        if self.end is None:
            raise AssertionError("only finished hands have an ending")
        return HandEnded(self.no, self.setting.players, self._down, self.end)

    def ask(self, kind: str, seat: int) -> None:
        """Go on with a decision of this kind and seat, in a hand that was laid out as it stood then."""
        self.kind, self.seat, self.drawn, self.allowed = kind, seat, None, 0
        if kind == TURN:
            self._draw()

    def note(self, entry: Entry) -> None:
        """Add to the log what is no decision."""
        self.log.append(entry)
        self.asides += 1

    def unsay(self, count: int) -> None:
        """Take back the last `count` notes."""
        del self.log[-count:]
        self.asides -= count

    def _lapse(self) -> None:
        self.note(CallLapsed(self.seat))
        self.caller, self.shield = NOBODY, UNLIMITED

    def _draw_from_empty_stock(self) -> bool:
        """Make a new stock out of the discards and draw, or end the hand (rules 7)."""
        self.drawn = None
        if len(self.reshuffles) == self.setting.rules.max_reshuffles:
            # A standing call with four valid coops wins; otherwise it is a wash-out.
            holds = self.caller != NOBODY and self._holds(self.caller)
            return self._start_scoring(self.caller if holds else None)
        self.stock = self.decks.reshuffle(self.no, len(self.reshuffles) + 1, self.discards)
        self.at = 0
        self.reshuffles = [*self.reshuffles, self.stock]
        self.note(Reshuffled())
        return self._draw()

    def _play_other(self, move: str) -> bool:
        """Play what is no turn: show, go or a pick."""
        if move not in self.legal():
            raise self._illegal(move) from None
        self.log.append((self.seat, move, None, None))
        if self.kind == PICK:
            return self._play_pick(move)
        if move == SHOW:
            return self._start_scoring(self.seat)
        self._lapse()
        self.kind = TURN
        return self._draw()

    def _illegal(self, move: str) -> IllegalMove:
        legal = self.legal()
        expected = f"one of {', '.join(legal)}" if legal else "no move, the game is over"
        return IllegalMove(f"expected {expected}: {show(move)}")

    # What it costs

    def _start_scoring(self, winner: int | None) -> bool:
        """Let every player but the winner pick, from the dealer's left, or pick for them (rules 8)."""
        self._winner = winner
        self.caller, self.shield, self.drawn = NOBODY, UNLIMITED, None
        if self.setting.rules.picks == "best":
            self._scores = {seat: self.best_score(seat) for seat in self.order if seat != winner}
        return self._next_pick()

    def _next_pick(self) -> bool:
        waiting = [seat for seat in self.order if seat != self._winner and seat not in self._scores]
        if waiting:
            self.kind, self.seat, self.allowed = PICK, waiting[0], 0
            return False
        return self._finish("washout" if self._winner is None else "soureh", self._winner)

    def restore_picks(self, winner: int | None, picks: Sequence[tuple[int, str]]) -> None:
        """Go on in the middle of the picks, after those given with their seats."""
        self._winner, self.caller, self.shield = winner, NOBODY, UNLIMITED
        for seat, pick in picks:
            self._score_pick(seat, pick)

    def _play_pick(self, pick: str) -> bool:
        self._score_pick(self.seat, pick)
        return self._next_pick()

    def _score_pick(self, seat: int, pick: str) -> None:
        first = 4 * seat
        down, up = self._down[first : first + 4], self._up[first : first + 4]
        found = score(self.setting.rules, down=down, up=up, total=self.totals[seat], pick=pick)
        self._scores = {**self._scores, seat: found}

    def best_score(self, seat: int) -> Score:
        """Return what the best pick comes to for `seat`, as its cards lie."""
        down, up = self._down[4 * seat : 4 * seat + 4], self._up[4 * seat : 4 * seat + 4]
        return best_score(self.setting.rules, down=down, up=up, total=self.totals[seat])

    def stop(self) -> None:
        """End the hand where it stands: no picks, no points, totals unchanged."""
        self._scores = {}
        self._finish("stopped", None)

    def _finish(self, how: str, winner: int | None) -> bool:
        self.kind, self.allowed = None, 0
        found = [self._scores.get(seat) or Score("", 0, 0, total) for seat, total in enumerate(self.totals)]
        picks, points, bonus, totals = map(list, zip(*found, strict=True))
        self.end = HandEnd(how, winner, picks, points, bonus, totals)
        return True
