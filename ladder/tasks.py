"""The ladder's background tasks, all in the trusted worker; each may run twice."""

import logging
from datetime import timedelta
from typing import Any

from celery import shared_task
from django.dispatch import receiver
from django.utils import timezone
from kombu.exceptions import OperationalError

from games.findings import note
from games.models import Match
from games.signals import match_finished, match_held_back
from ladder import fairplay, fits, judgements, ratings, scheduling, seasons
from ladder.models import Ladder, PairedMatch, Pairing
from ladder.notices import announce

logger = logging.getLogger(__name__)

# The sweep leaves what has just ended to the announcement.
GRACE = timedelta(seconds=5)
# What a tick or a sweep sends and nobody takes by then, a later one sends again.
DUE_EXPIRES_S = 5
SWEEP_S = 10
REVIEW_EXPIRES_S = 6 * 3600


@shared_task(name="ladder.tasks.tick", ignore_result=True)
def tick() -> None:
    """Have the rounds held that are due, each by a task of its own: what breaks on one ladder stops no other."""
    for ladder_id in scheduling.due_ladders():
        # The next ticks ask again for as long as it is due.
        hold_due.apply_async((ladder_id,), expires=DUE_EXPIRES_S)


@shared_task(name="ladder.tasks.hold_due", ignore_result=True)
def hold_due(ladder_id: int) -> None:
    """Hold this ladder's round if it is due."""
    scheduling.hold_due(ladder_id)


@shared_task(name="ladder.tasks.move_seasons", ignore_result=True)
def move_seasons() -> None:
    """Have the ladders moved on that are due for it, each by a task of its own."""
    for ladder_id in seasons.due():
        move_season.apply_async((ladder_id,), expires=DUE_EXPIRES_S)


@shared_task(name="ladder.tasks.move_season", ignore_result=True)
def move_season(ladder_id: int) -> None:
    """Move this ladder on as far as it is due."""
    seasons.advance(ladder_id)


@shared_task(name="ladder.tasks.rate", ignore_result=True)
def rate(pairing_id: int) -> None:
    """Rate a pairing, if all its matches have ended and nobody has rated it."""
    ratings.rate(pairing_id)


@shared_task(name="ladder.tasks.sweep", ignore_result=True)
def sweep() -> None:
    """Have done what nobody was told of: ended pairings rated, asked judgements run, each by a task of its own."""
    for pairing_id in overlooked():
        rate_overlooked.apply_async((pairing_id,), expires=SWEEP_S)
    for pk in judgements.give_up_lost():
        note("lost", f"judgement {pk}", "its worker gave no sign of life; nothing was changed")
        logger.warning("sweep gave up judgement=%d", pk)
    for pk in judgements.overlooked():
        judge.apply_async((pk,), expires=SWEEP_S)


@shared_task(name="ladder.tasks.judge", ignore_result=True)
def judge(judgement_id: int) -> None:
    """Do what somebody asked of a ladder with a long log, unless that was done."""
    judgements.run(judgement_id)


@shared_task(name="ladder.tasks.rate_overlooked", ignore_result=True)
def rate_overlooked(pairing_id: int) -> None:
    """Rate a pairing that the sweep found, and say so."""
    if ratings.rate(pairing_id):
        note("unrated", f"pairing {pairing_id}", "its match had ended, and nobody had rated it")
        logger.warning("sweep found pairing=%d", pairing_id)


@shared_task(name="ladder.tasks.fit_due", ignore_result=True)
def fit_due() -> None:
    """Have the ladders fitted in which something was rated, each by a task of its own."""
    for ladder_id in fits.due_ladders():
        fit.apply_async((ladder_id,), expires=fits.EVERY_S)


@shared_task(name="ladder.tasks.fit", ignore_result=True)
def fit(ladder_id: int) -> None:
    """Fit a ladder to its ledger, unless that has just been done: its organiser may have asked a hundred times."""
    if fits.is_rested(ladder_id):
        fits.fit_ladder(ladder_id)


@shared_task(name="ladder.tasks.review_all", ignore_result=True)
def review_all() -> None:
    """Look in every ladder that goes on for what is odd, each by a task of its own, and forget old addresses."""
    fairplay.forget_addresses()
    going_on = (*Ladder.GOING_ON, Ladder.State.FROZEN)
    for ladder_id in Ladder.objects.filter(state__in=going_on).values_list("pk", flat=True):
        review.apply_async((ladder_id,), expires=REVIEW_EXPIRES_S)


@shared_task(name="ladder.tasks.review", ignore_result=True)
def review(ladder_id: int) -> None:
    """Look in this ladder for what is odd."""
    fairplay.review(Ladder.objects.get(pk=ladder_id))


def overlooked() -> list[int]:
    """Return the unrated pairings all of whose matches ended a while ago, oldest first."""
    running = Match.objects.filter(paired__pairing__state=Pairing.State.PLAYING).exclude(state__in=Match.OVER)
    just_ended = Match.objects.filter(
        paired__pairing__state=Pairing.State.PLAYING, finished_at__gt=timezone.now() - GRACE
    )
    pairings = Pairing.objects.filter(state=Pairing.State.PLAYING).order_by("pk")
    for matches in (running, just_ended):
        pairings = pairings.exclude(pk__in=matches.values("paired__pairing"))
    return list(pairings.values_list("pk", flat=True))


@receiver(match_finished, dispatch_uid="ladder.rate")
def rate_when_finished(*, match_id: int, **_: Any) -> None:
    """Have the match's pairing rated; matches that belong to none are somebody else's."""
    pairing_id = PairedMatch.objects.filter(match=match_id).values_list("pairing_id", flat=True).first()
    if pairing_id is None:
        return
    try:
        rate.delay(pairing_id)
    except OperationalError as error:
        # The broker is away. The match has ended all the same, and the sweep will find it.
        logger.warning("rating put off pairing=%d error=%s", pairing_id, type(error).__name__)


@receiver(match_held_back, dispatch_uid="ladder.say_held_back")
def say_held_back(*, match_id: int, **_: Any) -> None:
    """Let open pages of the ladder show that a match has been played, or is on show, and nothing more of it."""
    slug = PairedMatch.objects.filter(match=match_id).values_list("ladder__slug", flat=True).first()
    if slug is not None:
        announce(slug)
