"""Who meets whom and what it counts: ladders, entries, rounds, pairings and the ledger of ratings."""

from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from bots.models import Bot, BotVersion
from games.models import Match


class Ladder(models.Model):
    """A contest under one set of rules; where a ladder has seasons, one of them.

    A season has rows of its own, from its entries to its ledger, so that one that has ended stays as it was;
    `previous` is the season before. `state` moves only in `seasons`:
    announced -> open -> running -> frozen -> closed.
    """

    class State(models.TextChoices):
        ANNOUNCED = "announced", _("announced")  # to be seen; nobody can enter yet
        OPEN = "open", _("open")  # for registration; no rounds yet
        RUNNING = "running", _("running")
        FROZEN = "frozen", _("frozen")  # no more rounds; what is still played ends, and then the standings are final
        CLOSED = "closed", _("closed")

    GOING_ON = (State.ANNOUNCED, State.OPEN, State.RUNNING)

    class Entrants(models.TextChoices):
        BOTS = "bots", _("bots")
        PEOPLE = "people", _("people")
        BOTH = "both", _("people and bots")

    class Schedule(models.TextChoices):
        EVERY = "every", _("at equal distances")
        WEEKLY = "weekly", _("at given times of the week")

    class Unit(models.TextChoices):
        MATCH = "match", _("one match")
        SET = "set", _("a duplicate set")  # as many matches as seats, on the same deals, the seats rotated

    class RankedBy(models.TextChoices):
        ELO = "elo", _("Elo rating")
        FIT = "fit", _("fitted strength")

    name = models.CharField(_("name"), max_length=60, unique=True)
    slug = models.SlugField(max_length=60, unique=True)
    about = models.CharField(_("about"), max_length=280, blank=True)
    # Who runs it beside the operators; None for the site's own.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="ladders"
    )
    state = models.CharField(max_length=9, choices=State.choices, default=State.RUNNING)

    # What is played, and by whom.
    rules = models.JSONField()  # every option, as in the record
    seats = models.PositiveSmallIntegerField(default=2, validators=[MinValueValidator(2), MaxValueValidator(4)])
    entrants = models.CharField(max_length=6, choices=Entrants.choices, default=Entrants.BOTS)
    entries_per_owner = models.PositiveSmallIntegerField(null=True, blank=True, default=3)  # None: any number
    unit = models.CharField(max_length=5, choices=Unit.choices, default=Unit.MATCH)
    move_s = models.FloatField(default=1.0)  # CPU seconds of a bot for one decision, beyond which its bank is used
    bank_s = models.FloatField(default=20.0)
    person_move_s = models.PositiveIntegerField(default=60)  # wall clock of a person, likewise
    person_bank_s = models.PositiveIntegerField(default=300)

    # When.
    registration_from = models.DateTimeField(null=True, blank=True)  # None: from the start
    registration_until = models.DateTimeField(null=True, blank=True)  # None: to the end
    starts_at = models.DateTimeField(null=True, blank=True)
    ends_at = models.DateTimeField(null=True, blank=True)
    frozen_at = models.DateTimeField(null=True, blank=True, editable=False)  # when the last rounds were over
    schedule = models.CharField(max_length=6, choices=Schedule.choices, default=Schedule.EVERY)
    round_s = models.PositiveIntegerField(default=60, validators=[MinValueValidator(5)])
    # [weekday, "HH:MM"], Monday 0, on the clock of `time_zone`.
    times = models.JSONField(default=list, blank=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    next_round_at = models.DateTimeField(null=True, blank=True)
    rounds = models.PositiveIntegerField(default=0)  # held so far
    has_showcase = models.BooleanField(default=True)
    max_pending = models.PositiveSmallIntegerField(default=1)  # pairings of one entry at once

    # Seasons.
    season = models.PositiveSmallIntegerField(null=True, blank=True)  # from 1; None where there are none
    previous = models.OneToOneField("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="following")
    renews_days = models.PositiveSmallIntegerField(null=True, blank=True)  # so long is the next season; None: no next
    carry = models.FloatField(default=0.5)  # what the next season keeps of an entry's distance from `initial_rating`

    # What it counts.
    ranked_by = models.CharField(max_length=3, choices=RankedBy.choices, default=RankedBy.FIT)
    initial_rating = models.FloatField(default=1500.0)
    k_new = models.FloatField(default=40.0)  # for an entry's first `settled_after` pairings
    k_settled = models.FloatField(default=20.0)
    settled_after = models.PositiveIntegerField(default=30)
    # The most that an entry may win or lose on balance against one other owner within a day (UTC); None: no bound.
    daily_cap = models.FloatField(null=True, blank=True, default=100.0)
    rated = models.PositiveIntegerField(default=0)  # pairings in the ledger; its next number less one
    # How often the ledger was rewritten: what was fitted before is old.
    replays = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.CheckConstraint(condition=models.Q(seats__gte=2, seats__lte=4), name="ladder_seats_2_to_4"),
            models.CheckConstraint(condition=models.Q(round_s__gte=1), name="ladder_round_s_positive"),
            # People cannot be dealt the same cards four times.
            models.CheckConstraint(
                condition=models.Q(unit="match") | models.Q(entrants="bots"), name="ladder_sets_for_bots_only"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        """Return the address of the ladder's page."""
        return reverse("ladder", args=[self.slug])

    def hold_entries(self) -> None:
        """Lock all its entries for the rest of a transaction, by key as ratings and rounds do: before many are written.

        One statement that writes many locks them as they lie, and of two that do so each may wait for the other.
        """
        list(self.entries.select_for_update(no_key=True).order_by("pk").values_list("pk"))

    @property
    def is_open(self) -> bool:
        """Whether rounds are held, or will be."""
        return self.state in self.GOING_ON


class Measured:
    """Has a strength on the Elo scale and the half width of its 95 % interval; an entry may have neither yet."""

    strength: float | None
    half_width: float | None

    @property
    def low(self) -> float | None:
        """The lower end of the interval; None while there is no strength."""
        return None if self.strength is None else self.strength - (self.half_width or 0.0)

    @property
    def high(self) -> float | None:
        """The upper end of the interval; None while there is no strength."""
        return None if self.strength is None else self.strength + (self.half_width or 0.0)


class Entry(Measured, models.Model):
    """A bot or a person in a ladder; its rating only `ratings` writes, its strength only `fits`."""

    class State(models.TextChoices):
        ACTIVE = "active", _("active")
        PAUSED = "paused", _("paused")
        WITHDRAWN = "withdrawn", _("withdrawn")
        DISQUALIFIED = "disqualified", _("disqualified")  # what it was in counts for nothing

    # Of those who left, neither stands in the tables.
    GONE = (State.WITHDRAWN, State.DISQUALIFIED)

    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="entries")
    bot = models.ForeignKey(Bot, null=True, blank=True, on_delete=models.PROTECT, related_name="entries")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="entries"
    )
    state = models.CharField(max_length=12, choices=State.choices, default=State.ACTIVE)
    seed_rating = models.FloatField(default=1500.0)  # where it began
    rating = models.FloatField()
    # Sums over the entry's rated pairings, in step with the ledger, so that no page adds up a history.
    pairings = models.PositiveIntegerField(default=0)
    won = models.PositiveIntegerField(default=0)  # first alone
    drawn = models.PositiveIntegerField(default=0)  # first together with others
    place_sum = models.PositiveIntegerField(default=0)
    recent_ratings = models.JSONField(default=list, blank=True)  # ratings: see `ledger.Figures`
    # The last fit's word on the version that plays now; None before the first.
    strength = models.FloatField(null=True, blank=True)  # Elo scale
    half_width = models.FloatField(null=True, blank=True)  # of its 95 % interval
    band = models.PositiveIntegerField(null=True, blank=True)  # from 1; who shares one cannot be told apart
    is_provisional = models.BooleanField(default=True)
    anchor = models.FloatField(null=True, blank=True)  # the strength at which fits hold it, so that the scale stays
    final_rank = models.PositiveIntegerField(null=True, blank=True)  # where it stood when the ladder was frozen
    # What keeps rounds fair.
    # Rounds in which it could have played and was left over: an account, see `pairing.line`; None before its first.
    byes = models.PositiveIntegerField(null=True, blank=True, editable=False)
    waits = models.PositiveIntegerField(default=0, editable=False)  # such rounds since it was last paired
    seats_taken = models.JSONField(default=list, blank=True)  # by seat, how often it sat there
    paired_at = models.DateTimeField(null=True, blank=True)  # last
    ready_until = models.DateTimeField(null=True, blank=True)  # a person: sits by the screen and wants to be paired
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
        indexes = [
            models.Index(fields=["ladder", "state", "-rating"], name="ladder_entry_standing"),
            models.Index(fields=["ladder", "state", "-strength"], name="ladder_entry_strength"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The name under which the entry plays."""
        return str(self.bot or self.user)

    @property
    def recent_change(self) -> float | None:
        """What its last ten pairings did to its rating; None before the first."""
        return self.rating - self.recent_ratings[-11:][0] if self.recent_ratings else None

    @property
    def is_ready(self) -> bool:
        """Whether a person wants to be paired now."""
        is_set = self.ready_until is not None and self.ready_until > timezone.now()
        return is_set and self.state == self.State.ACTIVE

    @property
    def owner_id(self) -> int | None:
        """Who answers for the entry: the bot's owner (None for a house bot), or the person."""
        return self.bot.owner_id if self.bot else self.user_id

    def is_owned_by(self, user: Any) -> bool:
        """Tell whether this user answers for the entry; nobody who is not logged in does."""
        return self.owner_id is not None and self.owner_id == user.pk


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
    why_unrated = models.CharField(max_length=20, blank=True)  # one_owner | void | disqualified
    # Of the seed that its matches are dealt from: no two pairings share one. Empty for those of before it was kept.
    commitment = models.CharField(max_length=64, blank=True)
    rated_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["ladder", "number"], name="ladder_pairing_number_once"),
            models.UniqueConstraint(
                fields=["commitment"], condition=~models.Q(commitment=""), name="ladder_pairing_seed_once"
            ),
        ]
        indexes = [
            models.Index(fields=["state", "id"], name="ladder_pairing_state"),
            # Whom one met lately stands in a ladder's last pairings.
            models.Index(fields=["ladder", "-id"], name="ladder_pairing_latest"),
        ]


class PairedEntry(models.Model):
    """One entry of a pairing; `entrant` is its order of entry in the pairing's (first) match."""

    pairing = models.ForeignKey(Pairing, on_delete=models.CASCADE, related_name="paired_entries")
    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="paired_entries")
    entrant = models.PositiveSmallIntegerField()
    version = models.ForeignKey(BotVersion, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        ordering = ["pairing", "entrant"]
        constraints = [
            models.UniqueConstraint(fields=["pairing", "entry"], name="ladder_paired_entry_once"),
            models.UniqueConstraint(fields=["pairing", "entrant"], name="ladder_paired_entrant_once"),
        ]


class PairedMatch(models.Model):
    """A match that belongs to a pairing; a duplicate set has several.

    The pairing's entrant `e` is entrant `(e + rotation) % n` of the match, which in a set is also its seat.
    """

    pairing = models.ForeignKey(Pairing, on_delete=models.CASCADE, related_name="paired_matches")
    match = models.OneToOneField(Match, on_delete=models.PROTECT, related_name="paired")
    rotation = models.PositiveSmallIntegerField(default=0)
    # The pairing's ladder once more, so that a ladder's matches are one range of an index.
    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="paired_matches")

    class Meta:
        indexes = [models.Index(fields=["ladder", "-match"], name="ladder_matches")]


