"""Make the demo ladders and enter the house bots; safe to repeat, and never undoes an operator's change."""

import logging

from django.conf import settings
from django.utils.translation import gettext_noop

from ladder.forms import FEW_HANDS
from ladder.models import Ladder
from ladder.registration import enter_house_bots, missing_house_bots, why_no_house_bots

logger = logging.getLogger(__name__)

LADDERS = (
    (
        "classic-for-two",
        gettext_noop("Classic for two"),
        2,
        gettext_noop("Two at a table, the classic rules, four hands a match; each deal is played from both seats."),
    ),
    (
        "classic-for-four",
        gettext_noop("Classic for four"),
        4,
        gettext_noop(
            "A full table of four, the classic rules, four hands a match; each deal is played from every seat."
        ),
    ),
)


def seed_ladders() -> None:
    """Create the demo ladders that are missing and enter the house bots that are in none of their entries."""
    for slug, name, seats, about in LADDERS:
        ladder, is_new = Ladder.objects.get_or_create(
            slug=slug,
            defaults={
                "name": name,
                "about": about,
                "rules": FEW_HANDS.to_json(),
                "seats": seats,
                "round_s": settings.ROUND_S,
                "unit": Ladder.Unit.SET,
            },
        )
        if not why_no_house_bots(ladder) and missing_house_bots(ladder).exists():
            enter_house_bots(ladder)
        if is_new:
            logger.info("seeded ladder=%s", slug)
