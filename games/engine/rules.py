"""The rule options and their presets, as data (rules 10).

The engine asks an option where it matters; it never asks which preset is played.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from .notation import show


class RulesError(ValueError):
    """An unknown option, or a value that it does not allow; the message names both."""


@dataclass(frozen=True, slots=True)
class Option:
    """What one option allows: `allowed` for people, `accepts` for values as JSON has them."""

    allowed: str
    accepts: Callable[[Any], bool]


def _choice(*values: str) -> Option:
    return Option(" or ".join(values), lambda value: isinstance(value, str) and value in values)


def _integer(low: int, high: int, *, or_null: bool = False) -> Option:
    def accepts(value: Any) -> bool:
        # bool is a subclass of int, and true is no number in a rule book.
        return (or_null and value is None) or (type(value) is int and low <= value <= high)

    return Option(f"an integer from {low} to {high}" + (" or null" if or_null else ""), accepts)


def _is_ace_values(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and all(type(item) is int for item in value)
        and tuple(value) in ((1,), (1, 11))
    )


OPTIONS: Mapping[str, Option] = {
    "coop_colour": _choice("any", "same"),
    "aces": _choice("either", "front"),
    "ace_guard": _choice("ten", "always"),
    "calls": _choice("valid", "any"),
    "caller_shield": _integer(0, 12, or_null=True),
    "scoring": _choice("every", "one"),
    "ace_values": Option("[1] or [1, 11]", _is_ace_values),
    "century_bonus": Option("true or false", lambda value: isinstance(value, bool)),
    "end": _choice("target", "elimination", "hands"),
    "target": _integer(1, 10_000),
    "hands": _integer(1, 1_000, or_null=True),
    "max_reshuffles": _integer(0, 10),
    "picks": _choice("best", "player"),
}

_CLASSIC: Mapping[str, Any] = {
    "coop_colour": "any",
    "aces": "either",
    "ace_guard": "ten",
    "calls": "valid",
    "caller_shield": 1,
    "scoring": "every",
    "ace_values": (1,),
    "century_bonus": True,
    "end": "target",
    "target": 250,
    "hands": None,
    "max_reshuffles": 2,
    "picks": "best",
}

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "classic": _CLASSIC,
    "common": {
        **_CLASSIC,
        "coop_colour": "same",
        "aces": "front",
        "ace_guard": "always",
        "calls": "any",
        "scoring": "one",
        "century_bonus": False,
        "target": 100,
    },
    "inventor": {**_CLASSIC, "ace_values": (1, 11)},
}


@dataclass(frozen=True, slots=True)
class Rules:
    """One value for every option; `base` is the preset that the options started from.

    Raises:
        RulesError: an option has a value that it does not allow.
    """

    base: str
    coop_colour: str
    aces: str
    ace_guard: str
    calls: str
    caller_shield: int | None
    scoring: str
    ace_values: tuple[int, ...]
    century_bonus: bool
    end: str
    target: int
    hands: int | None
    max_reshuffles: int
    picks: str

    def __post_init__(self) -> None:
        _check_preset(self.base)
        for name, option in OPTIONS.items():
            value = getattr(self, name)
            if not option.accepts(value):
                raise RulesError(f"{name}: expected {option.allowed}: {show(value)}")
        if (self.end == "hands") != (self.hands is not None):
            expected = "an integer from 1 to 1000" if self.end == "hands" else "null"
            raise RulesError(f'hands: expected {expected} where end is "{self.end}": {self.hands!r}')

    @classmethod
    def preset(cls, name: str = "classic", /, **options: Any) -> Rules:
        """Return a preset's rules with some options overridden.

        Raises:
            RulesError: the preset or an option is unknown, or a value is not allowed.
        """
        _check_preset(name)
        for option in options:
            if option not in OPTIONS:
                raise RulesError(f"unknown option, expected one of {', '.join(OPTIONS)}: {show(option)}")
        values = {**PRESETS[name], **options}
        if isinstance(values["ace_values"], list):
            values["ace_values"] = tuple(values["ace_values"])
        return cls(base=name, **values)

    @classmethod
    def from_json(cls, doc: Mapping[str, Any]) -> Rules:
        """Return the rules that `to_json` wrote; options left out are the preset's.

        Raises:
            RulesError: as `preset`, or `doc` is no mapping.
        """
        if not isinstance(doc, Mapping):
            raise RulesError(f"expected an object of options: {show(doc)}")
        options = {str(name): value for name, value in doc.items() if name != "preset"}
        return cls.preset(doc.get("preset", "classic"), **options)

    def to_json(self) -> dict[str, Any]:
        """Return "preset" and every option, as the record and the bots' `hello` carry them."""
        doc = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"preset": doc.pop("base"), **doc, "ace_values": list(self.ace_values)}


def _check_preset(name: Any) -> None:
    if not isinstance(name, str) or name not in PRESETS:
        raise RulesError(f"preset: expected {' or '.join(PRESETS)}: {show(name)}")