class RatingChange(models.Model):
    """One row of the append-only ledger: what one pairing did to one entry's rating."""

    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="changes")
    entry = models.ForeignKey(Entry, on_delete=models.PROTECT, related_name="changes")
    pairing = models.ForeignKey(Pairing, on_delete=models.PROTECT, related_name="changes")
    version = models.ForeignKey(BotVersion, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    seat = models.PositiveSmallIntegerField(null=True, blank=True)  # None for a set, in which it took every seat
    number = models.PositiveIntegerField()  # the pairing's number in the ledger
    nth = models.PositiveIntegerField()  # how many rated pairings the entry then had, this one included
    place = models.PositiveSmallIntegerField()
    k = models.FloatField()
    before = models.FloatField()
    after = models.FloatField()
    capped = models.FloatField(default=0.0)  # points that the ladder's daily cap withheld: negative of a loss
    rated_at = models.DateTimeField(default=timezone.now)  # the pairing's

    class Meta:
        ordering = ["entry", "number"]
        constraints = [
            models.UniqueConstraint(fields=["entry", "pairing"], name="ladder_change_once"),
            models.UniqueConstraint(fields=["entry", "nth"], name="ladder_change_nth_once"),
        ]
        indexes = [
            models.Index(fields=["entry", "-number"], name="ladder_change_history"),
            # One range of it is all that a fit reads.
            models.Index(fields=["ladder", "number"], name="ladder_change_log"),
        ]


class Balance(models.Model):
    """What an entry won on balance against one other owner on `day` (UTC), the last on which they met.

    In step with the ledger; kept where a daily cap bounds it, and never of or against house bots.
    """

    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="balances")
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="balances")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    day = models.DateField()
    points = models.FloatField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["entry", "owner"], name="ladder_balance_once")]


