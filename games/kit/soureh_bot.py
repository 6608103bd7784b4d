"""Write a Soureh bot in ten lines: one file, standard library only, Python 3.8 or newer.

    import soureh_bot

    def choose(turn):
        return turn.rng.choice(turn.legal)

    soureh_bot.run(choose)

`run` speaks the protocol `soureh-bot/1` on stdin and stdout, keeps a memory of the hand and
calls `choose(turn)` whenever you must decide; return one of the strings in `turn.legal`.

Cards are two characters, rank `A23456789T` and suit `shdc`; a card that you may not see is `??`.
Slots are 0 to 3 and seats 0 to n-1. Moves: `k2` keep the drawn card face-down in your slot 2,
`s13` swap it for the face-up card of seat 1, slot 3, `d` discard; with `!` you call ("Soureh").
At the start of the turn after your call: `show` or `go`.

Whatever you `print` goes to the bot's log, which its owner can read, and never disturbs the
protocol. An exception in your code goes to that log too and ends the bot, which is a fault.
"""

from __future__ import annotations

import sys
from json import dumps, loads
from math import exp
from operator import mul

TYPE_CHECKING = False  # typing's own would cost each start 2 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from random import Random
    from typing import Any

    Message = dict[str, Any]
    Cards = list[str]
    Ups = tuple[tuple[str, ...], tuple[str, ...]]
    Choose = Callable[["Turn"], str]
    Choice = tuple[int, frozenset[str], "_Place"]

HIDDEN = "??"
RANKS = "A23456789T"
SUITS = "shdc"
SLOTS = range(4)
DECK = tuple(rank + suit for suit in SUITS for rank in RANKS) * 2
"""All 80 cards; each stands in it twice."""

KINDS = tuple(rank + suit for suit in "sh" for rank in RANKS)
"""One card for each rank and colour: the suits of one colour are alike but for their looks."""

TRUST = 0.95
"""How far `chance_valid` trusts that a card which its owner put down himself completed his coop."""

SAMPLE_TRIES = 5000
"""How often `sample` begins anew; what counts is found at once, but for some bluffs within a hundred."""

TRUSTING_TRIES = 8
"""How often it does so with trust: owners whom one trusts may contradict each other."""

HASTE = 0.15
"""How steeply, in `chances_to_win`, a player's chance falls with each turn that he still needs."""

CALLED = 6.0
"""How much a call that stands on four valid coops counts there; a player who is ready to call counts 1."""

LONGEST_WAIT = 6.0
"""Turns after which, there, nobody waits for a fitting card any longer."""

_RANK = {card: RANKS.index(card[0]) + 1 for card in DECK}
_RED = {card: card[1] in "hd" for card in DECK}


def rank(card: str) -> int:
    """Return the rank of a card, 1 for an ace to 10 for a ten. KeyError for `??`."""
    return _RANK[card]


def is_red(card: str) -> bool:
    """Return True for hearts and diamonds, False for spades and clubs. KeyError for `??`."""
    return _RED[card]


def _unseen(own: Cards, up: list[Cards], pile: Cards) -> dict[str, int]:
    """Return how many of each card, 0 to 2, are not among these."""
    counts = dict.fromkeys(DECK, 2)
    for cards in (own, pile, *up):
        for card in cards:
            counts[card] -= 1
    return counts


def log(*values: object) -> None:
    """Write a line to the bot's log (stderr), which only its owner can read."""
    print(*values, file=sys.stderr)


def valid(up: str, down: str, rules: Rules | None = None) -> bool:
    """Return whether a face-up card and a face-down card are a valid coop (classic rules by default).

    A red card wants a higher card under it, a black card a lower one; an ace goes with anything
    but an ace. Other presets may differ: give `turn.rules`.
    """
    return (rules or CLASSIC).valid(up, down)


