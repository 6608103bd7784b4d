"""The operators' view of ladders: settings and rounds by hand. The ledger and all figures are read-only."""

from collections.abc import Callable
from typing import Any, TypeVar

from django import forms
from django.contrib import admin, messages
from django.db.models import DateTimeField, Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from ladder import judgements, ratings, seasons
from ladder.forms import PLAYED_UNDER, REPLAYED_WITH, SETTINGS, LadderForm, change_kept, columns_to_write
from ladder.models import Entry, Fit, Flag, Judgement, Ladder, LadderEvent, Pairing, RatingChange, Round
from ladder.registration import note_entered
from ladder.scheduling import NotHeld, try_round
from ladder.seasons import NotMoved

M = TypeVar("M", bound=Model)


class ReadOnlyAdmin(admin.ModelAdmin[M]):
    """Rows that only the site's own code writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class LadderAdminForm(LadderForm):
    """A ladder as the operator may set it; its state moves by the actions and on its own pages."""

    class Meta(LadderForm.Meta):
        fields = ("name", "slug", "owner", *SETTINGS[1:])


@admin.register(Ladder)
class LadderAdmin(admin.ModelAdmin[Ladder]):
    form = LadderAdminForm
    # The form's dates are each one field, as on the organisers' page, not the admin's two.
    formfield_overrides = {DateTimeField: {"form_class": forms.DateTimeField}}
    list_display = ("name", "seats", "state", "round_s", "next_round_at", "rounds", "rated")
    list_editable = ("round_s",)
    list_filter = ("state", "seats")
    prepopulated_fields = {"slug": ("name",)}
    raw_id_fields = ("owner",)
    actions = ("open_registration", "start", "freeze", "hold_rounds")

    def get_fields(self, request: HttpRequest, obj: Ladder | None = None) -> Any:
        # What a history was played under stays: the form leaves it out.
        kept = (*PLAYED_UNDER, *REPLAYED_WITH) if obj and obj.rounds else ()
        return [name for name in LadderAdminForm.Meta.fields if name not in kept]

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Ladder | None:
        """Return it as it is, and stays until what was sent is stored: no round is held meanwhile."""
        found = super().get_object(request, object_id, from_field)
        if found is None or request.method != "POST":
            return found
        return self.get_queryset(request).select_for_update(no_key=True).filter(pk=found.pk).first()

    def save_model(self, request: HttpRequest, obj: Ladder, form: Any, change: bool) -> None:
        """Write of a ladder that is there what was changed, and nothing that goes on meanwhile."""
        if not change:
            obj.save()
        elif form.changed_data:
            obj.save(update_fields=columns_to_write(obj, form.changed_data))
            if "initial_rating" in form.changed_data:
                ratings.move_beginners(obj, was=form.initial["initial_rating"])
        changed = form.changed_data if change else []
        by: Any = request.user
        LadderEvent.objects.create(
            ladder=obj, by=by, what="changed" if change else "created", subject=", ".join(changed)[:120],
            effect=change_kept(form, changed) if changed else {},
        )  # fmt: skip

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Return what the address fills in; rules are no text that could stand there."""
        return {name: text for name, text in super().get_changeform_initial_data(request).items() if name != "rules"}

    def get_prepopulated_fields(self, request: HttpRequest, obj: Ladder | None = None) -> dict[str, Any]:
        return {} if obj else {"slug": ("name",)}

    def has_delete_permission(self, request: HttpRequest, obj: Ladder | None = None) -> bool:
        # A ladder with a history is closed, never deleted.
        return super().has_delete_permission(request, obj) and (obj is None or not obj.rounds)

    @admin.action(description=gettext_lazy("Open registration"), permissions=["change"])
    def open_registration(self, request: HttpRequest, ladders: QuerySet[Ladder]) -> None:
        """Open the chosen ladders for registration."""
        self._move(request, ladders, seasons.open_registration)

    @admin.action(description=gettext_lazy("Start: hold rounds from now on"), permissions=["change"])
    def start(self, request: HttpRequest, ladders: QuerySet[Ladder]) -> None:
        """Start the chosen ladders."""
        self._move(request, ladders, seasons.start)

    @admin.action(description=gettext_lazy("Freeze: hold no more rounds"), permissions=["change"])
    def freeze(self, request: HttpRequest, ladders: QuerySet[Ladder]) -> None:
        """Freeze the chosen ladders."""
        self._move(request, ladders, seasons.freeze)

    def _move(self, request: HttpRequest, ladders: QuerySet[Ladder], move: Callable[..., None]) -> None:
        for ladder in ladders:
            try:
                move(ladder, by=request.user)
            except NotMoved as reason:
                self.message_user(request, str(reason), messages.WARNING)
            else:
                text = _("%(ladder)s is %(state)s now.")
                said = text % {"ladder": ladder, "state": ladder.get_state_display()}
                self.message_user(request, said, messages.SUCCESS)

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
    fields = (
        "ladder", "bot", "user", "state", "anchor", "rating", "strength", "half_width", "pairings", "won", "drawn",
        "place_sum",
    )  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: Entry | None = None) -> tuple[str, ...]:
        figures = ("rating", "strength", "half_width", "pairings", "won", "drawn", "place_sum")
        if obj is None:
            return figures
        is_out = obj.state == Entry.State.DISQUALIFIED
        return ("ladder", "bot", "user", *figures, *(["state"] if is_out else []))

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "state":
            # Disqualifying replays the log and says why: it is done, and taken back, on the ladder's own pages.
            kwargs["choices"] = [one for one in Entry.State.choices if one[0] != Entry.State.DISQUALIFIED]
        return super().formfield_for_choice_field(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Entry, form: Any, change: bool) -> None:
        """Write a new entry whole, of an old one its state and anchor: a rating made meanwhile is not written over."""
        by: Any = request.user
        if not change:
            obj.seed_rating = obj.rating = obj.ladder.initial_rating
            obj.save()
            note_entered(obj.ladder, [obj], by=by)
            return
        changed = [name for name in ("state", "anchor") if name in form.changed_data]
        if not changed:
            return
        obj.save(update_fields=changed)
        was, now = ({name: values[name] for name in changed} for values in (form.initial, form.cleaned_data))
        LadderEvent.objects.create(
            ladder=obj.ladder, by=by, what=LadderEvent.What.ENTRY, subject=obj.name[:120],
            effect={"entries": [obj.pk], "was": was, "is": now},
        )  # fmt: skip

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


