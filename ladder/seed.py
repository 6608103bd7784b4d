"""Make the demo ladders and enter the house bots; safe to repeat, and never undoes an operator's change."""

import logging

from django.conf import settings
from django.utils.translation import gettext_noop

from bots.models import Bot
from games.engine import Rules
from ladder.models import Entry, Ladder

logger = logging.getLogger(__name__)

LADDERS = (
    (
        "classic-for-two",
        gettext_noop("Classic for two"),
        2,
        gettext_noop("Two at a table, the classic rules, first past 250 ends the game."),
    ),
    (
        "classic-for-four",
        gettext_noop("Classic for four"),
        4,
        gettext_noop("A full table of four, the classic rules, first past 250 ends the game."),
    ),
)


FULL_TABLES_ONLY = ("sage",)
"""House bots that think for seconds of CPU a match: one of the ladders is enough to meet them on."""

ANCHOR = "careful"
"""The house bot that fits hold where every rating begins: it never changes, so that the scale does not drift."""


def seed_ladders() -> None:
    """Create the demo ladders that are missing and enter the house bots that are in none of their entries."""
    rules = Rules.preset("classic").to_json()
    for slug, name, seats, about in LADDERS:
        ladder, is_new = Ladder.objects.get_or_create(
            slug=slug,
            defaults={
                "name": name,
                "about": about,
                "rules": rules,
                "seats": seats,
                "round_s": settings.ROUND_S,
                "unit": Ladder.Unit.SET,
            },
        )
        _enter_house_bots(ladder)
        if is_new:
            logger.info("seeded ladder=%s", slug)


def _enter_house_bots(ladder: Ladder) -> None:
    # Where people play too, their entries have no bot, and nothing is outside of a list with a NULL in it.
    entered = ladder.entries.filter(bot__isnull=False)
    missing = Bot.objects.filter(owner=None).exclude(pk__in=entered.values("bot"))
    if ladder.seats < 4:
        missing = missing.exclude(name__in=FULL_TABLES_ONLY)
    Entry.objects.bulk_create(
        Entry(
            ladder=ladder,
            bot=bot,
            seed_rating=ladder.initial_rating,
            rating=ladder.initial_rating,
            anchor=ladder.initial_rating if bot.name == ANCHOR else None,
        )
        for bot in missing
    )
