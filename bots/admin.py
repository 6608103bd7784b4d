"""What operators see of bots. Sources are not among it: they are their owners' alone."""

from django.contrib import admin
from django.http import HttpRequest

from bots.models import Bot, BotVersion, Switch


@admin.register(Bot)
class BotAdmin(admin.ModelAdmin[Bot]):
    list_display = ["name", "owner", "created_at"]
    list_select_related = ["owner"]
    search_fields = ["name", "owner__username"]
    fields = ["name", "owner", "slug", "about", "chosen", "created_at"]
    readonly_fields = ["name", "owner", "slug", "chosen", "created_at"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(BotVersion)
class BotVersionAdmin(admin.ModelAdmin[BotVersion]):
    """Versions are immutable; their state is moved by what happened to them."""

    list_display = ["bot", "number", "state", "state_note", "size", "uploaded_at"]
    list_filter = ["state"]
    list_select_related = ["bot"]
    search_fields = ["bot__name", "source__sha256"]
    fields = readonly_fields = (
        "bot",
        "number",
        "state",
        "state_note",
        "sha256",
        "file_name",
        "size",
        "note",
        "uploaded_at",
    )

    @admin.display(description="SHA-256")
    def sha256(self, version: BotVersion) -> str:
        return version.source_id

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: BotVersion | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: BotVersion | None = None) -> bool:
        return False


@admin.register(Switch)
class SwitchAdmin(admin.ModelAdmin[Switch]):
    list_display = ["name", "is_paused", "note"]
    list_editable = ["is_paused", "note"]
