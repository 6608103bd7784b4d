"""Trial matches: every new version plays one against house bots before it may be rated."""

import logging
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from bots.models import Bot, BotVersion
from bots.versions import playable_versions
from games.engine import Rules
from games.findings import note
from games.matches import create_match
from games.models import Match, Seat

logger = logging.getLogger(__name__)

OPPONENTS = ("careful", "spoiler")
RETRY_AFTER = timedelta(minutes=10)  # after a trial that was void by our failure
State = BotVersion.State


def on_version_uploaded(*, version_id: int, **_signal: object) -> None:
    """Create the trial of a version that has just been committed."""
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


def conclude(match_id: int) -> None:
    """Say how a finished trial went, in the transaction that finishes it."""
    seat = Seat.objects.select_related("match").filter(match_id=match_id, entrant=0).first()
    if seat is None or seat.version_id is None:
        return
    state = State.FAILED if seat.fault else State.READY
    remark = next((fault["detail"] for fault in seat.match.faults if fault["seat"] == seat.seat), "")
    if BotVersion.objects.filter(pk=seat.version_id, state=State.TRIAL).update(state=state, state_note=remark):
        logger.info("trial over version_id=%s state=%s fault=%s", seat.version_id, state, seat.fault or "none")


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
        finished = _trials_of(version_id).filter(state=Match.State.FINISHED).order_by("-id").first()
        if finished is not None:
            conclude(finished.pk)
        elif start_trial(version_id) is None:
            continue
        note("trial", f"version {version_id}")
        found += 1
    return found


def _trials_of(version_id: int) -> QuerySet[Match]:
    return Match.objects.filter(kind=Match.Kind.TRIAL, players__version=version_id, players__entrant=0)
