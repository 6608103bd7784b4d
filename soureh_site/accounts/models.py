"""Who people are: an account with a public name that nobody else can imitate."""

from typing import Any

from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from bots.names import name_key
from soureh_site.accounts.names import MAX_LENGTH, check_public_name, check_unlike


class User(AbstractUser):
    """A person. `username` is the public name; the e-mail address is never shown to others."""

    username = models.CharField(
        _("public name"),
        max_length=MAX_LENGTH,
        unique=True,
        validators=[check_public_name],
        help_text=_("Shown to everybody. Letters, digits, and dots, hyphens or underscores between them."),
        error_messages={"unique": _("This name is taken.")},
    )
    email = models.EmailField(_("e-mail address"), unique=True)
    # The public name with look-alike characters folded: unique, so that nobody can pass for somebody else.
    name_key = models.CharField(max_length=300, unique=True, editable=False)
    # Set for an account whose password somebody else has seen, such as the first administrator's.
    must_change_password = models.BooleanField(
        _("must change the password"), default=False, help_text=_("No other page is shown until it is changed.")
    )
    # How many versions of his bots were set aside and not dealt with: here, so that a page's head asks nothing.
    bots_aside = models.PositiveSmallIntegerField(default=0, editable=False)
    # Likewise: the table with clocks at which he plays, and until when he is ready for one.
    table = models.CharField(max_length=16, blank=True, editable=False)
    ready_until = models.DateTimeField(null=True, blank=True, editable=False)

    REQUIRED_FIELDS = ["email"]

    class Meta(AbstractUser.Meta):
        swappable = "AUTH_USER_MODEL"

    @property
    def is_ready(self) -> bool:
        """Whether he has said, for some ladder, that he wants to be paired now."""
        return self.ready_until is not None and self.ready_until > timezone.now()

    def clean(self) -> None:
        """Refuse a name that looks like somebody else's, where a form of the operators sets it."""
        super().clean()
        try:
            check_unlike(self.username, but=self.pk)
        except ValidationError as error:
            raise ValidationError({"username": error}) from error

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store the account, its name's key in step with the name."""
        self.name_key = name_key(self.username)
        if (fields := kwargs.get("update_fields")) is not None and "username" in fields:
            kwargs["update_fields"] = {*fields, "name_key"}
        super().save(*args, **kwargs)


def public_name(user: User) -> str:
    """Return what others see of a person."""
    return user.username
