"""Who people are: an account with a public name that nobody else can imitate."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _

from bots.names import name_key


class User(AbstractUser):
    """A person. `username` is the public name; the e-mail address is never shown to others."""

    email = models.EmailField(_("e-mail address"), unique=True)
    # The public name with look-alike characters folded: unique, so that nobody can pass for somebody else.
    name_key = models.CharField(max_length=300, unique=True, editable=False)

    REQUIRED_FIELDS = ["email"]

    class Meta(AbstractUser.Meta):
        swappable = "AUTH_USER_MODEL"

    def save(self, *args, **kwargs):
        """Store the account, its name's key in step with the name."""
        self.name_key = name_key(self.username)
        super().save(*args, **kwargs)
