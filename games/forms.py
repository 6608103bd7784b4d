"""Forms of the games room."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from bots.models import BotVersion
from games.engine import Rules
from games.engine.shuffle import PLAYER_SEED_MAX
from games.outcome import MOVE_CHARS, NUMBER_MAX

PRESETS = [
    ("classic", _("Classic: any colours, the game ends at 250")),
    ("common", _("Common: one colour a coop, one coop is scored, the game ends at 100")),
    ("inventor", _("Inventor's: as classic, and an ace counts 1 or 11")),
]


class TableForm(forms.Form):
    """Whom to play against, and under which rules; each seat but the person's own is a house bot's or empty."""

    preset = forms.ChoiceField(label=_("Rules"), choices=PRESETS, initial="classic")
    target = forms.IntegerField(
        label=_("Game ends at"),
        required=False,
        min_value=1,
        max_value=10_000,
        help_text=_("The total that ends the game. Left empty: what the rules say."),
    )

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
        self.order_fields(["opponent_1", "opponent_2", "opponent_3", "preset", "target"])

    def opponents(self) -> list[BotVersion]:
        """Return the chosen bots' versions; the same bot may sit twice."""
        chosen = (self.cleaned_data[f"opponent_{seat}"] for seat in (1, 2, 3))
        return [self.house[name] for name in chosen if name]

    def rules(self) -> Rules:
        """Return the chosen rules."""
        target = self.cleaned_data["target"]
        return Rules.preset(self.cleaned_data["preset"], **({"target": target} if target else {}))


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