@admin.register(LadderEvent)
class LadderEventAdmin(ReadOnlyAdmin[LadderEvent]):
    list_display = ("at", "ladder", "what", "subject", "by", "reason")
    list_filter = ("ladder", "what")
    list_select_related = ("ladder", "by")


@admin.register(Judgement)
class JudgementAdmin(ReadOnlyAdmin[Judgement]):
    list_display = ("made_at", "ladder", "deed_name", "subject", "is_preview", "state", "by", "reason")
    list_filter = ("ladder", "state", "is_preview")
    list_select_related = ("ladder", "by")

    @admin.display(description=gettext_lazy("deed"))
    def deed_name(self, judgement: Judgement) -> str:
        """Say what is asked for, by the name that it has for organisers."""
        return judgements.title(judgement.deed.get("deed", ""))


@admin.register(Flag)
class FlagAdmin(ReadOnlyAdmin[Flag]):
    list_display = ("seen_at", "ladder", "kind", "entry", "other", "is_open", "decided_by", "decision")
    list_filter = ("ladder", "kind", "is_open")
    list_select_related = ("ladder", "entry__bot", "entry__user", "other__bot", "other__user", "decided_by")


@admin.register(Fit)
class FitAdmin(ReadOnlyAdmin[Fit]):
    list_display = ("made_at", "ladder", "number", "elapsed_ms")
    list_filter = ("ladder",)
    list_select_related = ("ladder",)
