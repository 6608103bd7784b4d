"""Forms of those who run a ladder. Whatever they set is checked here, on their pages as in the admin."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format, localize
from django.utils.functional import lazy
from django.utils.text import slugify
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from bots.names import has_unseen, name_key
from games.engine import Rules
from games.forms import RulesField
from games.plain_rules import in_short
from ladder.history import read_key
from ladder.judging import CAP_MAX, CAP_MIN, K_MAX, K_MIN, REASON_MAX, SETTLED_MAX
from ladder.models import Entry, Flag, Ladder, LadderEvent

# What a history was played under, and what its log is replayed with: once a round was held they stay, but for what
# `judging` changes by a replay.
PLAYED_UNDER = ("rules", "seats", "unit", "entrants")
REPLAYED_WITH = ("initial_rating", "k_new", "k_settled", "settled_after", "daily_cap")
# What tells when rounds are due.
WHEN_ROUNDS = frozenset({"schedule", "round_s", "times", "time_zone"})
DATES = ("registration_from", "registration_until", "starts_at", "ends_at")
SETTINGS = (
    "name", "about", "entrants", "seats", "rules", "unit", "ranked_by", "entries_per_owner", "max_pending",
    "has_showcase", "move_s", "bank_s", "person_move_s", "person_bank_s", *DATES, "schedule", "round_s", "times",
    "time_zone", "renews_days", "carry", *REPLAYED_WITH,
)  # fmt: skip
# So many ladders of one organiser may be there at once that are not closed: each has a place on the pages that list
# them all, and a tick of its own.
LADDERS_MAX = 20
# Names that addresses below /ladders/ have already.
RESERVED_SLUGS = frozenset({"new"})

FEW_HANDS = Rules.preset("classic", end="hands", hands=4)
"""Of matches as short as these duplicate sets need two fifths fewer than of independent deals, of whole games no fewer
(`tests/bench/bench_fit.py --duplicates`)."""

LOW_HIGH: dict[str, tuple[float, float]] = {
    "seats": (2, 4),
    "entries_per_owner": (1, 100),
    "max_pending": (1, 10),
    "move_s": (0.05, 10),
    "bank_s": (0, 120),
    "person_move_s": (5, 86_400),
    "person_bank_s": (0, 86_400),
    "round_s": (5, 7 * 86_400),
    "renews_days": (1, 730),
    "carry": (0, 1),
    "initial_rating": (0, 4000),
    "k_new": (K_MIN, K_MAX),
    "k_settled": (K_MIN, K_MAX),
    "settled_after": (0, SETTLED_MAX),
    "daily_cap": (CAP_MIN, CAP_MAX),
}
LABELS = {
    "name": _("Name"),
    "about": _("About it, in a sentence"),
    "entrants": _("Who may enter"),
    "seats": _("Seats at a table"),
    "rules": _("Rules"),
    "unit": _("What is rated"),
    "ranked_by": _("Ranked by"),
    "entries_per_owner": _("Entries of one owner"),
    "max_pending": _("Pairings of one entry at once"),
    "has_showcase": _("Show one match a round card by card"),
    "move_s": _("A bot's time for a decision, CPU seconds"),
    "bank_s": _("A bot's reserve for a match, CPU seconds"),
    "person_move_s": _("A person's time for a decision, seconds"),
    "person_bank_s": _("A person's reserve for a match, seconds"),
    "registration_from": _("Registration opens (UTC)"),
    "registration_until": _("Registration ends (UTC)"),
    "starts_at": _("First round (UTC)"),
    "ends_at": _("End (UTC)"),
    "schedule": _("Rounds"),
    "round_s": _("Seconds between rounds"),
    "times": _("Times of the week"),
    "time_zone": _("Time zone of those times"),
    "renews_days": _("Days of the next season"),
    "carry": _("What the next season keeps of a rating"),
    "initial_rating": _("Rating of a new entry"),
    "k_new": _("K of a new entry"),
    "k_settled": _("K later"),
    "settled_after": _("New for so many results"),
    "daily_cap": _("Most points from one other owner in a day"),
}
HELP = {
    "unit": _(
        "A duplicate set deals the same cards once to every seat; only where bots alone enter. It tells most in "
        "matches of a few hands; over a game to 250 the luck of the cards evens out by itself."
    ),
    "entries_per_owner": _("Empty: as many as anybody likes."),
    "registration_from": _("Empty: from the start."),
    "registration_until": _("Empty: to the end."),
    "starts_at": _("Empty: started by hand."),
    "ends_at": _("Empty: it has no end."),
    "times": _("Such as: Mon 20:00, Sat 15:30. Only where rounds are held at given times."),
    "renews_days": _("Empty: there is no next season."),
    "carry": _("From 0 (everybody begins anew) to 1 (ratings go on)."),
    "daily_cap": _("Empty: no bound. Up and down alike."),
}
# Between these a date can be shown on everybody's clock, and moved on by a season.
YEARS = (2000, 2200)
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
TIMES_MAX = 100  # all of them are read at every round, and shown


def seen_line(text: str) -> str:
    """Return a text that others will read as one line. ValidationError if something in it cannot be seen."""
    line = " ".join(text.split())
    if has_unseen(line):
        raise ValidationError(
            _now("This has characters that cannot be seen, or that turn the direction of writing. Please remove them."),
            code="unseen",
        )
    return line


def times_in_words(times: Iterable[tuple[int, str]]) -> str:
    """Return times of the week as they are typed."""
    return ", ".join(f"{DAYS[day]} {at}" for day, at in times)


class TimesField(forms.CharField):
    """Times of the week as text, `Mon 20:00, Sat 15:30`; cleaned to what Ladder.times holds."""

    def prepare_value(self, value: Any) -> Any:
        return times_in_words(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        found = []
        for part in filter(None, (part.strip() for part in (value or "").split(","))):
            match = re.fullmatch(r"([A-Za-z]{3})[a-z]* +([0-9]{1,2}):([0-9]{2})", part)
            day = match[1].title() if match else ""
            if match is None or day not in DAYS or int(match[2]) > 23 or int(match[3]) > 59:
                text = _now("“%(part)s” is no time of the week. Write it like “Mon 20:00”, with commas between them.")
                raise ValidationError(text % {"part": part[:40]}, code="times")
            found.append([DAYS.index(day), f"{int(match[2]):02}:{match[3]}"])
        times = [list(one) for one in sorted({tuple(one) for one in found})]
        if len(times) > TIMES_MAX:
            text = _now("At most %(most)d times of the week can be given; these are %(count)d. Choose equal distances.")
            raise ValidationError(text % {"most": TIMES_MAX, "count": len(times)}, code="times")
        return times


def _zones() -> list[tuple[str, str]]:
    return [(name, name.replace("_", " ")) for name in sorted(available_timezones())]


class LadderForm(forms.ModelForm[Ladder]):
    """A ladder's settings, checked for themselves and together."""

    rules = RulesField(label=LABELS["rules"], initial=FEW_HANDS.to_json())
    times = TimesField(required=False)
    time_zone = forms.ChoiceField(choices=lazy(_zones, list)(), initial="UTC")

    class Meta:
        model = Ladder
        fields: tuple[str, ...] = SETTINGS
        labels, help_texts = LABELS, HELP
        widgets = {
            "about": forms.Textarea(attrs={"rows": 2, "maxlength": 280}),
            **{name: forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M") for name in DATES},
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is None:
            # A new ladder is for bots unless somebody says otherwise, and bots may be dealt the same cards again.
            # It has no rules yet, which would stand in the field in place of the field's own beginning.
            first = {"unit": Ladder.Unit.SET, "rules": self.base_fields["rules"].initial}
            self.initial |= first | (kwargs.get("initial") or {})
        for name, field in self.fields.items():
            field.label = LABELS.get(name, field.label)
            field.help_text = field.help_text or HELP.get(name, "")
            if name in LOW_HIGH and not isinstance(field, forms.ChoiceField):
                low, high = LOW_HIGH[name]
                field.validators += [MinValueValidator(low), MaxValueValidator(high)]
                field.widget.attrs |= {"min": low, "max": high}
        stays = (*PLAYED_UNDER, *REPLAYED_WITH) if self.instance.rounds else ()
        self.stays = {name: self.fields.pop(name) for name in stays if name in self.fields}

    def groups(self) -> list[tuple[Any, list[forms.BoundField]]]:
        """Return the fields in groups, each with its name."""
        return [(title, [self[name] for name in names if name in self.fields]) for title, names in GROUPS]

    def clean_name(self) -> str:
        """Let no ladder pass for another."""
        name = unicodedata.normalize("NFKC", seen_line(self.cleaned_data["name"]))
        key, longest = name_key(name), Ladder._meta.get_field("name").max_length
        if not key or len(name) > (longest or 0):
            raise ValidationError(_now("Please choose another name, with a letter or a digit in it."), code="name")
        others = Ladder.objects.exclude(pk=self.instance.pk).values_list("name", flat=True)
        if name != self.initial.get("name") and any(name_key(other) == key for other in others):
            text = _now("There is a ladder of this name, or of one that looks like it. Please choose another.")
            raise ValidationError(text, code="unique")
        return name

    def clean_about(self) -> str:
        """Return it as one line."""
        return seen_line(self.cleaned_data["about"])

    def clean(self) -> dict[str, Any]:
        """Check what the settings are together."""
        cleaned = super().clean() or self.cleaned_data
        self._check_count()
        self._check_slug(cleaned)
        self._check_sets(cleaned)
        self._check_entrants(cleaned)
        self._check_schedule(cleaned)
        self._check_dates(cleaned)
        return cleaned

    def _value(self, cleaned: dict[str, Any], name: str) -> Any:
        """Return a setting as it will be: as cleaned, or as it stays."""
        return cleaned[name] if name in cleaned else getattr(self.instance, name)

    def _check_count(self) -> None:
        """Let no organiser fill the pages and the ticks with ladders; those of operators and of the site are no few."""
        owner = self.instance.owner
        if self.instance.pk is not None or owner is None or owner.is_staff:
            return
        if owner.ladders.exclude(state=Ladder.State.CLOSED).count() >= LADDERS_MAX:
            text = _now("You have %(most)d ladders that are not closed, which is as many as you may have.")
            self.add_error(None, text % {"most": LADDERS_MAX})

    def _check_slug(self, cleaned: dict[str, Any]) -> None:
        if self._value(cleaned, "slug") in RESERVED_SLUGS or slugify(cleaned.get("name", "")) in RESERVED_SLUGS:
            self.add_error("name", _now("Please choose another name; this one is needed for a page."))

    def _check_sets(self, cleaned: dict[str, Any]) -> None:
        is_set = self._value(cleaned, "unit") == Ladder.Unit.SET
        if is_set and self._value(cleaned, "entrants") != Ladder.Entrants.BOTS:
            text = _now("Duplicate sets are for bots: a person would see the same cards again. Choose one match.")
            self.add_error("unit" if "unit" in self.fields else None, text)

    def _check_entrants(self, cleaned: dict[str, Any]) -> None:
        """Let nobody be left in a ladder that is none for him any more."""
        entrants = self._value(cleaned, "entrants")
        gone = {Ladder.Entrants.BOTS: {"user__isnull": False}, Ladder.Entrants.PEOPLE: {"bot__isnull": False}}
        if self.instance.pk is None or entrants not in gone:
            return
        if self.instance.entries.filter(**gone[entrants]).exclude(state__in=Entry.GONE).exists():
            text = _now("Some who are entered already could not play any more. They would have to withdraw first.")
            self.add_error("entrants" if "entrants" in self.fields else None, text)

    def _check_schedule(self, cleaned: dict[str, Any]) -> None:
        is_weekly = self._value(cleaned, "schedule") == Ladder.Schedule.WEEKLY
        if is_weekly and not cleaned.get("times") and "times" not in self.errors:
            self.add_error("times", _now("Say at which times of the week rounds are held, such as “Mon 20:00”."))

    def _check_dates(self, cleaned: dict[str, Any]) -> None:
        for name in DATES:
            if (moment := cleaned.get(name)) is not None and not YEARS[0] <= moment.year <= YEARS[1]:
                text = _now("Choose a year from %(low)d to %(high)d, or leave it empty.")
                self.add_error(name, text % {"low": YEARS[0], "high": YEARS[1]})
        opens, shuts, starts, ends = (cleaned.get(name) for name in DATES)
        self._check_order("registration_until", opens, shuts, _now("Registration would end before it opens."))
        self._check_order("ends_at", starts, ends, _now("The ladder would end before its first round."))
        self._check_order("ends_at", opens, ends, _now("The ladder would end before registration opens."))
        if ends is not None and "ends_at" in self.changed_data and ends <= timezone.now():
            self.add_error("ends_at", _now("That has passed already; to end it now, freeze it on its own page."))
        if cleaned.get("renews_days") and ends is None and "ends_at" not in self.errors:
            self.add_error("renews_days", _now("A season follows only where this one ends: say when."))

    def _check_order(self, name: str, first: datetime | None, then: datetime | None, text: str) -> None:
        if first is not None and then is not None and then <= first:
            self.add_error(name, text)


GROUPS = (
    (_("The ladder"), ("name", "about")),
    (
        _("What is played, and by whom"),
        ("entrants", "seats", "rules", "unit", "entries_per_owner", "max_pending", "has_showcase"),
    ),
    (_("Clocks"), ("move_s", "bank_s", "person_move_s", "person_bank_s")),
    (_("When"), (*DATES, "schedule", "round_s", "times", "time_zone")),
    (_("Seasons"), ("renews_days", "carry")),
    (_("What it counts"), ("ranked_by", *REPLAYED_WITH)),
)


def columns_to_write(ladder: Ladder, changed: Sequence[str]) -> list[str]:
    """Return which columns of a ladder to write when these settings were changed: all others go on meanwhile.

    When the next round is due is forgotten if that follows from one of them; the next tick finds it anew.
    """
    if not WHEN_ROUNDS.intersection(changed):
        return list(changed)
    ladder.next_round_at = None
    return [*changed, "next_round_at"]


def change_kept(form: LadderForm, names: Sequence[str]) -> dict[str, Any]:
    """Return what a ladder's history keeps of settings that a valid form changes: what they were and are."""
    was = {name: _kept(_before(form, name)) for name in names}
    return {"was": was, "is": {name: _kept(getattr(form.instance, name)) for name in names}}


def _before(form: LadderForm, name: str) -> Any:
    """Return what a form began with: of another row that row, whose key would say nothing to people."""
    value, field = form.initial.get(name), form.fields.get(name)
    return field.to_python(value) if isinstance(field, forms.ModelChoiceField) else value


def _kept(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, (bool, int, float, str, list, dict, type(None))) else str(value)


def change_in_words(effect: Mapping[str, Any]) -> list[tuple[Any, str, str]]:
    """Return the settings that an event of a ladder's history changed: each one's name, what it was and is.

    A judgement keeps all of K, also what of it stayed.
    """
    if not isinstance(effect.get("is"), dict):
        return []
    was, now = effect.get("was", {}), effect["is"]
    changed = [name for name in now if was.get(name) != now[name]]
    return [(LABELS.get(name, name), _in_words(name, was.get(name)), _in_words(name, now[name])) for name in changed]


def _in_words(name: str, value: Any) -> str:
    """Return a setting in words, as it is stored or as a history keeps it."""
    if value in (None, "", []):
        return _now("nothing")
    if isinstance(value, bool):
        return _now("yes") if value else _now("no")
    if isinstance(value, dict):
        return in_short(value)
    if name in DATES:
        moment = value if isinstance(value, datetime) else parse_datetime(value)
        return date_format(moment.astimezone(UTC), "Y-m-d H:i") + " UTC" if moment else str(value)
    if name == "times":
        return times_in_words(value)
    choices = getattr(Ladder._meta.get_field(name), "flatchoices", ()) if name in SETTINGS else ()
    return str(dict(choices).get(value) or localize(value))


def last_change(slug: str) -> int:
    """Return the key of the last change of a ladder's settings, 0 where there was none."""
    changes = LadderEvent.objects.filter(ladder__slug=slug, what=LadderEvent.What.CHANGED)
    return changes.values_list("pk", flat=True).first() or 0


class SettingsForm(LadderForm):
    """The settings of a ladder that is there; what others changed since the page was opened is not written over.

    `as_of` is the `last_change` before the ladder was read: what comes between the two is told of, and not missed.
    """

    def __init__(self, *args: Any, as_of: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.as_of = as_of

    def clean(self) -> dict[str, Any]:
        """Say of each setting that differs whether somebody else has changed it meanwhile, and to what."""
        cleaned = super().clean()
        if lost := [str(field.label) for name, field in self.stays.items() if self._is_otherwise(name, field)]:
            text = _now(
                "A round was held while your page was open; from then on this stays as it is: %(names)s. Nothing is "
                "stored yet – save again to store the rest."
            )
            self.add_error(None, text % {"names": ", ".join(lost)})
        # The instance is still as it is stored: it takes what was sent only after this. What is wrong besides is told
        # of too: the page that says what is wrong is as of now.
        differ = set(self.changed_data)
        for event in self._changes_since():
            for name in sorted(differ.intersection(event.effect.get("is", ()))):
                who = event.by or _now("somebody")
                text = _now(
                    "While your page was open %(who)s changed this to: %(value)s – save again if you want it otherwise."
                )
                self.add_error(name, text % {"who": who, "value": _in_words(name, getattr(self.instance, name))})
                differ.discard(name)
        return cleaned

    def _is_otherwise(self, name: str, field: forms.Field) -> bool:
        """Tell whether a setting that stays was sent, and otherwise than it is."""
        place = (self.data, self.files, self.add_prefix(name))
        if field.widget.value_omitted_from_data(*place):
            return False
        return field.has_changed(self.initial.get(name), field.widget.value_from_datadict(*place))

    def _changes_since(self) -> Iterable[LadderEvent]:
        """Return what was changed since the page was opened, the latest first; nothing if it does not say when."""
        if (seen := read_key(self.data.get("as_of"))) is None:
            return ()
        changed = LadderEvent.What.CHANGED
        return self.instance.events.filter(pk__gt=seen, what=changed).select_related("by")


class ReasonForm(forms.Form):
    """Why something is done to a ladder; everybody can read it."""

    reason = forms.CharField(
        label=_("Why"), max_length=REASON_MAX, widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Everybody can read it in the ladder's history."),
    )  # fmt: skip

    def clean_reason(self) -> str:
        """Return it as one line."""
        return seen_line(self.cleaned_data["reason"])


class KForm(forms.Form):
    """Other K for a ladder."""

    k_new = forms.FloatField(label=LABELS["k_new"], min_value=K_MIN, max_value=K_MAX)
    k_settled = forms.FloatField(label=LABELS["k_settled"], min_value=K_MIN, max_value=K_MAX)
    settled_after = forms.IntegerField(label=LABELS["settled_after"], min_value=0, max_value=SETTLED_MAX)


class CapForm(forms.Form):
    """Another daily cap for a ladder."""

    daily_cap = forms.FloatField(
        label=LABELS["daily_cap"], help_text=HELP["daily_cap"], min_value=CAP_MIN, max_value=CAP_MAX, required=False
    )


class DecisionForm(forms.ModelForm[Flag]):
    """What a person decides of something that looked odd."""

    class Meta:
        model = Flag
        fields = ("decision",)
        labels = {"decision": _("What you decided, and why")}
        widgets = {"decision": forms.Textarea(attrs={"rows": 2})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["decision"].required = True

    def clean_decision(self) -> str:
        """Return it as one line."""
        return seen_line(self.cleaned_data["decision"])
