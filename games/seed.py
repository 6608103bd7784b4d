"""Put the house bots in: bots without an owner, whose versions are the files in `games/house/`."""

import hashlib
import logging
from pathlib import Path

from django.db import transaction
from django.utils.text import slugify
from django.utils.translation import gettext_noop

from bots.models import Bot, BotVersion, Source
from bots.names import name_key

logger = logging.getLogger(__name__)

HOUSE = Path(__file__).parent / "house"
ABOUT = {
    "random": gettext_noop("Plays any legal move. Everybody should beat it."),
    "careful": gettext_noop("Completes its own coops and minds its own business."),
    "spoiler": gettext_noop(
        "Completes its coops, breaks those of the most dangerous opponent, and knows when losing pays."
    ),
    "counter": gettext_noop("Counts the cards it has seen and plays by expected value."),
    "sage": gettext_noop("Deals what it cannot see at random, plays the hand out in its head, and does what did best."),
}


def seed_house_bots() -> list[Bot]:
    """Make the house bots that are missing, and a new version of each whose file has changed; safe to repeat."""
    return [_seed(name, (HOUSE / f"{name}.py").read_bytes()) for name in ABOUT]


def _seed(name: str, data: bytes) -> Bot:
    sha256 = hashlib.sha256(data).hexdigest()
    with transaction.atomic():
        facts = {"name_key": name_key(name), "slug": slugify(name), "about": ABOUT[name]}
        bot, _is_new = Bot.objects.get_or_create(name=name, owner=None, defaults=facts)
        newest = bot.versions.order_by("-number").first()
        if newest is not None and newest.source_id == sha256:
            return bot
        source, _is_new = Source.objects.get_or_create(sha256=sha256, defaults={"data": data})
        version = bot.versions.create(
            number=newest.number + 1 if newest else 1,
            source=source,
            file_name=f"{name}.py",
            size=len(data),
            state=BotVersion.State.READY,
        )
    logger.info("house bot seeded bot=%s version=%s", name, version.number)
    return bot
