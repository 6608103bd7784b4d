"""What is stored of bots: names, owners, immutable versions, and the operator's switches."""

from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from bots.names import name_key


class Bot(models.Model):
    """A bot under one name; what plays is one of its versions. House bots have no owner."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="bots"
    )
    name = models.CharField(_("name"), max_length=32, unique=True)
    # The name with look-alike characters folded: unique, so that no bot can pass for another.
    name_key = models.CharField(max_length=300, unique=True, editable=False)
    slug = models.SlugField(max_length=40, unique=True)
    about = models.CharField(_("about"), max_length=280, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store the bot, its name's key in step with the name."""
        self.name_key = name_key(self.name)
        super().save(*args, **kwargs)


class Source(models.Model):
    """One uploaded file by its content; private to its owner, shared by versions that are the same."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    data = models.BinaryField()


class BotVersion(models.Model):
    """An immutable version of a bot. It may be rated once its trial match has passed."""

    class State(models.TextChoices):
        TRIAL = "trial", _("trial to come")
        READY = "ready", _("ready")
        FAILED = "failed", _("trial failed")
        SET_ASIDE = "set_aside", _("set aside")  # was in two matches that our workers lost

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="versions")
    file_name = models.CharField(max_length=100)
    size = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.TRIAL)
    state_note = models.CharField(max_length=200, blank=True)
    uploaded_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["bot", "-number"]
        constraints = [models.UniqueConstraint(fields=["bot", "number"], name="bots_version_number_once")]

    def __str__(self) -> str:
        return f"{self.bot} {self.number}"

    @property
    def badge(self) -> str:
        """Return the name of the badge that shows the state."""
        return {"trial": "attention", "ready": "passed", "failed": "failed", "set_aside": "void"}[self.state]


class Switch(models.Model):
    """An operator's switch: while `is_paused`, what it names waits."""

    class Name(models.TextChoices):
        ROUNDS = "rounds", _("rounds")
        UPLOADS = "uploads", _("uploads")

    name = models.CharField(max_length=20, primary_key=True, choices=Name.choices)
    is_paused = models.BooleanField(default=False)
    note = models.CharField(max_length=200, blank=True, help_text=_("Shown to people while paused."))

    class Meta:
        verbose_name_plural = "switches"

    def __str__(self) -> str:
        return self.name