class Meeting(models.Model):
    """How two entries fared against each other: sums over the ledger, in step with it. `entry` < `other`."""

    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="meetings")
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="meetings")
    other = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="+")
    pairings = models.PositiveIntegerField(default=0)
    ahead = models.PositiveIntegerField(default=0)  # in which `entry` had the better place
    level = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["entry", "other"], name="ladder_meeting_once"),
            models.CheckConstraint(condition=models.Q(entry__lt=models.F("other")), name="ladder_meeting_in_order"),
        ]


class Fit(models.Model):
    """What the batch fit made of a ladder's log up to pairing `number`; the last one counts."""

    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="fits")
    number = models.PositiveIntegerField()  # of the ledger's last pairing that it saw
    replays = models.PositiveIntegerField()  # the ladder's, when it was made
    made_at = models.DateTimeField(auto_now_add=True)
    elapsed_ms = models.PositiveIntegerField()
    facts = models.JSONField(default=dict)  # seat effects, ties, iterations: what people are told of it
    packed = models.BinaryField()  # the entries of the covariances' columns, 64-bit whole numbers; of the last fit only

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["ladder", "-id"], name="ladder_fit_latest")]


class Strength(Measured, models.Model):
    """What the last fit says of one node: a person's entry, or one version of a bot's."""

    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="strengths")
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="strengths")
    version = models.ForeignKey(BotVersion, null=True, blank=True, on_delete=models.CASCADE, related_name="+")
    strength = models.FloatField()  # Elo scale
    half_width = models.FloatField()  # of the 95 % interval
    pairings = models.PositiveIntegerField(default=0)
    is_current = models.BooleanField(default=False)  # whether the entry plays with it now
    # With the current nodes of the entries that the fit's `packed` names, in Elo²: 32-bit floats.
    covariances = models.BinaryField(default=b"")

    class Meta:
        verbose_name_plural = "strengths"
        constraints = [
            models.UniqueConstraint(fields=["entry", "version"], name="ladder_strength_once"),
            models.UniqueConstraint(
                fields=["entry"], condition=models.Q(version=None), name="ladder_strength_of_person_once"
            ),
        ]


