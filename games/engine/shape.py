"""Whether a document has the shape of a match record at all (formats 3).

Says nothing about truth: that is `record.verify`. Values are taken strictly, as JSON
has them: true is no integer, and neither is 1.0. Unknown keys are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from .game import FAULT_KINDS, InvalidRecord
from .notation import MAX_SEATS, show
from .rules import OPTIONS
from .shuffle import PLAYER_SEED_MAX, SCHEME

FORMAT = "soureh-record/1"

COUNT_MAX = 2**53

_HEX_64 = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z")
_ENDS = ("soureh", "washout", "stopped")
_RESULTS = ("target", "elimination", "hands", "fault", "void")


def same(found: Any, expected: Any) -> bool:
    """Say whether two JSON values are the same, types and all: True is not 1, and neither is 1.0."""
    if type(found) is not type(expected):
        return False
    if isinstance(found, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in found)
    if isinstance(found, list):
        if found == expected and set(map(type, expected)) == {str}:
            return True  # nothing but text equals text
        return len(found) == len(expected) and all(map(same, found, expected))
    return bool(found == expected)


def check(doc: Any) -> None:
    """Raise InvalidRecord, saying where, unless `doc` has the shape of a record."""
    _object(doc, "record")
    if _get(doc, "format", "record") != FORMAT:
        raise _wrong("format", FORMAT, doc["format"])
    _text(doc, "id", "record")
    _time(_get(doc, "played", "record"))
    _object(_get(doc, "rules", "record"), "rules")
    for option in ("preset", *OPTIONS):
        _get(doc["rules"], option, "rules")
    seats = _list(_get(doc, "seats", "record"), "seats")
    if not 2 <= len(seats) <= MAX_SEATS:
        raise _wrong("seats", f"2 to {MAX_SEATS} seats", len(seats))
    for number, seat in enumerate(seats):
        _seat(seat, f"seat {number}")
    _seating(_get(doc, "seating", "record"))
    _fairness(_get(doc, "fairness", "record"), len(seats))
    for number, hand in enumerate(_list(_get(doc, "hands", "record"), "hands"), 1):
        _hand(hand, f"hand {number}", len(seats))
    for number, fault in enumerate(_list(_get(doc, "faults", "record"), "faults"), 1):
        _fault(fault, f"fault {number}", len(seats))
    _result(_get(doc, "result", "record"), len(seats))


def _wrong(where: str, expected: str, found: Any) -> InvalidRecord:
    return InvalidRecord(f"{where}: expected {expected}: {show(found)}")


def _object(value: Any, where: str) -> None:
    if not isinstance(value, dict):
        raise _wrong(where, "an object", value)


def _get(doc: dict[str, Any], key: str, where: str) -> Any:
    if key not in doc:
        raise InvalidRecord(f"{where}: expected the key {key!r}: it is missing")
    return doc[key]


def _list(value: Any, where: str, length: int | None = None, of: Callable[[Any], bool] | None = None) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(where, "a list", value)
    if length is not None and len(value) != length:
        raise _wrong(where, f"a list of {length}", value)
    if of is not None and not _all_are(of, value):
        number, item = next((number, item) for number, item in enumerate(value, 1) if not of(item))
        raise _wrong(f"{where}, item {number}", _WHAT[of], item)
    return value


def _all_are(of: Callable[[Any], bool], values: list[Any]) -> bool:
    """Say whether `of` holds for each of `values`; what JSON makes of texts and counts is told by a glance at all."""
    types = set(map(type, values))
    if of is is_text and types == {str} or of is is_integer and types == {int}:
        return True
    if of is is_count and types == {int} and min(values) >= 0:
        return bool(max(values) <= COUNT_MAX)
    return all(map(of, values))


def is_text(value: Any) -> bool:
    """Say whether `value` is a string."""
    return isinstance(value, str)


def is_integer(value: Any) -> bool:
    """Say whether `value` is an integer and no boolean."""
    return type(value) is int


def is_count(value: Any) -> bool:
    """Say whether `value` is an integer from 0 that every JSON reader keeps exact."""
    return type(value) is int and 0 <= value <= COUNT_MAX


_WHAT: dict[Callable[[Any], bool], str] = {
    is_text: "a string",
    is_integer: "an integer",
    is_count: "an integer from 0 to 2**53",
}


def _item(doc: dict[str, Any], key: str, where: str, of: Callable[[Any], bool]) -> Any:
    value = _get(doc, key, where)
    if not of(value):
        raise _wrong(f"{where}: {key}", _WHAT[of], value)
    return value


def _text(doc: dict[str, Any], key: str, where: str) -> str:
    value: str = _item(doc, key, where, is_text)
    if not value:
        raise _wrong(f"{where}: {key}", "some text", value)
    return value


def _one_of(doc: dict[str, Any], key: str, where: str, allowed: tuple[str, ...]) -> None:
    value = _get(doc, key, where)
    if not is_text(value) or value not in allowed:
        raise _wrong(f"{where}: {key}", " or ".join(allowed), value)


def _hex(doc: dict[str, Any], key: str, where: str) -> None:
    value = _get(doc, key, where)
    if not is_text(value) or not _HEX_64.fullmatch(value):
        raise _wrong(f"{where}: {key}", "64 lower-case hex digits", value)


def _time(value: Any) -> None:
    expected = "a time like 2026-11-30T09:15:00Z"
    if not is_text(value) or not _TIME.fullmatch(value):
        raise _wrong("played", expected, value)
    try:
        datetime.fromisoformat(value)
    except ValueError as error:
        raise _wrong("played", expected, value) from error


def _seat(seat: Any, where: str) -> None:
    _object(seat, where)
    _item(seat, "name", where, is_text)
    _one_of(seat, "kind", where, ("human", "bot"))
    if "version" in seat:
        _item(seat, "version", where, is_text)
    if "sha256" in seat:
        _hex(seat, "sha256", where)


def _seating(seating: Any) -> None:
    _object(seating, "seating")
    _one_of(seating, "how", "seating", ("draw", "fixed"))
    if seating["how"] == "draw":
        _list(_get(seating, "rounds", "seating"), "seating: rounds")


def _fairness(fairness: Any, seats: int) -> None:
    _object(fairness, "fairness")
    if _get(fairness, "scheme", "fairness") != SCHEME:
        raise _wrong("fairness: scheme", SCHEME, fairness["scheme"])
    _hex(fairness, "commitment", "fairness")
    _hex(fairness, "server_seed", "fairness")
    where = "fairness: player_seeds"
    for seed in _list(_get(fairness, "player_seeds", "fairness"), where, seats, is_text):
        if len(seed) > PLAYER_SEED_MAX or not (seed.isascii() and seed.isprintable()):
            raise _wrong(where, f"up to {PLAYER_SEED_MAX} printable ASCII characters", seed)


def _hand(hand: Any, where: str, seats: int) -> None:
    _object(hand, where)
    _item(hand, "no", where, is_count)
    _item(hand, "dealer", where, is_count)
    _list(_get(hand, "deck", where), f"{where}: deck", of=is_text)
    for number, stock in enumerate(_list(_get(hand, "reshuffles", where), f"{where}: reshuffles"), 1):
        _list(stock, f"{where}: reshuffle {number}", of=is_text)
    moves = _list(_get(hand, "moves", where), f"{where}: moves", of=is_text)
    if "ms" in hand:
        _list(hand["ms"], f"{where}: ms", len(moves), is_count)
    end, where = _get(hand, "end", where), f"{where}: end"
    _object(end, where)
    _one_of(end, "how", where, _ENDS)
    if _get(end, "winner", where) is not None:
        _item(end, "winner", where, is_count)
    _list(_get(end, "picks", where), f"{where}: picks", seats, is_text)
    for figures in ("points", "bonus", "totals"):
        _list(_get(end, figures, where), f"{where}: {figures}", seats, is_integer)


def _fault(fault: Any, where: str, seats: int) -> None:
    _object(fault, where)
    if _item(fault, "seat", where, is_count) >= seats:
        raise _wrong(f"{where}: seat", f"a seat below {seats}", fault["seat"])
    _one_of(fault, "kind", where, FAULT_KINDS)
    _item(fault, "hand", where, is_count)
    _item(fault, "turn", where, is_count)
    _item(fault, "detail", where, is_text)


def _result(result: Any, seats: int) -> None:
    _object(result, "result")
    _one_of(result, "how", "result", _RESULTS)
    _list(_get(result, "totals", "result"), "result: totals", seats, is_integer)
    _list(_get(result, "places", "result"), "result: places", seats, is_integer)
