"""The operators' view of ladders: settings and rounds by hand. The ledger and all figures are read-only."""

from typing import Any, TypeVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from games.forms import RulesField
from ladder.models import Entry, Ladder, Pairing, RatingChange, Round
from ladder.scheduling import NotHeld, try_round

M = TypeVar("M", bound=Model)

# What the log is replayed with: once it has begun a change would make every later figure wrong.
REPLAYED_WITH = ("initial_rating", "k_new", "k_settled", "settled_after")
# What a history was played under.
PLAYED_UNDER = ("rules", "seats")


class ReadOnlyAdmin(admin.ModelAdmin[M]):
    """Rows that only the site's own code writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class LadderForm(forms.ModelForm[Ladder]):
    """A ladder as the operator may set it; rules that the engine does not know are refused by name."""

    rules = RulesField(label=gettext_lazy("Rules"))

    class Meta:
        model = Ladder
        fields = (
            "name", "slug", "about", "state", "round_s", "has_showcase", "seats", "rules", *REPLAYED_WITH,
        )  # fmt: skip


@admin.register(Ladder)
class LadderAdmin(admin.ModelAdmin[Ladder]):
    form = LadderForm
    list_display = ("name", "seats", "state", "round_s", "next_round_at", "rounds", "rated")
    list_editable = ("round_s",)
    list_filter = ("state", "seats")
    prepopulated_fields = {"slug": ("name",)}
    actions = ("hold_rounds",)

    def get_readonly_fields(self, request: HttpRequest, obj: Ladder | None = None) -> tuple[str, ...]:
        if obj is None or not obj.rounds:
            return ()
        return (*PLAYED_UNDER, *REPLAYED_WITH)

    def get_prepopulated_fields(self, request: HttpRequest, obj: Ladder | None = None) -> dict[str, Any]:
        return {} if obj else {"slug": ("name",)}

    def has_delete_permission(self, request: HttpRequest, obj: Ladder | None = None) -> bool:
        # A ladder with a history is closed, never deleted.
        return super().has_delete_permission(request, obj) and (obj is None or not obj.rounds)

    @admin.action(description=gettext_lazy("Hold a round now"), permissions=["change"])
    def hold_rounds(self, request: HttpRequest, ladders: QuerySet[Ladder]) -> None:
        """Hold a round of each chosen ladder at once, due or not."""
        for ladder in ladders:
            try:
                held = try_round(ladder.pk)
            except NotHeld as reason:
                self.message_user(request, f"{ladder}: {reason}", messages.WARNING)
            else:
                text = _("%(ladder)s: round %(number)d is held.")
                self.message_user(request, text % {"ladder": ladder, "number": held.number}, messages.SUCCESS)


@admin.register(Entry)
class EntryAdmin(admin.ModelAdmin[Entry]):
    list_display = ("name", "ladder", "state", "rating", "pairings")
    list_filter = ("ladder", "state")
    list_select_related = ("ladder", "bot", "user")
    search_fields = ("bot__name", "user__username")
    raw_id_fields = ("bot", "user")
    fields = ("ladder", "bot", "user", "state", "rating", "pairings", "won", "drawn", "place_sum")

    def get_readonly_fields(self, request: HttpRequest, obj: Entry | None = None) -> tuple[str, ...]:
        figures = ("rating", "pairings", "won", "drawn", "place_sum")
        return ("ladder", "bot", "user", *figures) if obj else figures

    def save_model(self, request: HttpRequest, obj: Entry, form: Any, change: bool) -> None:
        """Write a new entry whole, of an old one the state alone: a rating made meanwhile is not written over."""
        if change:
            obj.save(update_fields=["state"])
            return
        obj.seed_rating = obj.rating = obj.ladder.initial_rating
        obj.save()

    def has_delete_permission(self, request: HttpRequest, obj: Entry | None = None) -> bool:
        return False


@admin.register(Round)
class RoundAdmin(ReadOnlyAdmin[Round]):
    list_display = ("ladder", "number", "started_at")
    list_filter = ("ladder",)
    list_select_related = ("ladder",)


@admin.register(Pairing)
class PairingAdmin(ReadOnlyAdmin[Pairing]):
    list_display = ("pk", "ladder", "round", "state", "number", "why_unrated", "rated_at")
    list_filter = ("ladder", "state", "why_unrated")
    list_select_related = ("ladder", "round__ladder")
    show_full_result_count = False


@admin.register(RatingChange)
class RatingChangeAdmin(ReadOnlyAdmin[RatingChange]):
    list_display = ("number", "entry", "nth", "place", "k", "before", "after", "rated_at")
    list_filter = ("entry__ladder",)
    list_select_related = ("entry__bot", "entry__user")
    show_full_result_count = False
