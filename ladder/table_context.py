"""What `games/_table.html` and `games/_replay.html` need, from a match: pages of running and of finished ones."""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from games import live, replay
from games.models import Match, Seat
from games.wording import describe
from ladder.history import player_url


def players_by_seat(match: Match) -> list[Seat]:
    """Return the players in seat order, with their bots and people loaded. One query."""
    return list(match.players.select_related("bot", "user").order_by("seat", "entrant"))


def table_context(match: Match, players: Sequence[Seat] | None = None) -> dict[str, Any] | None:
    """Return the context of a live table, as a spectator may see it; None while nothing may be seen."""
    view, log = live.view_at(match, None)
    if view is None:
        return None
    seats = players_by_seat(match) if players is None else players
    return {
        "view": view,
        "seats": seat_names(seats),
        "target": target_of(match),
        "last": next((event for event in reversed(log) if "move" in event), None),
        "log": log[:-31:-1],
        "socket": f"/ws/tables/{match.code}/",
        "after_url": reverse("match", args=[match.code]),
        "after_label": _("See the result"),
    }


def replay_context(match: Match, players: Sequence[Seat], query: Mapping[str, str]) -> dict[str, Any]:
    """Return the context of a finished match's replay, at the hand and step that `query` asks for."""
    hand = _within(query.get("hand"), 1, match.hands, default=1)
    frames = replay.frames(match, hand)
    last_step = len(frames) - 1
    step = _within(query.get("step"), 0, last_step, default=0)
    shown, names = frames[step], [seat.name for seat in players]
    return {
        "view": shown["view"],
        "seats": seat_names(players),
        "target": target_of(match),
        "last": shown["event"] if shown["event"] and "move" in shown["event"] else None,
        "hand": hand,
        "step": step,
        "steps": last_step,
        "hands": [{"no": no, "url": _at(no, 0), "current": no == hand} for no in range(1, match.hands + 1)],
        "moves": [
            {
                "step": number,
                "text": describe(frame["event"], names),
                "url": _at(hand, number),
                "current": number == step,
                "ms": frame["ms"],
            }
            for number, frame in enumerate(frames)
            if frame["event"]
        ],
        "frames_url": reverse("match_frames", args=[match.code]),
    } | _neighbours(hand, step, last_step, match.hands)


def seat_names(players: Sequence[Seat]) -> list[dict[str, Any]]:
    """Return the seats as the fragments name them; nobody is `you` to a spectator."""
    return [
        {"name": seat.name, "url": player_url(seat), "kind": "bot" if seat.version_id else "human", "you": False}
        for seat in players
    ]


def target_of(match: Match) -> int | None:
    """Return the total that ends the game or a player, None for a game of so many hands."""
    return None if match.rules["end"] == "hands" else match.rules["target"]


def _neighbours(hand: int, step: int, last_step: int, hands: int) -> dict[str, str]:
    """Return the addresses of the steps around one; a hand's ends lead into its neighbours."""
    back = _at(hand, step - 1) if step else _at(hand - 1, 10**6) if hand > 1 else ""
    on = _at(hand, step + 1) if step < last_step else _at(hand + 1, 0) if hand < hands else ""
    return {
        "first_url": _at(hand, 0) if step else "",
        "prev_url": back,
        "next_url": on,
        "last_url": _at(hand, last_step) if step < last_step else "",
    }


def _at(hand: int, step: int) -> str:
    return "?" + urlencode({"hand": hand, "step": step})


def _within(text: str | None, low: int, high: int, *, default: int) -> int:
    """Read a number from an address, brought between `low` and `high`."""
    if text is None or not text.isascii() or not text.isdigit():
        return default
    return min(max(int(text[:9]), low), max(low, high))