class Rules:
    """The options of the game, each an attribute: `rules.preset`, `rules.scoring`, `rules.target` …"""

    def __init__(self, options: Message) -> None:
        self.preset = "classic"
        self.coop_colour = "any"
        self.aces = "either"
        self.ace_guard = "ten"
        self.calls = "valid"
        self.caller_shield: int | None = 1
        self.scoring = "every"
        self.ace_values = [1]
        self.century_bonus = True
        self.end = "target"
        self.target = 250
        self.hands: int | None = None
        self.max_reshuffles = 2
        self.picks = "best"
        self.__dict__.update(options)
        self._valid: dict[str, bool] = {}
        self._values = {card: list(self.ace_values) if card[0] == "A" else [_RANK[card]] for card in DECK}
        self._fits: dict[tuple[str, ...], list[int]] = {}
        self._fitting: dict[Ups, frozenset[str]] = {}

    def valid(self, up: str, down: str) -> bool:
        """Return whether these two cards are a valid coop. KeyError for `??`."""
        pair = up + down
        known = self._valid.get(pair)
        if known is None:
            known = self._valid[pair] = self._is_valid(up, down)
        return known

    def _is_valid(self, up: str, down: str) -> bool:
        above, below = _RANK[up], _RANK[down]
        if above == 1 or (below == 1 and self.aces == "either"):
            return above != below
        if self.coop_colour == "same" and _RED[up] != _RED[down]:
            return False
        return above < below if _RED[up] else above > below

    def fits(self, *ups: str) -> list[int]:
        """Return for each card of `KINDS`, as 0 or 1, whether it is valid under all these face-up cards."""
        known = self._fits.get(ups)
        if known is None:
            known = self._fits[ups] = [int(all(self.valid(up, down) for up in ups)) for down in KINDS]
        return known

    def fitting(self, over: tuple[str, ...], not_over: tuple[str, ...] = ()) -> frozenset[str]:
        """Return the cards that are valid under each face-up card of `over` and under none of `not_over`."""
        known = self._fitting.get((over, not_over))
        if known is None:
            known = self._fitting[over, not_over] = frozenset(
                card
                for card in DECK[:40]
                if all(self.valid(up, card) for up in over) and not any(self.valid(up, card) for up in not_over)
            )
        return known

    def added(self, points: int, total: int) -> int:
        """Return what losing a hand with these points adds to a total, the century bonus included."""
        if self.century_bonus and points > 0 and (total + points) % 100 == 0:
            return points - 50
        return points

    def pick_points(self, down: Cards, up: Cards, pick: str) -> set[int]:
        """Return every sum that one pick, such as `p0110`, can score (an ace may count twice)."""
        sums = {0}
        for slot, choice in enumerate(pick[1:]):
            cards = {"0": [down[slot]], "1": [up[slot]], "*": [down[slot], up[slot]], "-": []}[choice]
            for card in cards:
                sums = {points + value for points in sums for value in self._values[card]}
        return sums

    def lost(self, down: Cards, up: Cards, total: int) -> int:
        """Return what losing the hand with these cards adds to `total`: the lowest there is.

        Negative where a pick earns the century bonus.
        """
        values = self._values
        points = set()
        if self.scoring == "one":
            for slot in SLOTS:
                points.update([low + high for low in values[down[slot]] for high in values[up[slot]]])
        else:
            points.add(0)
            for slot in SLOTS:
                points = {had + value for had in points for value in values[down[slot]] + values[up[slot]]}
        return min([self.added(had, total) for had in points])


CLASSIC = Rules({})


class Game:
    """What `hello` told: `match`, `seat` (yours), `seats` (how many), `names`, `rules`, `limits` …"""

    def __init__(self, hello: Message) -> None:
        self.match: str = hello.get("match", "")
        self.seat: int = hello["seat"]
        self.seats: int = hello["seats"]
        self.names: list[str] = hello.get("names", [])
        self.rules = Rules(hello["rules"])
        self.limits: dict[str, float] = hello.get("limits", {})
        self.resumed: bool = hello.get("resumed", False)
        self.rng_seed: str = hello.get("rng_seed", "")
        self._rng: Random | None = None

    @property
    def rng(self) -> Random:
        """A `random.Random` seeded by the referee: a match that is played again draws the same."""
        if self._rng is None:
            from random import Random  # here, because a bot that needs no chance starts faster without it

            self._rng = Random(self.rng_seed)
        return self._rng


