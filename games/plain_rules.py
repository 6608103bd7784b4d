"""Say in plain words which rules are in force at a table, each with the number of its rule in the book."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from games.engine import Rules
from games.rulebook import OPTIONS, label_of, rule_of, sentence


class Line(NamedTuple):
    """A sentence, and the number of the rule that it puts in force."""

    text: str
    rule: str


def plain_rules(rules: Mapping[str, Any], seats: int) -> list[Line]:
    """Return the rules in force in sentences; `rules` has every option, as in the record."""
    coops = _("A red face-up card lies below its face-down card in rank, a black one above it.")
    return [
        Line(_preset(rules), "10.1"),
        Line(_("%(count)d players at a table.") % {"count": seats}, "2.1"),
        *(_line("end", rules), Line(coops, "5.1")),
        *(_line(option, rules) for option in ("coop_colour", "aces", "ace_guard", "calls")),
        Line(_shield(rules["caller_shield"]), rule_of("caller_shield")),
        *(_line(option, rules) for option in ("scoring", "picks", "ace_values", "century_bonus")),
        Line(_reshuffles(rules["max_reshuffles"]), rule_of("max_reshuffles")),
    ]


def in_short(rules: Mapping[str, Any]) -> str:
    """Name the preset, and every option that differs from it, without a full stop; options may be left out."""
    if not (changes := _changes(rules)):
        return str(rules["preset"])
    return _("%(preset)s, but: %(changes)s") % {"preset": rules["preset"], "changes": changes}


def _preset(rules: Mapping[str, Any]) -> str:
    if not (changes := _changes(rules)):
        return _("The preset %(preset)s, unchanged.") % {"preset": rules["preset"]}
    return _("The preset %(preset)s, but: %(changes)s.") % {"preset": rules["preset"], "changes": changes}


def _changes(rules: Mapping[str, Any]) -> str:
    # What was written before an option came about lacks it.
    rules, usual = Rules.from_json(rules).to_json(), Rules.preset(rules["preset"]).to_json()
    changed = [name for name in OPTIONS if rules[name] != usual[name]]
    return "; ".join(f"{OPTIONS[name].label}: {label_of(name, rules[name])}" for name in changed)


def _line(option: str, rules: Mapping[str, Any]) -> Line:
    text = sentence(option, rules[option], target=rules["target"], hands=rules["hands"])
    return Line(text, rule_of(option))


def _shield(count: int | None) -> str:
    if count is None:
        return _("After a call the caller’s face-up cards may be replaced as often as turns allow.")
    if not count:
        return _("After a call the caller’s face-up cards may not be replaced.")
    if count == 1:
        return _("After a call the caller’s face-up cards may be replaced once in all.")
    text = ngettext(
        "After a call the caller’s face-up cards may be replaced %(count)d time in all.",
        "After a call the caller’s face-up cards may be replaced %(count)d times in all.",
        count,
    )
    return text % {"count": count}


def _reshuffles(count: int) -> str:
    if not count:
        return _("A hand whose stock runs out ends: nobody wins it, unless a standing call holds.")
    text = ngettext(
        "The discards become a new stock %(count)d time in a hand; after that nobody wins it, unless a standing call "
        "holds.",
        "The discards become a new stock up to %(count)d times in a hand; after that nobody wins it, unless a standing "
        "call holds.",
        count,
    )
    return text % {"count": count}
