"""Who meets whom and what it counts: ladders, entries, rounds, pairings and the ledger of ratings."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from bots.models import Bot
from games.models import Match


class Ladder(models.Model):
    """A standing contest under one set of rules; a round is due every `round_s` seconds."""

    name = models.CharField(_("name"), max_length=60, unique=True)
    slug = models.SlugField(max_length=60, unique=True)
    about = models.CharField(_("about"), max_length=280, blank=True)
    rules = models.JSONField()  # every option, as in the record
    seats = models.PositiveSmallIntegerField(default=2, validators=[MinValueValidator(2), MaxValueValidator(4)])
    is_open = models.BooleanField(default=True)
    round_s = models.PositiveIntegerField(default=60, validators=[MinValueValidator(5)])
    next_round_at = models.DateTimeField(null=True, blank=True)
    rounds = models.PositiveIntegerField(default=0)  # held so far
    has_showcase = models.BooleanField(default=True)
    initial_rating = models.FloatField(default=1500.0)
    k_new = models.FloatField(default=40.0)  # for an entry's first `settled_after` pairings
    k_settled = models.FloatField(default=20.0)
    settled_after = models.PositiveIntegerField(default=30)
    rated = models.PositiveIntegerField(default=0)  # pairings in the ledger; its next number less one

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(seats__gte=2, seats__lte=4), name="ladder_seats_2_to_4"),
            models.CheckConstraint(condition=models.Q(round_s__gte=1), name="ladder_round_s_positive"),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Return the address of the ladder's page."""
        return reverse("ladder", args=[self.slug])


class Entry(models.Model):
    """A bot (later: a person) in a ladder, with its rating, which only ratings.py writes."""

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        PAUSED = "paused", _("paused")
        WITHDRAWN = "withdrawn", _("withdrawn")

    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="entries")
    bot = models.ForeignKey(Bot, null=True, blank=True, on_delete=models.PROTECT, related_name="entries")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="entries"
    )
    state = models.CharField(max_length=10, choices=State.choices, default=State.ACTIVE)
    rating = models.FloatField()
    # Sums over the entry's rated pairings, in step with the ledger, so that no page adds up a history.
    pairings = models.PositiveIntegerField(default=0)
    won = models.PositiveIntegerField(default=0)  # first alone
    drawn = models.PositiveIntegerField(default=0)  # first together with others
    place_sum = models.PositiveIntegerField(default=0)
    entered_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "entries"
        constraints = [
            models.UniqueConstraint(fields=["ladder", "bot"], name="ladder_entry_bot_once"),
            models.UniqueConstraint(fields=["ladder", "user"], name="ladder_entry_user_once"),
            models.CheckConstraint(
                condition=models.Q(bot__isnull=False, user__isnull=True)
                | models.Q(bot__isnull=True, user__isnull=False),
                name="ladder_entry_bot_or_user",
            ),
        ]
        indexes = [models.Index(fields=["ladder", "state", "-rating"], name="ladder_entry_standing")]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The name under which the entry plays."""
        return str(self.bot or self.user)

    @property
    def owner_id(self) -> int | None:
        """Who answers for the entry: the bot's owner (None for a house bot), or the person."""
        return self.bot.owner_id if self.bot else self.user_id


class Round(models.Model):
    """One time at which a ladder brought its entries together. Numbered from 1 within the ladder."""

    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="held_rounds")
    number = models.PositiveIntegerField()
    started_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["ladder", "number"], name="ladder_round_number_once")]

    def __str__(self) -> str:
        return f"{self.ladder} {self.number}"


class Pairing(models.Model):
    """The entries that meet: the unit that is rated. Its matches share one fate."""

    class State(models.TextChoices):
        PLAYING = "playing", _("being played")
        RATED = "rated", _("rated")
        UNRATED = "unrated", _("unrated")

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="pairings")
    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="pairings")
    state = models.CharField(max_length=8, choices=State.choices, default=State.PLAYING)
    number = models.PositiveIntegerField(null=True, blank=True)  # in the ledger, given when it is rated
    why_unrated = models.CharField(max_length=20, blank=True)  # one_owner | void | …
    rated_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["ladder", "number"], name="ladder_pairing_number_once")]
        indexes = [models.Index(fields=["state", "id"], name="ladder_pairing_state")]


class PairedEntry(models.Model):
    """One entry of a pairing; `entrant` is its order of entry in the pairing's matches."""

    pairing = models.ForeignKey(Pairing, on_delete=models.CASCADE, related_name="paired_entries")
    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="paired_entries")
    entrant = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["pairing", "entrant"]
        constraints = [
            models.UniqueConstraint(fields=["pairing", "entry"], name="ladder_paired_entry_once"),
            models.UniqueConstraint(fields=["pairing", "entrant"], name="ladder_paired_entrant_once"),
        ]


class PairedMatch(models.Model):
    """A match that belongs to a pairing; a duplicate set has several."""

    pairing = models.ForeignKey(Pairing, on_delete=models.CASCADE, related_name="paired_matches")
    match = models.OneToOneField(Match, on_delete=models.PROTECT, related_name="paired")
    # The pairing's ladder once more, so that a ladder's matches are one range of an index.
    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="paired_matches")

    class Meta:
        indexes = [models.Index(fields=["ladder", "-match"], name="ladder_matches")]


class RatingChange(models.Model):
    """One row of the append-only ledger: what one pairing did to one entry's rating."""

    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="changes")
    pairing = models.ForeignKey(Pairing, on_delete=models.PROTECT, related_name="changes")
    number = models.PositiveIntegerField()  # the pairing's number in the ledger
    nth = models.PositiveIntegerField()  # how many rated pairings the entry then had, this one included
    place = models.PositiveSmallIntegerField()
    k = models.FloatField()
    before = models.FloatField()
    after = models.FloatField()
    rated_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["entry", "number"]
        constraints = [
            models.UniqueConstraint(fields=["entry", "pairing"], name="ladder_change_once"),
            models.UniqueConstraint(fields=["entry", "nth"], name="ladder_change_nth_once"),
        ]
        indexes = [models.Index(fields=["entry", "-number"], name="ladder_change_history")]
