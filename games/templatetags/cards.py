"""Template tags that lay cards and tables out for the fragments in `templates/games/`.

They take views as the engine gives them (`game.view`) and add only what is said and where it stands.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils import timezone

from games import wording
from games.clocks import left_s

register = template.Library()

SPRITE = "games/cards.svg"
# Where the seats of a table stand, clockwise from the reader's own; a seat's left neighbour sits after it.
POSITIONS = {
    2: ("bottom", "top"),
    3: ("bottom", "left", "right"),
    4: ("bottom", "left", "top", "right"),
}
# Whether a coop is valid, as far as the reader may know.
VALID_MARKS = {True: "yes", False: "no", None: ""}


@register.inclusion_tag("games/_card.html")
def card(code: str | None, label: str | None = None) -> dict[str, Any]:
    """Render a card: two letters, `??` for a back, None for an empty place."""
    href = "" if code is None else f"{static(SPRITE)}#{'back' if code == wording.HIDDEN else code}"
    return {"code": code or "", "href": href, "label": wording.card_name(code) if label is None else label}


@register.filter
def card_name(code: str | None) -> str:
    """Name a card in words."""
    return wording.card_name(code)


@register.filter
def clock_left(clock: Mapping[str, Any]) -> str:
    """Return in minutes and seconds what a row of `clocks.clock_rows` leaves for the present move, or the next one."""
    seconds = math.ceil(left_s(clock, timezone.now()))
    return f"{seconds // 60}:{seconds % 60:02}"


@register.simple_tag
def card_sprite() -> str:
    """Return the address of the deck's sprite."""
    return static(SPRITE)


@register.simple_tag
def table_words() -> str:
    """Return the table's sentences as JSON, for a data attribute."""
    return json.dumps(wording.words(), ensure_ascii=False, separators=(",", ":"))


@register.simple_tag
def fairness_words() -> str:
    """Return the sentences of `games/_fairness.html`'s module as JSON, for a data attribute."""
    return json.dumps(wording.fairness_words(), ensure_ascii=False, separators=(",", ":"))


@register.simple_tag
def happening(event: Mapping[str, Any] | None, seats: Sequence[Mapping[str, Any]]) -> str:
    """Say one event in words; an empty string for None."""
    return wording.describe(event, [seat["name"] for seat in seats]) if event else ""


@register.simple_tag
def table_layout(
    view: Mapping[str, Any],
    seats: Sequence[Mapping[str, Any]],
    target: int | None = None,
    last: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Lay a view out for `games/_table.html`.

    Args:
        view: `game.view(seat)` as JSON-able values.
        seats: by seat, each with `name`, `url`, `kind` and `you`.
        target: the total that ends the game (or a player), None if the match has none.
        last: the last move event, to be marked where it happened.
    """
    count = view["seats"]
    base = view["you"] or 0
    marks = _marks(last)
    rows = [_seat(view, seats, seat, marks) for seat in range(count)]
    for row in rows:
        row["position"] = POSITIONS[count][(row["index"] - base) % count]
    others = [rows[(base + step) % count] for step in range(1, count)]
    drawer = view["to_act"] if view["drawn"] is not None else None
    return {
        "seats": rows,
        "others": others,
        "mine": rows[base],
        "own_drawn": view["drawn"] if drawer == base else None,
        "other_drawn": view["drawn"] if drawer not in (None, base) else None,
        "drawer": seats[drawer]["name"] if drawer is not None else "",
        "discard_is_last": "discard" in marks,
        "call": _call(view, seats),
        "scores": _scores(view, seats, target),
        "target": target,
        "names": json.dumps([seat["name"] for seat in seats], ensure_ascii=False),
        "to_move": seats[view["to_act"]]["name"] if view["to_act"] is not None else "",
    }


def _seat(view: Mapping[str, Any], seats: Sequence[Mapping[str, Any]], seat: int, marks: set[str]) -> dict[str, Any]:
    coops = view.get("coops") or []
    validity = coops[seat] if seat < len(coops) and coops[seat] else [None] * 4
    down, up = view["down"][seat] or [None] * 4, view["up"][seat] or [None] * 4
    own = view["you"] == seat
    return dict(seats[seat]) | {
        "index": seat,
        "you": own,
        "to_act": view["to_act"] == seat,
        "dealer": view["dealer"] == seat,
        "eliminated": seat in view["eliminated"],
        "faulted": seat in view["faulted"],
        "coops": [
            {
                "slot": slot,
                "valid": VALID_MARKS[validity[slot]],
                "up": up[slot],
                "up_label": wording.slot_label("up", slot, up[slot]),
                "up_is_last": f"{seat}-up-{slot}" in marks,
                "down": down[slot],
                "down_label": wording.slot_label("down", slot, down[slot], own=own),
                "down_is_last": f"{seat}-down-{slot}" in marks,
                "is_private": own and down[slot] not in (None, wording.HIDDEN),
            }
            for slot in range(4)
        ],
    }


def _marks(last: Mapping[str, Any] | None) -> set[str]:
    """Return the places that the last move touched."""
    if not last or "move" not in last:
        return set()
    move = last["move"].removesuffix("!")
    if move[0] == "k":
        return {f"{last['seat']}-down-{move[1]}", "discard"}
    if move[0] == "s":
        return {f"{move[1]}-up-{move[2]}", "discard"}
    return {"discard"} if move == "d" else set()


def _call(view: Mapping[str, Any], seats: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    call = view["call"]
    if call is None:
        return None
    return {
        "name": seats[call["seat"]]["name"],
        "waiting": [seats[seat]["name"] for seat in _still_to_play(view)],
        "shield_used": call["shield_used"],
    }


def _still_to_play(view: Mapping[str, Any]) -> list[int]:
    """Return the seats that have a turn before the caller's next, the one to act first."""
    if view["to_act"] is None:
        return []
    order = ((view["to_act"] + step) % view["seats"] for step in range(view["seats"]))
    waiting: list[int] = []
    for seat in order:
        if seat == view["call"]["seat"]:
            break
        if seat not in view["eliminated"]:
            waiting.append(seat)
    return waiting


def _scores(view: Mapping[str, Any], seats: Sequence[Mapping[str, Any]], target: int | None) -> list[dict[str, Any]]:
    end = target or max(100, *view["totals"])
    return [
        {
            "index": seat,
            "name": seats[seat]["name"],
            "you": view["you"] == seat,
            "total": total,
            "end": end,
            "width": max(0, min(total, end)),
            "centuries": range(100, end, 100),
        }
        for seat, total in enumerate(view["totals"])
    ]