class Hand:
    """The hand that is being played, and a memory of it.

    no, dealer, totals: its number, who dealt, the totals at its start.
    dealt_down, dealt_up: your face-down cards and everybody's face-up cards as they were dealt.
    down, up: your face-down cards and everybody's face-up cards now, by slot, and by seat and slot.
    pile: the discards that you know, oldest first; emptied by a reshuffle.
    kept: by seat and slot, None or the face-up card over which the owner was content with his card:
        he put it there himself, or he called (a call stands on four valid coops).
    proved, disproved: by seat and slot, the face-up cards over which the card that lies there is known
        to be valid, because of a call, or not to be valid, because a call lapsed by itself.
    turns: how many moves were made so far; reshuffles: how many new stocks there were.
    """

    def __init__(self, message: Message, game: Game) -> None:
        self.no: int = message["no"]
        self.dealer: int = message["dealer"]
        self.totals: list[int] = message["totals"]
        self.dealt_down: Cards = message["down"]
        self.dealt_up: list[Cards] = message["up"]
        self.down: Cards = list(message["down"])
        self.up: list[Cards] = [list(cards) for cards in message["up"]]
        self.pile: Cards = []
        self.kept: list[list[str | None]] = [[None] * 4 for _ in self.up]
        self.proved: list[list[tuple[str, ...]]] = [[()] * 4 for _ in self.up]
        self.disproved: list[list[tuple[str, ...]]] = [[()] * 4 for _ in self.up]
        self.turns = 0
        self.reshuffles = 0
        # By seat and slot: how many reshuffles there had been when its card was put there.
        self.since: list[list[int]] = [[0] * 4 for _ in self.up]
        # For each reshuffle, how many of each card may lie under those of the others that were there before it.
        self.lasting: list[dict[str, int]] = []
        # Calls that lapsed by themselves: a seat, and the face-up cards by slot of which one at least is not valid.
        self.lapses: list[tuple[int, dict[int, str]]] = []
        self._me = game.seat
        self._rules = game.rules
        self._caller: int | None = None
        self._drawn: str | None = None
        self.follow(message.get("events", ()))

    def follow(self, events: Iterable[Message]) -> None:
        """Take in what happened (the events of the protocol, in order)."""
        for event in events:
            move = event.get("move")
            if move is not None:
                self._follow_move(event, move)
            elif event.get("event") == "reshuffle":
                self._reshuffle()
            elif event.get("event") == "call_lapsed":
                self._lapse(event["seat"])

    def see(self, turn: Turn) -> None:
        """Take over what lies open at a turn, and remember what was drawn."""
        self.down = list(turn.down)
        self.up = [list(cards) for cards in turn.up]
        self._drawn = turn.drawn

    def _follow_move(self, event: Message, move: str) -> None:
        seat = event["seat"]
        if move[0] == "k":
            self._keep(seat, int(move[1]), event)
        elif move[0] == "s" and move != "show":
            other, slot = int(move[1]), int(move[2])
            self.pile.append(self.up[other][slot])
            self.up[other][slot] = event["card"]
        elif move[0] == "d":
            drawn = event.get("drew", self._drawn)
            if seat == self._me and drawn is not None:
                self.pile.append(drawn)
        else:
            if move == "go":
                # He was asked, so his four coops are valid; that the call lapses then tells nothing.
                self._prove(seat)
                self._caller = None
            return
        self.turns += 1
        if move[-1] == "!":
            self._caller = seat
            if self._rules.calls == "valid":
                self.kept[seat] = list(self.up[seat])
                self._prove(seat)

    def _keep(self, seat: int, slot: int, event: Message) -> None:
        out = event["out"]
        self.pile.append(out)
        self.kept[seat][slot] = self.up[seat][slot]
        if seat == self._me:
            self.down[slot] = event.get("drew") or self._drawn or HIDDEN
            return
        for counts in self.lasting[self.since[seat][slot] :]:
            counts[out] -= 1
        self.since[seat][slot] = self.reshuffles
        self.proved[seat][slot] = self.disproved[seat][slot] = ()
        for lapse in [lapse for lapse in self.lapses if lapse[0] == seat and slot in lapse[1]]:
            if not self._rules.valid(lapse[1].pop(slot), out):
                self.lapses.remove(lapse)
            else:
                self._settle(lapse)

    def _reshuffle(self) -> None:
        self.lasting.append(_unseen(self.down, self.up, self.pile))
        self.pile = []
        self.reshuffles += 1

    def _prove(self, seat: int) -> None:
        if seat != self._me:
            proved, up = self.proved[seat], self.up[seat]
            self.proved[seat] = [
                (*proved[slot], up[slot]) if up[slot] not in proved[slot] else proved[slot] for slot in SLOTS
            ]

    def _lapse(self, seat: int) -> None:
        if self._caller == seat != self._me:
            proved, up = self.proved[seat], self.up[seat]
            unsure = {
                slot: up[slot]
                for slot in SLOTS
                if not self._rules.fitting(proved[slot]) <= self._rules.fitting((up[slot],))
            }
            self.lapses.append((seat, unsure))
            self._settle(self.lapses[-1])
        self._caller = None

    def _settle(self, lapse: tuple[int, dict[int, str]]) -> None:
        """Where one card alone is left that can have broken a call, note that it did."""
        seat, unsure = lapse
        if len(unsure) == 1:
            [(slot, up)] = unsure.items()
            self.disproved[seat][slot] += (up,)
            self.lapses.remove(lapse)


