"""Forms of the games room."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core import validators
from django.core.exceptions import ValidationError
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from bots.models import BotVersion
from games import rulebook
from games.engine import PRESETS, Rules, RulesError
from games.engine.shuffle import PLAYER_SEED_MAX
from games.outcome import MOVE_CHARS, NUMBER_MAX

AS_PRESET = _("as the preset says")


class OptionsForm(forms.Form):
    """A preset, and a field for every option that overrides it; a field left empty is as the preset says."""

    preset = forms.ChoiceField(label=_("Rules"), choices=rulebook.PRESET_LABELS.items(), initial="classic")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in rulebook.OPTIONS:
            self.fields[name] = _option_field(name)

    def option_fields(self) -> list[forms.BoundField]:
        """Return the fields of all options but the target, in the order of the rule book."""
        return [self[name] for name in rulebook.OPTIONS if name != "target"]

    def has_options(self) -> bool:
        """Tell whether one of those fields is filled in, well or not."""
        return any(field.errors or field.value() not in (None, "") for field in self.option_fields())

    def overrides(self) -> dict[str, Any]:
        """Return the values of the options that were filled in."""
        filled = {name: self.cleaned_data.get(name) for name in rulebook.OPTIONS}
        return {name: None if value == NONE else value for name, value in filled.items() if value not in (None, "")}

    def clean(self) -> dict[str, Any]:
        """Check what the options are together.

        `cleaned_data` gets the key `rules`, unless there are errors.
        """
        cleaned = super().clean() or self.cleaned_data
        if self.errors:
            return cleaned
        ends_by_hands, hands = cleaned["end"] == "hands", cleaned["hands"]
        if ends_by_hands and hands is None:
            text = _now("Please say after how many hands the game ends, %(allowed)s.")
            self.add_error("hands", text % {"allowed": _range("hands")})
        elif hands is not None and not ends_by_hands:
            text = _now("A number of hands goes with “%(label)s: %(choice)s” only. Choose that, or leave this empty.")
            label, choice = rulebook.OPTIONS["end"].label, rulebook.label_of("end", "hands")
            self.add_error("hands", text % {"label": label, "choice": choice})
        else:
            self._make_rules(cleaned)
        return cleaned

    def _make_rules(self, cleaned: dict[str, Any]) -> None:
        try:
            cleaned["rules"] = Rules.preset(cleaned["preset"], **self.overrides())
        except RulesError as error:
            self.add_error(None, str(error))


NONE = "null"
"""What a select sends for an option without a value."""


def _option_field(name: str) -> forms.Field:
    """Return the field that overrides an option: a select, or a number where the range is wide."""
    option = rulebook.OPTIONS[name]
    return _select(name) if option.choices or option.high <= SELECT_MAX else _number(name)


def _number(name: str) -> forms.Field:
    option = rulebook.OPTIONS[name]
    text = _now("%(label)s (%(name)s): expected a number, %(allowed)s.")
    text = text % {"label": option.label, "name": name, "allowed": _range(name)}
    bounds = [
        validators.MinValueValidator(option.low, message=text),
        validators.MaxValueValidator(option.high, message=text),
    ]
    field = forms.IntegerField(required=False, label=option.label, help_text=_help(name), validators=bounds)
    field.widget.attrs |= {"min": option.low, "max": option.high}
    field.error_messages["invalid"] = text
    return field


def _select(name: str) -> forms.Field:
    option = rulebook.OPTIONS[name]
    values = [choice.value for choice in option.choices] or [*range(option.low, option.high + 1)]
    values += [None] if option.none else []
    by_text = {rulebook.json_of(value): value for value in values}
    text = _now("%(label)s (%(name)s): expected one of %(allowed)s: “%(value)s”.")
    text = text % {"label": option.label, "name": name, "allowed": ", ".join(by_text), "value": "%(value)s"}
    return forms.TypedChoiceField(
        required=False,
        label=option.label,
        help_text=_help(name),
        choices=[("", AS_PRESET), *((text, rulebook.label_of(name, value)) for text, value in by_text.items())],
        coerce=lambda chosen: NONE if by_text[chosen] is None else by_text[chosen],
        empty_value=None,
        error_messages={"invalid_choice": text},
    )


SELECT_MAX = 20
"""The largest number that is still chosen from a list."""


def _range(name: str) -> str:
    option = rulebook.OPTIONS[name]
    return _now("%(low)s to %(high)s") % {"low": option.low, "high": f"{option.high:,}"}


def _help(name: str) -> SafeString:
    """Say what each preset takes, and lead to the rule."""
    taken = "; ".join(
        f"{rulebook.label_of(name, value)} ({', '.join(presets)})" for value, presets in rulebook.taken(name)
    )
    number = rulebook.rule_of(name)
    return format_html(
        '{} <a href="{}#rule-{}">{}</a>', f"{taken}.", reverse("rules"), number, _now("Rule %(no)s") % {"no": number}
    )


class _PresetForm(OptionsForm):
    """The same below a heading that says "Rules" already."""

    preset = forms.ChoiceField(label=_("Preset"), choices=rulebook.PRESET_LABELS.items(), initial="classic")


class RulesWidget(forms.Widget):
    """The fields of an OptionsForm, each below the widget's own name, as in `rules-preset`."""

    use_fieldset = True

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> OptionsForm:
        return _PresetForm(data, prefix=name)

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        return f"{name}-preset" not in data

    def id_for_label(self, id_: str) -> str:
        return ""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        form = value if isinstance(value, OptionsForm) else _PresetForm(prefix=name, initial=_chosen(value))
        return render_to_string("games/_rules_fields.html", {"form": form})


