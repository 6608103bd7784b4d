"""The one door by which cards leave the engine (formats 1, 2, 4).

`view` and `render` show a viewer what he may see; `Feed` makes a bot's messages out of
them. A viewer is a seat, or None for a spectator. Nothing else in the project reads a
hand's cards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .cards import HIDDEN, NAMES, Card, format_cards
from .hand import NOBODY, PICK, Hand
from .log import CallLapsed, Entry, Faulted, GameEnded, HandDealt, HandEnded, Moved, Reshuffled, is_move
from .shuffle import commitment, rng_seed

if TYPE_CHECKING:
    from .game import Game

PROTOCOL = "soureh-bot/1"


def view(game: Game, hand: Hand, viewer: int | None, *, revealed: bool = False) -> dict[str, Any]:
    """Return `hand` as `viewer` may see it; of an earlier hand of the game, as it ended."""
    decision = game.decision if hand is game._hand else None
    # Once a hand is over its cards are open, and a pick needs to know nothing less (rules 3, 8).
    is_open = revealed or hand.kind in (PICK, None)
    shows = [is_open or seat == viewer for seat in range(game.seats)]
    return {
        "hand": hand.no,
        "dealer": hand.dealer,
        "seats": game.seats,
        "you": viewer,
        "decision": decision.id if decision else None,
        "to_act": decision.seat if decision else None,
        "kind": decision.kind if decision else None,
        "down": [_cards(cards, shown) for cards, shown in zip(hand.down, shows, strict=True)],
        "up": [format_cards(cards) for cards in hand.up],
        "drawn": _drawn(hand, viewer, revealed=revealed),
        "discard": _top_discard(hand, revealed=revealed),
        "discards": hand.discarded,
        "stock": len(hand.stock) - hand.at,
        "call": _call(hand),
        "totals": list(hand.end.totals if hand.end else hand.totals),
        "eliminated": [seat for seat in range(game.seats) if seat not in hand.order],
        "faulted": game.faulted,
        "coops": [_coops(hand, seat, shown) for seat, shown in enumerate(shows)],
    }


def _cards(cards: Sequence[Card], shown: bool) -> list[str]:
    return format_cards(cards) if shown else [HIDDEN] * len(cards)


def _coops(hand: Hand, seat: int, shown: bool) -> list[bool | None]:
    return [*hand.coops(seat)] if shown else [None] * len(hand.up[seat])


def _drawn(hand: Hand, viewer: int | None, *, revealed: bool) -> str | None:
    if hand.drawn is None or hand.kind is None:
        return None
    return NAMES[hand.drawn] if revealed or viewer == hand.seat else HIDDEN


def _top_discard(hand: Hand, *, revealed: bool) -> str | None:
    top = hand.top
    if top is None:
        return None
    card, is_up = top
    return NAMES[card] if is_up or revealed else HIDDEN


def _call(hand: Hand) -> dict[str, Any] | None:
    return None if hand.caller == NOBODY else {"seat": hand.caller, "shield_used": hand.shield == 0}


def render(entry: Entry, viewer: int | None, *, revealed: bool = False, with_own_draws: bool = False) -> dict[str, Any]:
    """Return one entry of the log as `viewer` may see it.

    `with_own_draws` adds the key `drew` to the viewer's own turns.
    """
    if is_move(entry):
        return _render_move(entry, shows_drew=revealed or (with_own_draws and entry[0] == viewer))
    match entry:
        case CallLapsed():
            return {"event": "call_lapsed", "seat": entry.seat}
        case Reshuffled():
            return {"event": "reshuffle"}
        case Faulted():
            return {"event": "fault", "seat": entry.seat, "kind": entry.kind}
        case HandDealt():
            return {
                "event": "hand",
                "no": entry.no,
                "dealer": entry.dealer,
                "down": [_cards(entry.down(seat), revealed or seat == viewer) for seat in range(len(entry.totals))],
                "up": [format_cards(entry.up(seat)) for seat in range(len(entry.totals))],
                "totals": list(entry.totals),
            }
        case HandEnded():
            return {"event": "hand_end", **_render_hand_end(entry)}
        case GameEnded():
            places = list(entry.places)
            return {"event": "game_end", "totals": list(entry.totals), "places": places, "how": entry.how}
    raise AssertionError(f"an entry of no kind: {entry!r}")


def _render_move(entry: Moved, *, shows_drew: bool) -> dict[str, Any]:
    seat, move, drew, out = entry
    event: dict[str, Any] = {"seat": seat, "move": move}
    # A keep shows the card that it replaces, a swap the card that it lays.
    if out is not None and move[0] == "k":
        event["out"] = NAMES[out]
    elif drew is not None and move[0] == "s":
        event["card"] = NAMES[drew]
    if shows_drew and drew is not None:
        event["drew"] = NAMES[drew]
    return event


def _render_hand_end(entry: HandEnded) -> dict[str, Any]:
    return {
        "no": entry.no,
        "end": entry.end.how,
        "winner": entry.end.winner,
        "down": [format_cards(entry.down(seat)) for seat in range(len(entry.end.totals))],
        "picks": list(entry.end.picks),
        "points": list(entry.end.points),
        "bonus": list(entry.end.bonus),
        "totals": list(entry.end.totals),
    }


class Feed:
    """The messages of `soureh-bot/1` that are due to one seat, in order.

    A feed keeps its place in the game's log; it is used with one game, or with replays
    of the same game. The clock (`bank_s`), `limits` and `bye` are the referee's to add.
    """

    def __init__(self, seat: int) -> None:
        self.seat = seat
        self._next_entry = 0
        self._asked = 0
        self._events: list[dict[str, Any]] = []

    def hello(
        self,
        game: Game,
        *,
        match: str,
        names: Sequence[str],
        limits: Mapping[str, Any] | None = None,
        resumed: bool = False,
    ) -> dict[str, Any]:
        """Return the opening message; `names` by seat."""
        message: dict[str, Any] = {
            "type": "hello",
            "protocol": PROTOCOL,
            "match": match,
            "seat": self.seat,
            "seats": game.seats,
            "names": list(names),
            "rules": game.rules.to_json(),
            "commitment": commitment(game.server_seed),
            "rng_seed": rng_seed(game.server_seed, self.seat),
            "resumed": resumed,
        }
        return message if limits is None else {**message, "limits": dict(limits)}

    def messages(self, game: Game) -> list[dict[str, Any]]:
        """Return what is due since the last time; a `turn`, if this seat must decide, comes last and once."""
        due: list[dict[str, Any]] = []
        entries = game._entries(self._next_entry)
        for entry in entries:
            if is_move(entry):  # by far the most
                self._events.append(_render_move(entry, shows_drew=False))
                continue
            message = self._message(game, entry)
            if message is not None:
                due.append(message)
        self._next_entry += len(entries)
        hand = game._hand
        if hand.seat == self.seat and hand.kind is not None and game.decisions_made >= self._asked:
            self._asked = game.decisions_made + 1
            due.append(self._turn(game, self._asked))
        return due

    def resume(self, game: Game) -> dict[str, Any]:
        """Return the `hand` message for a bot started in the middle of a game, and go on from here.

        Raises:
            ValueError: the game is over, or this seat is eliminated.
        """
        if game.decision is None or self.seat not in game.playing:
            raise ValueError(f"expected a seat that is still playing: {self.seat}")
        dealt, *since = game._hand.log
        if not isinstance(dealt, HandDealt):
            raise AssertionError("a hand's log begins with its deal")
        message = self._hand(dealt)
        message["events"] = [render(entry, self.seat, with_own_draws=True) for entry in since]
        self._next_entry = len(game.log)
        self._events = []
        return message

    def _message(self, game: Game, entry: Entry) -> dict[str, Any] | None:
        """Return the message that an entry makes at once, if it does; other entries wait as events."""
        match entry:
            case HandDealt():
                return self._hand(entry) if self.seat in entry.order else None
            case HandEnded():
                return {"type": "hand_end", **_render_hand_end(entry), "events": self._take_events()}
            case GameEnded():
                faults = [{"seat": fault.seat, "kind": fault.kind} for fault in game.faults]
                totals, places = list(entry.totals), list(entry.places)
                return {"type": "game_end", "totals": totals, "places": places, "faults": faults}
        self._events.append(render(entry, self.seat))
        return None

    def _hand(self, entry: Entry) -> dict[str, Any]:
        shown = render(entry, self.seat)
        return {
            "type": "hand",
            "no": shown["no"],
            "dealer": shown["dealer"],
            "down": shown["down"][self.seat],
            "up": shown["up"],
            "totals": shown["totals"],
            "events": [],
        }

    def _turn(self, game: Game, decision: int) -> dict[str, Any]:
        """Return the question: the whole view of this seat, so that a bot may be stateless."""
        hand = game._hand
        first = 4 * self.seat
        message: dict[str, Any] = {
            "type": "turn",
            "id": decision,
            "drawn": _drawn(hand, self.seat, revealed=False),
            "legal": list(game.legal()),
            "down": format_cards(hand._down[first : first + 4]),
            "up": hand.by_seat(format_cards(hand._up)),
        }
        if hand.kind == PICK:
            message["revealed"] = hand.by_seat(format_cards(hand._down))
        else:
            message["discard"] = _top_discard(hand, revealed=False)
            message["stock"] = len(hand.stock) - hand.at
            message["discards"] = hand.discarded
            message["call"] = _call(hand)
        message["totals"] = list(hand.totals)
        message["events"] = self._take_events()
        return message

    def _take_events(self) -> list[dict[str, Any]]:
        events, self._events = self._events, []
        return events
