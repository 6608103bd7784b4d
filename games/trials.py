"""Trial matches: every new version plays one against house bots before it may be rated."""

import logging
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from bots.models import Bot, BotVersion
from bots.versions import playable_versions
from games import asides
from games.engine import Rules
from games.findings import note
from games.matches import create_match
from games.models import Match, Seat, SetAside

logger = logging.getLogger(__name__)

OPPONENTS = ("careful", "spoiler")
RETRY_AFTER = timedelta(minutes=10)  # after a trial that was void by our failure
State, Why = BotVersion.State, SetAside.Why


def on_version_uploaded(*, version_id: int, **_signal: object) -> None:
    """Create the trial of a version that has just been committed; its owner has dealt with what earlier ones did."""
    asides.close(Q(version__bot__versions=version_id))
    start_trial(version_id)


def start_trial(version_id: int) -> Match | None:
    """Create the trial match of a version that still needs one; None if it does not, or the house is not in yet."""
    with transaction.atomic():
        version = BotVersion.objects.select_for_update(of=("self",)).filter(pk=version_id, state=State.TRIAL).first()
        if version is None or _trials_of(version_id).filter(state__in=Match.UNFINISHED).exists():
            return None
        house = playable_versions(Bot.objects.filter(owner=None, name__in=OPPONENTS).values_list("pk", flat=True))
        if len(house) < len(OPPONENTS):
            logger.warning("trial waits for the house bots version_id=%s", version_id)
            return None
        opponents = BotVersion.objects.select_related("bot").filter(pk__in=[v.pk for v in house.values()])
        match = create_match(
            kind=Match.Kind.TRIAL,
            rules=Rules.preset("classic").to_json(),
            entrants=[{"version": version}, *({"version": opponent} for opponent in opponents.order_by("bot__name"))],
            share=f"owner:{version.bot.owner_id}",
        )
    logger.info("trial created match=%s version_id=%s", match.code, version_id)
    return match


def retry(version: BotVersion, *, by_operator: bool = False) -> bool:
    """Let a version that was set aside play a new trial, its count begun anew; False if it is not one to be retried."""
    with transaction.atomic():
        aside = SetAside.objects.filter(version=version).first()
        row = BotVersion.objects.filter(pk=version.pk, state=version.state)
        if not asides.can_retry(version, aside, by_operator=by_operator) or not row.update(
            state=State.TRIAL, state_note=""
        ):
            return False
        asides.begin_anew(version)
        start_trial(version.pk)
    logger.info("version retried version_id=%s", version.pk)
    return True


def conclude(match_id: int) -> None:
    """Say how a finished trial went, in the transaction that finishes it."""
    seat = Seat.objects.select_related("match", "version__bot").filter(match_id=match_id, entrant=0).first()
    if seat is None or seat.version is None:
        return
    if seat.fault:
        faults = [seat.fault]
        is_over = asides.set_aside(
            seat.version, Why.TRIAL, match=seat.match, faults=faults, of_last=1, before=State.TRIAL
        )
    else:
        row = BotVersion.objects.filter(pk=seat.version.pk, state=State.TRIAL)
        is_over = row.update(state=State.READY, state_note="") == 1
    if is_over:
        logger.info("trial over version_id=%s fault=%s", seat.version_id, seat.fault or "none")


def sweep_trials() -> int:
    """Find versions whose trial fell between two chairs: never created, void, or finished without a verdict."""
    found = 0
    trial = Seat.objects.filter(version=OuterRef("pk"), entrant=0, match__kind=Match.Kind.TRIAL)
    settled_lately = Q(match__state=Match.State.VOID, match__finished_at__gt=timezone.now() - RETRY_AFTER)
    waiting = BotVersion.objects.filter(
        ~Exists(trial.filter(Q(match__state__in=Match.UNFINISHED) | settled_lately)),
        state=State.TRIAL,
        uploaded_at__lt=timezone.now() - timedelta(seconds=5),
    )
    for version_id in waiting.values_list("pk", flat=True)[:50]:
        # One from before a retry has had its verdict.
        finished = _trials_of(version_id).filter(state=Match.State.FINISHED, id__gt=asides.counts_after(version_id))
        if (last := finished.order_by("-id").first()) is not None:
            conclude(last.pk)
        elif start_trial(version_id) is None:
            continue
        note("trial", f"version {version_id}")
        found += 1
    return found


def _trials_of(version_id: int) -> QuerySet[Match]:
    return Match.objects.filter(kind=Match.Kind.TRIAL, players__version=version_id, players__entrant=0)
