"""One hand, from the deal to the last pick (rules 3 to 8).

A hand runs on by itself from one decision to the next: lapses, reshuffles, draws and
scoring happen inside `play`. It knows every card; what leaves it, leaves by `view`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from .cards import Card
from .coops import coop_table, replace_table
from .log import CallLapsed, Entry, HandDealt, Moved, Reshuffled
from .notation import CALL, DISCARD, GO, KEEP, SHOW, SLOTS, SWAP, TURN_MOVES, Move
from .rules import Rules
from .scoring import HandEnd, Score, best_score, picks_of, score
from .shuffle import Shuffler

TURN = "turn"
SHOW_OR_GO = "call"
PICK = "pick"


class Hand:
    """The state of one hand.

    `kind` says what is to be decided next ("turn", "call" for show or go, "pick") and
    `seat` by whom; `kind` is None once the hand is over, and `end` then says how.
    Lists of hands of cards are by seat; a seat that is not in the hand has [].
    """

    def __init__(
        self,
        rules: Rules,
        *,
        no: int,
        dealer: int,
        in_hand: Sequence[int],
        totals: Sequence[int],
        shuffler: Shuffler,
        log: list[Entry],
    ) -> None:
        self.rules = rules
        self.no = no
        self.dealer = dealer
        self.totals = list(totals)  # as at the start of the hand
        self.log = log
        self.moves: list[str] = []
        # Clockwise from the dealer's left; the dealer comes last.
        self.order = [seat for seat in in_hand if seat > dealer] + [seat for seat in in_hand if seat <= dealer]
        self._in_hand = sorted(in_hand)
        self._left_of = dict(zip(self.order, self.order[1:] + self.order[:1], strict=True))
        self.kind: str | None = None
        self.seat = self.order[0]
        self.drawn: Card | None = None
        self.caller: int | None = None
        self.shield: int | None = None  # replacements that the caller must still suffer; None is no limit
        self.end: HandEnd | None = None
        self._shuffler = shuffler
        self._valid = coop_table(rules.coop_colour, rules.aces)
        self._replaces = replace_table(rules.ace_guard)
        self._scores: dict[int, Score] = {}
        self._winner: int | None = None
        self._deal()
        self._start_turn(self.seat)

    def _deal(self) -> None:
        """Deal eight in a row to each player, four face-down and four face-up (rules 3)."""
        self.deck = self._shuffler.deal(self.no)
        self.reshuffles: list[list[Card]] = []
        self.down: list[list[Card]] = [[] for _ in self.totals]
        self.up: list[list[Card]] = [[] for _ in self.totals]
        for place, seat in enumerate(self.order):
            first = 8 * place
            self.down[seat] = self.deck[first : first + 4]
            self.up[seat] = self.deck[first + 4 : first + 8]
        self.stock = self.deck[: 8 * len(self.order) - 1 : -1]  # the last is on top, where pop() is cheap
        self.discards: list[Card] = []  # bottom to top
        self.top_is_up = False
        down, up = [list(cards) for cards in self.down], [list(cards) for cards in self.up]
        self.log.append(HandDealt(self.no, self.dealer, down, up, list(self.totals)))

    def copy(self, log: list[Entry]) -> Hand:
        """Return an independent copy that writes to `log`."""
        twin = Hand.__new__(Hand)
        twin.__dict__.update(self.__dict__)
        twin.log = log
        twin.moves = list(self.moves)
        twin.reshuffles = list(self.reshuffles)
        twin.down = [list(cards) for cards in self.down]
        twin.up = [list(cards) for cards in self.up]
        twin.stock = list(self.stock)
        twin.discards = list(self.discards)
        twin._scores = dict(self._scores)
        return twin

    # What may be done

    def legal(self) -> list[str]:
        """Return the legal moves in the order of the formats; [] once the hand is over."""
        if self.kind == TURN:
            return self._legal_turn()
        if self.kind == SHOW_OR_GO:
            return [SHOW, GO]
        return list(picks_of(self.rules)) if self.kind == PICK else []

    def _legal_turn(self) -> list[str]:
        swaps = self._legal_swaps()
        if self.caller is not None:  # Nobody else may call while a call stands (rules 6).
            return [*KEEP, *swaps, DISCARD]
        if self.rules.calls == "any":
            return _each_with_call([*KEEP, *swaps, DISCARD])
        coops = self.coops(self.seat)
        if coops.count(False) > 1:
            return [*KEEP, *swaps, DISCARD]
        keeps = self._legal_keeps(coops)
        return [*keeps, *swaps, DISCARD] if False in coops else keeps + _each_with_call([*swaps, DISCARD])

    def _legal_keeps(self, coops: list[bool]) -> list[str]:
        """Return the keeps and those that may call: a keep changes one coop, so all others must hold already."""
        up = self.up[self.seat]
        keeps: list[str] = []
        for slot in SLOTS:
            keeps.append(KEEP[slot])
            others_hold = False not in coops[:slot] + coops[slot + 1 :]
            if others_hold and self._valid[up[slot]][self._drawn()]:
                keeps.append(KEEP[slot] + CALL)
        return keeps

    def _legal_swaps(self) -> list[str]:
        shielded = self.caller if self.shield == 0 else None
        replaces = self._replaces[self._drawn()].__getitem__
        moves: list[str] = []
        for other in self._in_hand:
            if other != self.seat and other != shielded:
                moves += compress(SWAP[other], map(replaces, self.up[other]))
        return moves

    def coops(self, seat: int) -> list[bool]:
        """Return the validity of a seat's four coops (rules 5)."""
        valid = self._valid
        return [valid[up][down] for up, down in zip(self.up[seat], self.down[seat], strict=True)]

    def _drawn(self) -> Card:
        if self.drawn is None:
            raise AssertionError("a turn is decided with a drawn card")
        return self.drawn

    # What is done

    def play(self, move: str) -> None:
        """Play one of the legal moves and run on to the next decision.

        The caller has made sure that `move` is legal.
        """
        self.moves.append(move)
        if self.kind == TURN:
            self._play_turn(move)
        elif self.kind == SHOW_OR_GO:
            self._play_show_or_go(move)
        else:
            self._play_pick(move)

    def _play_turn(self, text: str) -> None:
        """Keep, swap or discard the drawn card, and call if the move says so (rules 4)."""
        seat, drawn, move = self.seat, self._drawn(), TURN_MOVES[text]
        shown: Card | None = None
        if move.kind == "k":
            shown = self.down[seat][move.slot]
            self.down[seat][move.slot] = drawn
            self._discard(shown, is_up=True)
        elif move.kind == "s":
            shown = drawn
            self._swap(move, drawn)
        else:
            self._discard(drawn, is_up=False)
        self.drawn = None
        self.log.append(Moved(seat, text, drawn, shown))
        if move.calls:
            self.caller, self.shield = seat, self.rules.caller_shield
        self._start_turn(self._left_of[seat])

    def _swap(self, move: Move, drawn: Card) -> None:
        replaced = self.up[move.seat][move.slot]
        self.up[move.seat][move.slot] = drawn
        self._discard(replaced, is_up=False)
        if move.seat == self.caller and self.shield is not None:
            self.shield -= 1

    def _discard(self, card: Card, *, is_up: bool) -> None:
        self.discards.append(card)
        self.top_is_up = is_up

    def _start_turn(self, seat: int) -> None:
        """Let the caller show or go on if his coops hold, else draw (rules 6)."""
        self.seat = seat
        if seat != self.caller:
            self._draw()
        elif all(self.coops(seat)):
            self.kind = SHOW_OR_GO
        else:
            self._lapse()
            self._draw()

    def _lapse(self) -> None:
        self.log.append(CallLapsed(self.seat))
        self.caller = self.shield = None

    def _draw(self) -> None:
        """Draw for the seat whose turn it is, out of a new stock if the old one is used up (rules 7)."""
        if not self.stock:
            if len(self.reshuffles) == self.rules.max_reshuffles:
                self._end_exhausted()
                return
            self._reshuffle()
        self.drawn = self.stock.pop()
        self.kind = TURN

    def _reshuffle(self) -> None:
        stock = self._shuffler.reshuffle(self.no, len(self.reshuffles) + 1, self.discards)
        self.reshuffles.append(stock)
        self.stock = stock[::-1]
        self.discards = []
        self.top_is_up = False
        self.log.append(Reshuffled())

    def _end_exhausted(self) -> None:
        """A standing call with four valid coops wins; otherwise it is a wash-out (rules 7)."""
        caller_holds = self.caller is not None and all(self.coops(self.caller))
        self._start_scoring(self.caller if caller_holds else None)

    def _play_show_or_go(self, move: str) -> None:
        self.log.append(Moved(self.seat, move))
        if move == SHOW:
            self._start_scoring(self.seat)
            return
        self._lapse()
        self._draw()

    # What it costs

    def _start_scoring(self, winner: int | None) -> None:
        """Let every player but the winner pick, from the dealer's left, or pick for them (rules 8)."""
        self._winner = winner
        self.caller = self.shield = None
        if self.rules.picks == "best":
            for seat in self.order:
                if seat != winner:
                    self._scores[seat] = self.best_score(seat)
        self._next_pick()

    def _next_pick(self) -> None:
        waiting = [seat for seat in self.order if seat != self._winner and seat not in self._scores]
        if waiting:
            self.kind, self.seat = PICK, waiting[0]
            return
        how = "washout" if self._winner is None else "soureh"
        self._finish(how, self._winner)

    def _play_pick(self, pick: str) -> None:
        seat = self.seat
        self.log.append(Moved(seat, pick))
        self._scores[seat] = score(
            self.rules, down=self.down[seat], up=self.up[seat], total=self.totals[seat], pick=pick
        )
        self._next_pick()

    def best_score(self, seat: int) -> Score:
        """Return what the best pick comes to for `seat`, as its cards lie."""
        return best_score(self.rules, down=self.down[seat], up=self.up[seat], total=self.totals[seat])

    def stop(self) -> None:
        """End the hand where it stands: no picks, no points, totals unchanged."""
        self._scores.clear()
        self._finish("stopped", None)

    def _finish(self, how: str, winner: int | None) -> None:
        found = [self._scores.get(seat, Score("", 0, 0, total)) for seat, total in enumerate(self.totals)]
        self.kind = None
        self.end = HandEnd(
            how,
            winner,
            picks=[item.pick for item in found],
            points=[item.points for item in found],
            bonus=[item.bonus for item in found],
            totals=[item.total for item in found],
        )


def _each_with_call(moves: Sequence[str]) -> list[str]:
    return [text for move in moves for text in (move, move + CALL)]
