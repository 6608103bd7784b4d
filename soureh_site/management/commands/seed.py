"""`manage.py seed`: the ladders and house bots that the site cannot do without. Safe to repeat."""

from typing import Any

from django.core.management import BaseCommand

from games.seed import seed_house_bots
from ladder.seed import seed_ladders


class Command(BaseCommand):
    """Make what is missing; a house bot whose file has changed gets a new version."""

    help = "Make the house bots and ladders that are missing."

    def handle(self, **_: Any) -> None:
        """Seed bots, then the ladders that they enter."""
        seed_house_bots()
        seed_ladders()
