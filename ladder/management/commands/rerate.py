"""`manage.py rerate LADDER [--check]`: replay a ladder's log of ratings."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ladder.management.ladders import find_ladder
from ladder.replay import rerate


class Command(BaseCommand):
    help = "Replays a ladder's log and sets every rating to what it gives; with --check only says whether it holds."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ladder", metavar="LADDER", help="the ladder's slug, or its name")
        parser.add_argument("--check", action="store_true", help="write nothing; exit 1 at the first difference")

    def handle(self, *args: Any, ladder: str, check: bool, **options: Any) -> None:
        found = rerate(find_ladder(ladder), check=check)
        if check and found.first:
            raise CommandError(str(found.first[0]), returncode=1)
        for difference in found.first:
            self.stdout.write(f"corrected {difference}")
        if (more := found.differences - len(found.first)) > 0:
            self.stdout.write(f"and {more} more")
        self.stdout.write(
            f"{ladder}: " + (f"{found.differences} corrected" if found.differences else "every figure holds")
        )
