"""Say in plain words which rules are in force, from the options of a match or a ladder."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext


def plain_rules(rules: Mapping[str, Any], seats: int) -> list[str]:
    """Return a few sentences that tell what the options mean; `rules` has every option."""
    return [
        _("%(count)d players at a table.") % {"count": seats},
        _end(rules),
        _coops(rules),
        _guard(rules),
        _calls(rules),
        _scoring(rules),
        _reshuffles(rules),
    ]


def _end(rules: Mapping[str, Any]) -> str:
    if rules["end"] == "hands":
        count = rules["hands"]
        text = ngettext("The lowest total after %(count)d hand wins.", "The lowest after %(count)d hands wins.", count)
        return text % {"count": count}
    if rules["end"] == "elimination":
        return _("Whoever reaches %(target)d points is out; the last one left wins.") % {"target": rules["target"]}
    return _("The game ends when somebody reaches %(target)d points; the lowest total wins.") % {
        "target": rules["target"]
    }


def _coops(rules: Mapping[str, Any]) -> str:
    coops = _("A red card lies below its face-down card in rank, a black one above it.")
    if rules["coop_colour"] == "same":
        coops += " " + _("Both cards of a coop have one colour.")
    if rules["aces"] == "front":
        return coops + " " + _("A face-up ace goes with anything but an ace.")
    return coops + " " + _("An ace goes with anything but an ace.")


def _guard(rules: Mapping[str, Any]) -> str:
    if rules["ace_guard"] == "always":
        return _("An opponent's face-up ace is never replaced.")
    return _("An opponent's face-up ace is replaced by a ten only.")


def _calls(rules: Mapping[str, Any]) -> str:
    if rules["calls"] == "any":
        call = _("Anybody may call Soureh with his move, good coops or not.")
    else:
        call = _("Whoever has four valid coops may call Soureh with his move.")
    shield = rules["caller_shield"]
    if shield is None:
        return call + " " + _("The others may then replace any of his face-up cards.")
    text = ngettext(
        "The others may then replace %(count)d of his face-up cards in all.",
        "The others may then replace %(count)d of his face-up cards in all.",
        shield,
    )
    return call + " " + text % {"count": shield}


def _scoring(rules: Mapping[str, Any]) -> str:
    if rules["scoring"] == "one":
        score = _("The others add the values of one coop.")
    else:
        score = _("The others add the value of one card of each coop.")
    if 11 in rules["ace_values"]:
        score += " " + _("An ace counts 1 or 11.")
    if rules["century_bonus"]:
        score += " " + _("A total that a hand brings to a round hundred loses 50.")
    return score


def _reshuffles(rules: Mapping[str, Any]) -> str:
    count = rules["max_reshuffles"]
    if not count:
        return _("A hand whose stock runs out is won by nobody.")
    text = ngettext(
        "The discards are shuffled into a new stock %(count)d time a hand; after that nobody wins it.",
        "The discards are shuffled into a new stock up to %(count)d times a hand; after that nobody wins it.",
        count,
    )
    return text % {"count": count}
