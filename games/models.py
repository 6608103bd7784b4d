"""Matches, who sits in them, the decisions at running human tables, and finished records."""

import secrets

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from bots.models import Bot, BotVersion


def new_code() -> str:
    """Return a match's public name: 16 random hex digits."""
    return secrets.token_hex(8)


class Match(models.Model):
    """One game from the first card to the last, whoever plays it and however often it had to be started.

    `state` moves only by the conditional updates in dispatch, tables and finish:
    waiting -> queued -> playing -> (sealed ->) (showing ->) finished | void; a human table is
    open -> playing -> finished | void.
    """

    class Kind(models.TextChoices):
        RANKED = "ranked", _("ranked")
        TRIAL = "trial", _("trial")
        TABLE = "table", _("table")

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")  # for the dispatcher
        QUEUED = "queued", _("queued")  # an attempt is in the broker
        OPEN = "open", _("open")  # a human table before its first card
        PLAYING = "playing", _("playing")
        SHOWING = "showing", _("on show")  # played; the record is released decision by decision
        SEALED = "sealed", _("sealed")  # played; the others of its duplicate set are not all
        FINISHED = "finished", _("finished")
        VOID = "void", _("void")

    UNPLAYED = (State.WAITING, State.QUEUED, State.OPEN, State.PLAYING)
    UNFINISHED = (*UNPLAYED, State.SHOWING, State.SEALED)
    OVER = (State.FINISHED, State.VOID)

    code = models.CharField(max_length=16, unique=True, default=new_code, editable=False)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    rules = models.JSONField()  # every option, as in the record
    seats = models.PositiveSmallIntegerField()
    seating = models.CharField(max_length=5, default="draw")  # draw | fixed
    server_seed = models.BinaryField(max_length=32)  # secret until the match has ended
    commitment = models.CharField(max_length=64)
    player_seeds = models.JSONField(default=list)
    # Bots' clocks and memory where they are not the usual ones, as `Limits.from_json` takes them, and people's:
    # person_move_s, person_bank_s.
    limits = models.JSONField(default=dict)
    # Matches of one duplicate set have it in common; their records stay sealed until the last has ended.
    duplicates = models.CharField(max_length=16, blank=True)
    # Whose fair share of the workers this match takes, e.g. "ladder:3" or "owner:17".
    share = models.CharField(max_length=40, blank=True)

    # Of a bots' match: the attempt's number. Of a human table: how many changes were accepted; every task
    # carries the number that it was made for, and only one task per number is taken.
    attempt = models.PositiveIntegerField(default=0)
    lost_attempts = models.PositiveSmallIntegerField(default=0)
    silent_losses = models.PositiveSmallIntegerField(default=0)  # of these, those without a word from the worker
    worker = models.CharField(max_length=80, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    heard_at = models.DateTimeField(null=True, blank=True)  # last sign of life of the running attempt
    wait_until = models.DateTimeField(null=True, blank=True)  # after a failure of ours: not before
    awaits = models.CharField(max_length=8, blank=True)  # a human table: seating | bots | person
    # A table with clocks: by when the person must move for whom it waits; the action that came first of his move and
    # the end of his time, and when. Both are on their way to the engine until the table changes.
    deadline_at = models.DateTimeField(null=True, blank=True)
    asked = models.JSONField(default=dict, blank=True)
    asked_at = models.DateTimeField(null=True, blank=True)

    is_showcase = models.BooleanField(default=False)
    show_from = models.DateTimeField(null=True, blank=True)
    show_ms = models.PositiveIntegerField(default=0)  # wall clock between two shown decisions, ms
    show_until = models.DateTimeField(null=True, blank=True)

    decisions = models.PositiveIntegerField(default=0)  # accepted so far (tables), all (finished)
    hands = models.PositiveSmallIntegerField(default=0)
    faults = models.JSONField(default=list)  # public: seat, kind, hand, turn, detail
    how = models.CharField(max_length=12, blank=True)  # result.how, or why it is void
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    moved_at = models.DateTimeField(null=True, blank=True)  # last decision at a human table
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "matches"
        indexes = [
            models.Index(fields=["state", "kind", "id"], name="games_match_state"),
            models.Index(fields=["-finished_at", "-id"], name="games_match_finished"),
            models.Index(
                fields=["deadline_at"], condition=models.Q(deadline_at__isnull=False), name="games_match_deadline"
            ),
            models.Index(fields=["duplicates"], condition=~models.Q(duplicates=""), name="games_match_duplicates"),
        ]

    def __str__(self) -> str:
        return self.code

    @property
    def is_over(self) -> bool:
        """Whether it has ended for good; until then nothing of its record may be seen."""
        return self.state in self.OVER


class Seat(models.Model):
    """One player of one match. `entrant` is the order of entry; `seat` is drawn when play starts.

    What lists show stands here in plain columns, so that a history page joins nothing.
    """

    match = models.ForeignKey(Match, on_delete=models.CASCADE, related_name="players")
    entrant = models.PositiveSmallIntegerField()
    seat = models.PositiveSmallIntegerField(null=True, blank=True)
    name = models.CharField(max_length=150)
    bot = models.ForeignKey(Bot, null=True, blank=True, on_delete=models.SET_NULL, related_name="seats")
    version = models.ForeignKey(BotVersion, null=True, blank=True, on_delete=models.SET_NULL, related_name="seats")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="seats"
    )
    place = models.PositiveSmallIntegerField(null=True, blank=True)
    total = models.IntegerField(null=True, blank=True)
    fault = models.CharField(max_length=10, blank=True)

    class Meta:
        ordering = ["match", "seat", "entrant"]
        constraints = [
            models.UniqueConstraint(fields=["match", "entrant"], name="games_seat_entrant_once"),
            models.UniqueConstraint(fields=["match", "seat"], name="games_seat_seat_once"),
        ]
        indexes = [
            models.Index(fields=["bot", "-match"], name="games_seat_bot_match"),
            models.Index(fields=["user", "-match"], name="games_seat_user_match"),
        ]