class StrengthPoint(Measured, models.Model):
    """An entry's strength as it was fitted at some time: a point of its chart."""

    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="points")
    version = models.ForeignKey(BotVersion, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    made_at = models.DateTimeField()
    nth = models.PositiveIntegerField()  # the entry's rated pairings then
    strength = models.FloatField()
    half_width = models.FloatField()

    class Meta:
        ordering = ["entry", "id"]
        indexes = [models.Index(fields=["entry", "-id"], name="ladder_point_latest")]


class LadderEvent(models.Model):
    """The audit of a ladder: who did what to it and why, and what that changed. Never deleted."""

    class What(models.TextChoices):
        CREATED = "created", _("created")
        CHANGED = "changed", _("changed")
        ENTERED = "entered", _("entered")  # by who runs it, or by the site
        ENTRY = "entry", _("entry changed")  # by an operator: its state, or where fits hold it
        OPENED = "opened", _("registration opened")
        STARTED = "started", _("started")
        FROZEN = "frozen", _("frozen")
        CLOSED = "closed", _("closed")
        VOIDED = "voided", _("match voided")
        DISQUALIFIED = "disqualified", _("disqualified")
        REINSTATED = "reinstated", _("reinstated")
        RERATED = "rerated", _("replayed")
        DECIDED = "decided", _("decided")

    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    what = models.CharField(max_length=14, choices=What.choices)
    subject = models.CharField(max_length=120, blank=True)
    reason = models.CharField(max_length=280, blank=True)
    effect = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["ladder", "-id"], name="ladder_event_latest")]