class Turn:
    """One decision of yours.

    id, legal: its number and the moves that you may answer.
    drawn: the card that you drew; None at a `show`/`go` or pick decision.
    down: your four face-down cards; up: everybody's face-up cards, by seat and slot.
    discard: the top of the discard pile, `??` if it lies face-down, None if there is none.
    discards, stock: how many cards lie in the pile and in the stock (None at a pick decision).
    call: None, or {"seat": 0, "shield_used": True}.
    totals: everybody's total as at the start of the hand; events: what happened since your last turn.
    bank_s: CPU seconds that you have left for long thoughts; revealed: everybody's face-down cards,
        at a pick decision only.
    seat, seats, rules, rng: short for those of `game`. game, hand: see there.
    """

    def __init__(self, message: Message, game: Game, hand: Hand) -> None:
        self.game = game
        self.hand = hand
        self.seat = game.seat
        self.seats = game.seats
        self.rules = game.rules
        self.id: int = message["id"]
        self.legal: list[str] = message["legal"]
        self.drawn: str | None = message.get("drawn")
        self.down: Cards = message["down"]
        self.up: list[Cards] = message["up"]
        self.discard: str | None = message.get("discard")
        self.discards: int | None = message.get("discards")
        self.stock: int | None = message.get("stock")
        self.call: Message | None = message.get("call")
        self.totals: list[int] = message["totals"]
        self.events: list[Message] = message.get("events", [])
        self.bank_s: float = message.get("bank_s", 0.0)
        self.revealed: list[Cards] | None = message.get("revealed")
        self._unseen: list[int] | None = None
        self._chances: dict[str | tuple[str, str], float] = {}
        self._unknown: _Unknown | None = None
        self._race: _Race | None = None

    @property
    def rng(self) -> Random:
        """A `random.Random` seeded by the referee: a match that is played again draws the same."""
        return self.game.rng

    @property
    def is_pick(self) -> bool:
        """Whether you are to pick the cards that you score (rules with `picks="player"`)."""
        return self.legal[0].startswith("p")

    @property
    def my_up(self) -> Cards:
        """Your four face-up cards."""
        return self.up[self.seat]

    @property
    def opponents(self) -> list[int]:
        """The seats of the others still in the game, beginning with the one who plays after you."""
        seats = [(self.seat + step) % self.seats for step in range(1, self.seats)]
        return [seat for seat in seats if self.up[seat]]

    def my_valid(self) -> list[bool]:
        """Return for each of your four coops whether it is valid now."""
        return list(map(self.rules.valid, self.my_up, self.down))

    def down_after(self, move: str) -> Cards:
        """Return your four face-down cards as they would lie after one of your moves."""
        down = list(self.down)
        if move[0] == "k" and self.drawn:
            down[int(move[1])] = self.drawn
        return down

    def coops_after(self, move: str) -> list[bool]:
        """Return for each of your four coops whether it would be valid after one of your moves."""
        return list(map(self.rules.valid, self.my_up, self.down_after(move)))

    def lost_after(self, move: str) -> int:
        """Return what you would add to your total if you made a move and then lost the hand."""
        return self.rules.lost(self.down_after(move), self.my_up, self.totals[self.seat])

    def with_call(self, move: str) -> str:
        """Return the move with a call, if you may call with it; otherwise the move as it is."""
        return move + "!" if move + "!" in self.legal else move

    def unseen(self) -> dict[str, int]:
        """Return how many of each card you have not seen: in the stock, under the others' cards, or discarded hidden.

        Maps every card of the deck to 0, 1 or 2.
        """
        drawn = [self.drawn] if self.drawn else []
        return _unseen(drawn + self.down, self.up, self.hand.pile)

    def unseen_kinds(self) -> list[int]:
        """Return how many cards of each of `KINDS` you have not seen (each 0 to 4)."""
        if self._unseen is None:
            counts = self.unseen()
            self._unseen = [counts[rank + one] + counts[rank + other] for one, other in ("sc", "hd") for rank in RANKS]
        return self._unseen

    def chance_fits(self, up: str) -> float:
        """Return the chance that a card which you have not seen makes a valid coop under this face-up card."""
        if up not in self._chances:
            self._chances[up] = self._count(up) / (sum(self.unseen_kinds()) or 1)
        return self._chances[up]

    def chance_valid(self, seat: int, slot: int, *, up: str | None = None) -> float:
        """Return the chance that somebody else's coop is valid, or would be under another face-up card.

        Counts the cards that you have not seen, and trusts that an owner who put a card there himself
        did so to complete the coop (`hand.kept`).
        """
        up = up or self.up[seat][slot]
        kept = self.hand.kept[seat][slot]
        if kept is None:
            return self.chance_fits(up)
        pair = up, kept
        if pair not in self._chances:
            chosen, both = self._count(kept), self._count(up, kept)
            good = TRUST * both + (1 - TRUST) * (self._count(up) - both)
            every = TRUST * chosen + (1 - TRUST) * (sum(self.unseen_kinds()) - chosen)
            self._chances[pair] = good / every if every else 0.0
        return self._chances[pair]

    def chances_to_win(self, move: str) -> dict[int, float]:
        """Return by seat the chance to win the hand after one of your moves: a rough guess, in some 10 us.

        A coop is missing with the chance that it is invalid (you know your own), and a missing coop costs as many
        turns as a fitting card is rare. The fewer turns a player still needs, the more probably he wins; whoever
        has called with four valid coops most probably.
        """
        if self._race is None:
            self._race = _Race(self)
        return self._race.chances(move)

    def sample(self, rng: Random | None = None, *, trust: float = 0.0) -> Sample:
        """Return one way in which all that you cannot see may lie, drawn at random: about 20 us at a table of four.

        It agrees with all that you have seen: no card is there more often than it can be; what a call or
        `go` has vouched for is valid, what made a call lapse is not; under a card that lay there before a
        reshuffle is none that you knew in the discards. Until the first reshuffle of a hand every way that agrees
        is equally likely. After one they are nearly so: each card is drawn from those that may lie there, and
        how many ways that leaves for the rest is not weighed (the engine's `Sampler` does, and takes longer).

        What others *meant* it does not know; `trust`, 0 to 1, is how far to believe that a card which its owner put
        down himself (`hand.kept`) completed his coop: with that chance it is drawn from those that do.

        Draws from `rng`, or from `turn.rng`. ValueError at a pick: nothing is hidden then.
        """
        if self.is_pick:
            raise ValueError("expected a turn: at a pick all cards lie open")
        if self._unknown is None:
            self._unknown = _Unknown(self)
        return self._unknown.sample((rng or self.rng).random, trust)

    def _count(self, *ups: str) -> int:
        """Return how many unseen cards are valid under all these face-up cards."""
        return sum(map(mul, self.unseen_kinds(), self.rules.fits(*ups)))

    def best_pick(self) -> str:
        """Return the pick that leaves you the lowest total (at a pick decision)."""
        total, up = self.totals[self.seat], self.my_up

        def added(pick: str) -> int:
            return min([self.rules.added(p, total) for p in self.rules.pick_points(self.down, up, pick)])

        return min(self.legal, key=added)


