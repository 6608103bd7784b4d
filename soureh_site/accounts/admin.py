"""People, for the operators."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.utils.translation import gettext_lazy as _

from soureh_site.accounts.models import User


@admin.register(User)
class PersonAdmin(UserAdmin[User]):
    """Accounts: found by public name or address, without the names that this site does not ask for."""

    list_display = ["username", "email", "is_active", "is_staff", "date_joined", "last_login"]
    search_fields = ["username", "email"]
    ordering = ["-date_joined"]
    readonly_fields = ["name_key", "date_joined", "last_login"]
    fieldsets = [
        (None, {"fields": ["username", "name_key", "email", "password", "must_change_password"]}),
        (_("Permissions"), {"fields": ["is_active", "is_staff", "is_superuser", "groups", "user_permissions"]}),
        (_("Dates"), {"fields": ["date_joined", "last_login"]}),
    ]
    add_fieldsets = [(None, {"classes": ["wide"], "fields": ["username", "email", "password1", "password2"]})]