class Judgement(models.Model):
    """A deed asked of a ladder whose log is too long to be replayed while a page loads; see `judgements`."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        REFUSED = "refused", _("refused")
        FAILED = "failed", _("failed")

    UNDER_WAY = (State.WAITING, State.RUNNING)

    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="judgements")
    # Nobody's deed is never done: without a name it would be an operator's.
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    deed = models.JSONField()  # see `judgements.pack`
    subject = models.CharField(max_length=120)  # what it is done to, as it was named then
    is_preview = models.BooleanField()  # only to be shown
    reason = models.CharField(max_length=280, blank=True)
    state = models.CharField(max_length=7, choices=State.choices, default=State.WAITING)
    pairings = models.PositiveIntegerField()  # in the log, when it was asked
    verdict = models.JSONField(null=True)  # see `judgements.as_json`; None unless it is done
    note = models.CharField(max_length=280, blank=True)  # why it is not
    made_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["ladder"],
                condition=models.Q(state__in=["waiting", "running"]),
                name="ladder_one_judgement_under_way",
            )
        ]

    def get_absolute_url(self) -> str:
        """Return the address of its page."""
        return reverse("ladder_judgement", args=[self.ladder.slug, self.pk])

    @property
    def is_ready(self) -> bool:
        """Whether it shows what would change, and waits for a reason to be applied."""
        return self.is_preview and self.state == self.State.DONE

    @property
    def is_under_way(self) -> bool:
        """Whether it has not ended."""
        return self.state in self.UNDER_WAY


class Flag(models.Model):
    """Something that looks odd, for a person to decide. It punishes nobody."""

    class Kind(models.TextChoices):
        MARGIN = "margin", _("a margin that depends on who else is there")
        LOSSES = "losses", _("loses to one account again and again")
        COMPANY = "company", _("two gain from each other's company")
        ADDRESS = "address", _("one address at a table")

    ladder = models.ForeignKey(Ladder, on_delete=models.CASCADE, related_name="flags")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="flags")
    other = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="+")
    evidence = models.JSONField(default=dict)
    seen_at = models.DateTimeField()
    is_open = models.BooleanField(default=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    decision = models.CharField(max_length=280, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["ladder", "kind", "entry", "other"], name="ladder_flag_once")]


class EntryAddress(models.Model):
    """From where an entry was played or registered: a keyed digest, never the address, and forgotten after 90 days."""

    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="addresses")
    digest = models.CharField(max_length=64)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["entry", "digest"], name="ladder_address_once")]
        indexes = [models.Index(fields=["digest"], name="ladder_address_digest")]