class _Race:
    """Who will win the hand: each player weighs exp(-HASTE * turns that he still needs)."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn
        self._waits: dict[str, float] = {}
        self._valid = {seat: [turn.chance_valid(seat, slot) for slot in SLOTS] for seat in turn.opponents}
        self._weights = {seat: self._weight(seat, turn.up[seat], valid) for seat, valid in self._valid.items()}
        self._mine = self._my_weight("d")

    def chances(self, move: str) -> dict[int, float]:
        """Return the chances by seat, mine first."""
        mine, weights = self._mine, self._weights
        if move == "show":
            mine, weights = 1.0, dict.fromkeys(weights, 0.0)
        elif move[0] == "k" or move[-1] == "!":
            mine = self._my_weight(move)
        if move[0] == "s" and move != "show":
            seat, slot = int(move[1]), int(move[2])
            weights = {**weights, seat: self._weight_swapped(seat, slot)}
        everybody = mine + sum(weights.values())
        chances = {seat: weight / everybody for seat, weight in weights.items()}
        return {self._turn.seat: mine / everybody, **chances}

    def _my_weight(self, move: str) -> float:
        coops = self._turn.coops_after(move)
        if move[-1] == "!" and all(coops):
            return CALLED
        return self._patience(self._turn.my_up, coops)

    def _weight(self, seat: int, ups: Cards, valid: list[float]) -> float:
        """Return the weight of an opponent with these face-up cards and these chances that his coops are valid."""
        weight = self._patience(ups, valid)
        if self._turn.call and self._turn.call["seat"] == seat:
            weight += CALLED * valid[0] * valid[1] * valid[2] * valid[3]
        return weight

    def _weight_swapped(self, seat: int, slot: int) -> float:
        """Return what an opponent weighs once he has the drawn card on a slot."""
        drawn = self._turn.drawn or HIDDEN
        ups, valid = list(self._turn.up[seat]), list(self._valid[seat])
        ups[slot], valid[slot] = drawn, self._turn.chance_valid(seat, slot, up=drawn)
        return self._weight(seat, ups, valid)

    def _patience(self, ups: Cards, valid: list[float] | list[bool]) -> float:
        """Return the weight of a player who must wait for cards on the coops that he probably misses."""
        return exp(-HASTE * sum([(1 - valid[slot]) * self._wait(ups[slot]) for slot in SLOTS]))

    def _wait(self, up: str) -> float:
        """Return how many draws it takes, on average, to complete a coop under this face-up card."""
        if up not in self._waits:
            self._waits[up] = 1 / max(self._turn.chance_fits(up), 1 / LONGEST_WAIT)
        return self._waits[up]


class Sample:
    """One way in which the cards that a seat cannot see may lie; the lists are yours to change.

    down: everybody's face-down cards, by seat and slot, yours among them.
    stock: the stock in order, its first card is drawn next.
    hidden: the discards that you have not seen; with `hand.pile` they are the whole pile.
    """

    __slots__ = ("down", "hidden", "stock")

    def __init__(self, down: list[Cards], stock: Cards, hidden: Cards) -> None:
        self.down = down
        self.stock = stock
        self.hidden = hidden


class _Place:
    """A face-down card of somebody else's, and what may lie there.

    fitting, room: the cards that calls leave, and how many of those unseen they are.
    trusted, trusted_room: the same if its owner completed the coop with it; none if that is not to be guessed.
    since: how many reshuffles there had been when it was put there.
    """

    __slots__ = ("fitting", "is_free", "room", "seat", "since", "slot", "trusted", "trusted_room")

    def __init__(self, seat: int, slot: int, turn: Turn, pool: Cards) -> None:
        hand, fitting = turn.hand, turn.rules.fitting
        over, not_over, kept = hand.proved[seat][slot], hand.disproved[seat][slot], hand.kept[seat][slot]
        self.seat, self.slot = seat, slot
        self.since: int = hand.since[seat][slot]
        is_in_lapse = any(seat == caller and slot in unsure for caller, unsure in hand.lapses)
        self.is_free = not (over or not_over or is_in_lapse) and self.since == hand.reshuffles
        self.fitting = fitting(over, not_over)
        self.room = sum([card in self.fitting for card in pool])
        self.trusted = fitting((*over, kept), not_over) if kept and kept not in over else frozenset()
        self.trusted_room = sum([card in self.trusted for card in pool])


class _Unknown:
    """All that a seat cannot see at a turn, and samples of it."""

    def __init__(self, turn: Turn) -> None:
        self._turn, self._hand = turn, turn.hand
        self._pool = [card for card, count in turn.unseen().items() for _ in range(count)]
        self._places = [_Place(seat, slot, turn, self._pool) for seat in turn.opponents for slot in SLOTS]
        self._stock: int = turn.stock or 0
        hidden = (turn.discards or 0) - len(turn.hand.pile)
        if len(self._places) + self._stock + hidden != len(self._pool):
            raise ValueError(f"expected {len(self._places)} + {self._stock} + {hidden} unseen cards: {len(self._pool)}")
        certain = [(place.room, place.fitting, place) for place in self._places if not place.is_free]
        # The fewer cards fit, the sooner a place must choose.
        self._certain = sorted(certain, key=_room)
        self._free = [place for place in self._places if place.is_free]
        self._most = 1
        for number, (room, fitting, _place) in enumerate(self._certain):
            self._most *= room - sum([earlier <= fitting for _, earlier, _ in self._certain[:number]])

    def sample(self, random: Callable[[], float], trust: float) -> Sample:
        """Return a sample. ValueError if none is found that agrees with what was seen."""
        for attempt in range(SAMPLE_TRIES):
            if trust and attempt < TRUSTING_TRIES:
                sample = self._try(random, *self._believe(random, trust))
            else:
                sample = self._try(random, self._certain, self._free)
            if sample is not None:
                return sample
        raise ValueError("expected cards that agree with what was seen: found none")

    def _believe(self, random: Callable[[], float], trust: float) -> tuple[list[Choice], list[_Place]]:
        """Return which places choose from what, trusting each owner with this chance; and which take any card.

        What is certain chooses before what is believed.
        """
        certain: list[Choice] = []
        believed: list[Choice] = []
        free: list[_Place] = []
        for place in self._places:
            if place.trusted_room and random() < trust:
                believed.append((place.trusted_room, place.trusted, place))
            elif place.is_free:
                free.append(place)
            else:
                certain.append((place.room, place.fitting, place))
        return sorted(certain, key=_room) + sorted(believed, key=_room), free

    def _try(self, random: Callable[[], float], picky: list[Choice], free: list[_Place]) -> Sample | None:
        """Return a sample, or None if this attempt does not count."""
        pool, down = self._pool[:], [[""] * len(cards) for cards in self._turn.up]
        down[self._turn.seat] = list(self._turn.down)
        if not self._choose(random, picky, pool, down) or not self._explains_lapses(down):
            return None
        for last in range(len(pool) - 1, 0, -1):
            # Faster than random.shuffle by half, and as fair as a sample needs.
            other = int(random() * (last + 1))
            pool[last], pool[other] = pool[other], pool[last]
        for place in free:
            down[place.seat][place.slot] = pool.pop()
        return Sample(down, pool[: self._stock], pool[self._stock :])

    def _explains_lapses(self, down: list[Cards]) -> bool:
        """Whether of each call that lapsed by itself one coop is not valid."""
        valid = self._turn.rules.valid
        for seat, unsure in self._hand.lapses:
            if all(valid(up, down[seat][slot]) for slot, up in unsure.items()):
                return False
        return True

    def _choose(self, random: Callable[[], float], picky: list[Choice], pool: Cards, down: list[Cards]) -> bool:
        """Let the picky places choose from the pool, one after the other; return whether this attempt counts."""
        lasting = [dict(counts) for counts in self._hand.lasting]
        taken: Cards = []
        ways = 1
        for room, fitting, place in picky:
            limits = lasting[place.since :]
            left = room - sum([card in fitting for card in taken])
            if left < 1 and fitting is not place.fitting:
                # Owners whom one trusts may want more aces than there are.
                fitting, left = place.fitting, place.room - sum([card in place.fitting for card in taken])
            if left < 1:
                return False
            if limits:
                options = [card for card in pool if card in fitting and min([counts[card] for counts in limits]) > 0]
                if not options:
                    return False
                card = options[int(random() * len(options))]
                pool.remove(card)
                for counts in limits:
                    counts[card] -= 1
            else:
                ways *= left
                at = int(random() * len(pool))
                while pool[at] not in fitting:
                    at = int(random() * len(pool))
                card = pool[at]
                pool[at] = pool[-1]
                pool.pop()
            taken.append(card)
            down[place.seat][place.slot] = card
        # A deal comes up with the inverse of `ways`, so it counts with `ways` over what these can be at most.
        return bool(lasting) or picky is not self._certain or random() * self._most < ways


def _room(choice: Choice) -> int:
    """Return how many cards a place may choose from."""
    return choice[0]


class Bot:
    """A bot with a memory of its own: subclass it, write `choose`, and any of the others that you like.

    One object plays one match. `run(MyBot())` is the last line of its file.
    """

    def choose(self, turn: Turn) -> str:
        """Return one of `turn.legal`."""
        raise NotImplementedError("expected a method choose(turn)")

    def on_hello(self, game: Game) -> None:
        """Take in the match, before its first card: `game.seat` is yours, `game.rules` hold."""

    def on_hand(self, hand: Hand) -> None:
        """Take in a hand that was dealt; in a match that you join in the middle, with what has happened in it."""

    def on_hand_end(self, message: Message) -> None:
        """Take in how a hand ended: `end`, `winner`, all `down` cards, `points`, `totals` (the protocol's message)."""

    def on_game_end(self, message: Message) -> None:
        """Take in how the game ended: `totals`, `places`, `faults` (the protocol's message)."""


class Table:
    """A bot at its table: takes the protocol's messages one by one and answers those that want it."""

    def __init__(self, bot: Bot | Choose) -> None:
        self.bot = bot
        self.choose = bot.choose if hasattr(bot, "choose") else bot
        if not callable(self.choose):
            raise TypeError(f"expected a function, or an object with a method choose(turn): {bot!r}")
        # From `hello` and the first `hand` on.
        self.game: Game
        self.hand: Hand

    def answer(self, message: Message) -> Message | None:
        """Take in a message; return the answer, or None where there is none to give."""
        kind = message["type"]
        if kind == "turn":
            return {"id": message["id"], "move": self._decide(message)}
        if kind == "hand":
            self.hand = Hand(message, self.game)
            self._tell("on_hand", self.hand)
        elif kind == "hello":
            self.game = Game(message)
            self._tell("on_hello", self.game)
            return {"type": "ready"}
        elif kind in ("hand_end", "game_end"):
            self._tell("on_" + kind, message)
        return None

    def _decide(self, message: Message) -> str:
        self.hand.follow(message["events"])
        turn = Turn(message, self.game, self.hand)
        self.hand.see(turn)
        move = self.choose(turn)
        if move not in turn.legal:
            log(f"soureh_bot: expected one of {' '.join(turn.legal)}: {move!r}")
        return move

    def _tell(self, hook: str, news: Game | Hand | Message) -> None:
        method = getattr(self.bot, hook, None)
        if method is not None:
            method(news)


def play(bot: Bot | Choose, messages: Iterable[Message], send: Callable[[Message], object]) -> None:
    """Play one match: answer the protocol's messages (an iterable of dicts) through `send(dict)`.

    `run` is this on stdin and stdout; to test a bot give it lists.
    """
    table = Table(bot)
    for message in messages:
        if message["type"] == "bye":
            return
        answer = table.answer(message)
        if answer is not None:
            send(answer)


def run(bot: Bot | Choose) -> None:
    """Play one match on stdin and stdout; returns when it is over.

    `bot` is a function `choose(turn) -> move`, or an object with a method `choose` and, if it
    likes, `on_hello(game)`, `on_hand(hand)`, `on_hand_end(message)` and `on_game_end(message)`;
    the last two get the protocol's message, a dict.
    """
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    # A stray print would be read as an answer: from here on it goes to the log.
    sys.stdout = sys.stderr

    def send(answer: Message) -> None:
        sink.write(dumps(answer).encode() + b"\n")
        sink.flush()

    play(bot, map(loads, iter(source.readline, b"")), send)
