"""What follows from events of accounts."""

from typing import Any

from allauth.account.signals import password_changed, password_reset, password_set
from django.dispatch import receiver


@receiver([password_changed, password_set, password_reset])
def release_account(user: Any, **_: Any) -> None:
    """Let an account go on that had to change its password, now that it has."""
    if user.must_change_password:
        user.must_change_password = False
        user.save(update_fields=["must_change_password"])