class SeatLog(models.Model):
    """What only the owner of a seat's bot may read, once the match has ended: its stderr, its times, its fault."""

    seat = models.OneToOneField(Seat, on_delete=models.CASCADE, related_name="log", primary_key=True)
    stderr = models.TextField(blank=True)
    fault_detail = models.TextField(blank=True)
    times = models.BinaryField(default=b"", blank=True)  # games.times


class SetAside(models.Model):
    """Why a version is not played any more, or was not before its owner retried it. Written by games.asides."""

    class Why(models.TextChoices):
        TRIAL = "trial", _("a fault in its trial")
        FAULTS = "faults", _("faults in rated matches")
        WORKERS = "workers", _("matches lost with their workers")

    version = models.OneToOneField(BotVersion, on_delete=models.CASCADE, related_name="aside", primary_key=True)
    why = models.CharField(max_length=8, choices=Why.choices)
    match = models.ForeignKey(Match, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    faults = models.JSONField(default=list)  # their kinds, newest first
    of_last = models.PositiveSmallIntegerField(default=0)  # in so many matches
    is_open = models.BooleanField(default=True)  # its owner has still to be told
    set_at = models.DateTimeField()
    counts_after = models.PositiveBigIntegerField(default=0)  # matches up to this one do not count any more


class Move(models.Model):
    """One accepted decision at a running human table; gone once the match is packed into its record."""

    match = models.ForeignKey(Match, on_delete=models.CASCADE, related_name="moves")
    number = models.PositiveIntegerField()  # the decision's id, from 1
    move = models.CharField(max_length=8)
    elapsed_ms = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["match", "number"]
        constraints = [models.UniqueConstraint(fields=["match", "number"], name="games_move_number_once")]


class Record(models.Model):
    """A finished match, packed: one format byte, then what `games.engine.record` makes of it."""

    match = models.OneToOneField(Match, on_delete=models.CASCADE, related_name="record", primary_key=True)
    packed = models.BinaryField()


class Share(models.Model):
    """One who shares the workers with others (a ladder, an owner), and when he last got his turn."""

    name = models.CharField(max_length=40, primary_key=True)
    served_at = models.DateTimeField()


class Finding(models.Model):
    """Something that the sweep found between two chairs and put right; the last ones are kept for operators."""

    found_at = models.DateTimeField(auto_now_add=True)
    # lost | failed | unstarted | sealed | void | set_aside | house_fault | trial | unanswered | idle | asleep
    what = models.CharField(max_length=12)
    subject = models.CharField(max_length=80)
    detail = models.CharField(max_length=300, blank=True)

    class Meta:
        ordering = ["-id"]


class Worker(models.Model):
    """A sandboxed worker as it announced itself; the operator may pause it."""

    name = models.CharField(max_length=80, primary_key=True)
    queues = models.CharField(max_length=80, blank=True)
    slots = models.PositiveSmallIntegerField(default=1)  # matches at once
    is_ok = models.BooleanField(default=False)
    reason = models.TextField(blank=True)  # why it refuses sandboxed work, or the mode of its jail
    is_paused = models.BooleanField(default=False)
    paused_at = models.DateTimeField(null=True, blank=True)  # when `is_paused` last changed
    seen_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name

    def queue_names(self) -> list[str]:
        """Return the queues that it consumes while it is not paused."""
        return [name.strip() for name in self.queues.split(",") if name.strip()]
