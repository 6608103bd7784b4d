"""The rules of the game as a page."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import conditional_page, require_safe

from games import rulebook
from games.engine import PRESETS
from games.engine.cards import parse_card
from games.engine.coops import is_valid_coop

# What a winner's four coops may look like, face-up card first.
FOUR_COOPS = (("4h", "9d"), ("9s", "5c"), ("Ac", "8h"), ("6d", "Th"))


@require_safe
@conditional_page
def rules(request: HttpRequest) -> HttpResponse:
    """The rule book: the game in one minute, every rule with its number, the presets and their options."""
    context = {
        "sections": [_section(no, section) for no, section in enumerate(rulebook.SECTIONS, 1)],
        "presets": list(PRESETS),
        "table": [_row(name) for name in rulebook.OPTIONS],
        "four_coops": [_example(up, down) for up, down in FOUR_COOPS],
        "target": PRESETS["classic"]["target"],
    }
    return render(request, "games/rules.html", context)


def _section(no: int, section: rulebook.Section) -> dict[str, Any]:
    rules = [_rule(found, section) for found in rulebook.numbered(no)]
    return section._asdict() | {"no": no, "rules": rules}


def _rule(found: rulebook.Numbered, section: rulebook.Section) -> dict[str, Any]:
    return {
        "number": found.number,
        "text": found.rule.text,
        # Said once, at the head of a section that is the platform's as a whole.
        "is_platform": found.is_platform and not section.is_platform,
        "options": [_option(name) for name in found.rule.options],
        "examples": [_example(up, down) for up, down in found.rule.examples],
    }


def _option(name: str) -> dict[str, Any]:
    option = rulebook.OPTIONS[name]
    return {
        "name": name,
        "allowed": rulebook.allowed(name),
        "choices": [
            {
                "value": rulebook.json_of(choice.value),
                "text": rulebook.sentence(name, choice.value),
                "presets": rulebook.takers(name, choice.value),
                "is_platform": choice.is_platform,
            }
            for choice in option.choices
        ],
        "taken": [] if option.choices else [(rulebook.json_of(value), names) for value, names in rulebook.taken(name)],
    }


def _example(up: str, down: str) -> dict[str, Any]:
    """Return a coop, whether it is valid where all presets agree (`valid`, else None), and that in words."""
    valid_in = {
        name: is_valid_coop(parse_card(up), parse_card(down), coop_colour=options["coop_colour"], aces=options["aces"])
        for name, options in PRESETS.items()
    }
    told = {True: _("valid"), False: _("not valid")}
    if len(set(valid_in.values())) == 1:
        valid = valid_in["classic"]
        return {"up": up, "down": down, "valid": valid, "verdicts": [(told[valid], [])]}
    verdicts = [(told[valid], [name for name in PRESETS if valid_in[name] is valid]) for valid in (True, False)]
    return {"up": up, "down": down, "valid": None, "verdicts": verdicts}


def _row(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": rulebook.OPTIONS[name].label,
        "rule": rulebook.rule_of(name),
        "allowed": rulebook.allowed(name),
        "values": [(preset, rulebook.json_of(options[name])) for preset, options in PRESETS.items()],
    }
