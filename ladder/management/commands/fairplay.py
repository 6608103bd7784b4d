"""`manage.py fairplay LADDER`: look for what is odd in a ladder now, and print it."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from ladder import fairplay
from ladder.management.ladders import find_ladder


class Command(BaseCommand):
    help = "Looks for what is odd in a ladder, as the site does once a day, and prints what is still to be decided."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ladder", metavar="LADDER", help="the ladder's slug, or its name")

    def handle(self, *args: Any, ladder: str, **options: Any) -> None:
        flags = fairplay.review(find_ladder(ladder))
        for flag in flags:
            self.stdout.write(f"{flag.get_kind_display()}: {fairplay.sentence(flag)}")
        self.stdout.write(f"{len(flags)} to be decided; nobody was punished")
