"""`manage.py fit LADDER`: fit a ladder's strengths to its ledger now."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from ladder.fits import fit_ladder
from ladder.management.ladders import find_ladder


class Command(BaseCommand):
    help = "Fits a ladder's strengths to its ledger; the site does so by itself soon after every result."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ladder", metavar="LADDER", help="the ladder's slug, or its name")

    def handle(self, *args: Any, ladder: str, **options: Any) -> None:
        found = find_ladder(ladder)
        made = fit_ladder(found.pk)
        if made is None:
            self.stdout.write(f"{found.slug}: nothing to fit")
            return
        facts = made.facts
        self.stdout.write(
            f"{found.slug}: {made.number} pairings, {facts['nodes']} nodes, {facts['iterations']} iterations, "
            f"{made.elapsed_ms} ms"
        )