class RulesField(forms.Field):
    """Rules as a preset and what overrides it; cleaned, and stored, as the object of every option."""

    widget = RulesWidget

    def clean(self, value: OptionsForm) -> dict[str, Any]:
        if value.is_valid():
            rules: Rules = value.cleaned_data["rules"]
            return rules.to_json()
        own = value.non_field_errors() or [_now("These rules cannot be played; what is marked above says why.")]
        raise ValidationError([ValidationError(error, code="rules") for error in own])

    def has_changed(self, initial: Any, data: OptionsForm | None) -> bool:
        return data is None or not data.is_valid() or data.cleaned_data["rules"] != Rules.from_json(initial or {})


def _chosen(rules: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return with what an OptionsForm begins that shows these rules: what the preset says is left empty."""
    shown = Rules.from_json(rules or {})
    own = {name: getattr(shown, name) for name in rulebook.OPTIONS}
    taken = PRESETS[shown.base]
    return {"preset": shown.base} | {
        name: rulebook.json_of(value) for name, value in own.items() if value != taken[name]
    }


class TableForm(OptionsForm):
    """Whom to play against, and under which rules; each seat but the person's own is a house bot's or empty."""

    def __init__(self, *args: Any, house: Mapping[str, BotVersion], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.house = house
        names = [(name, name) for name in house]
        for seat in (1, 2, 3):
            self.fields[f"opponent_{seat}"] = forms.ChoiceField(
                label=[_("First opponent"), _("Second opponent"), _("Third opponent")][seat - 1],
                choices=names if seat == 1 else [("", _("nobody")), *names],
                required=seat == 1,
                initial=("careful" if "careful" in house else None) if seat == 1 else "",
            )

    def main_fields(self) -> list[forms.BoundField]:
        """Return the fields that everybody fills in."""
        return [self[name] for name in ("opponent_1", "opponent_2", "opponent_3", "preset", "target")]

    def opponents(self) -> list[BotVersion]:
        """Return the chosen bots' versions; the same bot may sit twice."""
        chosen = (self.cleaned_data[f"opponent_{seat}"] for seat in (1, 2, 3))
        return [self.house[name] for name in chosen if name]

    def rules(self) -> Rules:
        """Return the chosen rules."""
        rules: Rules = self.cleaned_data["rules"]
        return rules


class DealForm(forms.Form):
    """A person's own part of the shuffle, taken once the commitment is public."""

    player_seed = forms.CharField(
        label=_("Your own seed"),
        required=False,
        max_length=PLAYER_SEED_MAX,
        strip=False,
        help_text=_("Any text. It goes into the shuffle, so that nobody but chance decides the cards."),
    )


class MoveForm(forms.Form):
    """One decision, from a page without its module."""

    id = forms.IntegerField(min_value=1, max_value=NUMBER_MAX)
    move = forms.CharField(max_length=MOVE_CHARS)
