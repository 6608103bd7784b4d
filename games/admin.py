"""What operators see of matches and workers: nothing hidden, and of workers whether they are paused."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from games.dispatch import pause_worker
from games.finish import void_match
from games.models import Finding, Match, Seat, SetAside, Worker
from games.trials import retry


class ReadOnly:
    """Rows that only the site itself writes."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class SeatInline(ReadOnly, admin.TabularInline[Seat, Match]):
    model = Seat
    fields = ["entrant", "seat", "name", "place", "total", "fault"]
    extra = 0


@admin.register(Match)
class MatchAdmin(ReadOnly, admin.ModelAdmin[Match]):
    """Matches without seeds: an operator may play, too."""

    list_display = ["code", "kind", "state", "how", "attempt", "lost_attempts", "created_at", "finished_at"]
    list_filter = ["state", "kind", "how"]
    search_fields = ["=code"]
    show_full_result_count = False
    fields = [
        *("code", "kind", "state", "how", "rules", "seats", "seating", "commitment", "share"),
        *("attempt", "lost_attempts", "silent_losses", "worker", "sent_at", "heard_at", "wait_until"),
        *("is_showcase", "show_from", "show_until", "created_at", "started_at", "finished_at"),
    ]
    inlines = [SeatInline]
    actions = ["void"]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Let an address narrow the list down by what it shows: by any other column's, the seed could be guessed at."""
        return lookup.split("__")[0] in self.fields and super().lookup_allowed(lookup, value, request)

    @admin.action(description=gettext_lazy("Void: end without a result"), permissions=["void"])
    def void(self, request: HttpRequest, queryset: QuerySet[Match]) -> None:
        """End unfinished matches without a result."""
        count = sum(void_match(match_id, "operator") for match_id in queryset.values_list("pk", flat=True))
        text = ngettext("%(count)s match is void now.", "%(count)s matches are void now.", count)
        messages.success(request, text % {"count": count})

    def has_void_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("games.change_match")


@admin.register(Worker)
class WorkerAdmin(ReadOnly, admin.ModelAdmin[Worker]):
    """Sandboxed workers; a paused one plays what it has to the end and takes up nothing new."""

    list_display = ["name", "queues", "slots", "is_ok", "is_paused", "seen_at", "reason"]
    actions = ["pause", "resume"]

    @admin.action(description=gettext_lazy("Pause: take up no new match"), permissions=["pause"])
    def pause(self, request: HttpRequest, queryset: QuerySet[Worker]) -> None:
        """Pause the selected workers."""
        self._set(request, queryset, is_paused=True)

    @admin.action(description=gettext_lazy("Resume"), permissions=["pause"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Worker]) -> None:
        """Resume the selected workers."""
        self._set(request, queryset, is_paused=False)

    def _set(self, request: HttpRequest, queryset: QuerySet[Worker], *, is_paused: bool) -> None:
        count = sum(pause_worker(name, is_paused) for name in queryset.values_list("pk", flat=True))
        messages.success(request, _("Changed: %(count)s.") % {"count": count})

    def has_pause_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("games.change_worker")


@admin.register(Finding)
class FindingAdmin(ReadOnly, admin.ModelAdmin[Finding]):
    """What the sweeps found."""

    list_display = ["found_at", "what", "subject", "detail"]
    list_filter = ["what"]


@admin.register(SetAside)
class SetAsideAdmin(ReadOnly, admin.ModelAdmin[SetAside]):
    """Versions that were set aside; logs and times stay their owners' own."""

    list_display = ["version", "why", "match", "faults", "set_at", "is_open"]
    list_filter = ["why"]
    list_select_related = ["version__bot", "match"]
    actions = ["retry"]

    @admin.action(description=gettext_lazy("Let play a new trial"), permissions=["retry"])
    def retry(self, request: HttpRequest, queryset: QuerySet[SetAside]) -> None:
        """Retry the selected versions, those too that took workers along."""
        count = sum(retry(aside.version, by_operator=True) for aside in queryset.select_related("version__bot"))
        messages.success(request, _("Changed: %(count)s.") % {"count": count})

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("games.change_setaside")
