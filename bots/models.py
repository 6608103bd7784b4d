"""What is stored of bots: names, owners, immutable versions, and the operator's switches."""

from collections.abc import Iterable
from typing import Any, ClassVar, Self, TypeVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from bots.names import name_key

NOTE_MAX = 200
Row = TypeVar("Row", bound=models.Model)


class Immutable(Exception):
    """Something tried to change what never changes of an upload."""


class OnceWritten(models.QuerySet[Row]):
    """Rows of which `FIXED` columns are written once, by whatever path of the ORM."""

    def update(self, **values: Any) -> int:
        _refuse_change(self.model, values)
        return super().update(**values)

    def bulk_create(self, objs: Iterable[Row], *args: Any, **options: Any) -> list[Row]:
        if options.get("update_conflicts"):
            _refuse_change(self.model, options.get("update_fields") or ())
        return super().bulk_create(objs, *args, **options)


def _refuse_change(model: type[models.Model], names: Iterable[str]) -> None:
    fixed: frozenset[str] = model.FIXED  # type: ignore[attr-defined]
    if changed := sorted(fixed & set(names)):
        raise Immutable(f"expected no change of what was uploaded: {model.__name__} {', '.join(changed)}")


class WrittenOnce(models.Model):
    """A row that is inserted whole; afterwards `save` takes the names of the columns that may change."""

    FIXED: ClassVar[frozenset[str]] = frozenset()

    class Meta:
        abstract = True

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **options: Any) -> None:
        """Insert the row, or store the columns that are named. Immutable if one of them is fixed, or none is named."""
        if self._state.adding:
            # Without this, a row made by hand under a key in use would be an update.
            options["force_insert"] = True
        else:
            _refuse_change(type(self), self.FIXED if update_fields is None else update_fields)
        super().save(*args, update_fields=update_fields, **options)


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
    # The version that its owner wants to play; without one the newest that may does (versions.playing).
    chosen = models.ForeignKey(
        "BotVersion",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        verbose_name=_("chosen version"),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def is_owned_by(self, user: Any) -> bool:
        """Tell whether the bot is this user's own; nobody owns a house bot, and nobody who is not logged in a bot."""
        return self.owner_id is not None and user is not None and self.owner_id == user.pk

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store the bot, its name's key in step with the name."""
        self.name_key = name_key(self.name)
        super().save(*args, **kwargs)


class Source(WrittenOnce):
    """One uploaded file by its content; private to its owner, shared by versions that are the same."""

    FIXED = frozenset({"sha256", "data"})

    sha256 = models.CharField(max_length=64, primary_key=True)
    data = models.BinaryField()

    objects: ClassVar[models.Manager[Self]] = OnceWritten["Source"].as_manager()


class BotVersion(WrittenOnce):
    """An immutable version of a bot. It may be rated once its trial match has passed."""

    FIXED = frozenset({"bot", "bot_id", "number", "source", "source_id", "file_name", "size", "note"})

    class State(models.TextChoices):
        TRIAL = "trial", _("trial to come")
        READY = "ready", _("ready")
        FAILED = "failed", _("trial failed")
        SET_ASIDE = "set_aside", _("set aside")  # faulted too often, or was in matches that our workers lost

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    source = models.ForeignKey(Source, on_delete=models.PROTECT, related_name="versions")
    file_name = models.CharField(max_length=100)
    size = models.PositiveIntegerField()
    note = models.CharField(_("note"), max_length=NOTE_MAX, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.TRIAL)
    state_note = models.CharField(max_length=200, blank=True)
    uploaded_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[models.Manager[Self]] = OnceWritten["BotVersion"].as_manager()

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
