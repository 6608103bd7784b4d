"""`manage.py verify FILE…`: recompute match records and say whether they hold."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from games.engine import InvalidRecord
from games.engine.reading import verify_file


class Command(BaseCommand):
    """Verifies files without database or broker; exits 1 at the first that does not hold."""

    help = "Recompute match records (a record, or JSON lines of records) and compare every figure in them."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the files."""
        parser.add_argument("files", nargs="+", metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print one line for each file."""
        for path in options["files"]:
            name = ascii(path)[1:-1]
            try:
                with _bar(path) as bar:
                    count = verify_file(path, partial(_advance, bar))
            except InvalidRecord as error:
                raise CommandError(f"{name}: {error}") from error
            except OSError as error:
                raise CommandError(f"{name}: expected a readable file: {error.strerror}") from error
            self.stdout.write(f"{name}: ok, {count} record{'' if count == 1 else 's'}")


def _advance(bar: tqdm[NoReturn], done: int) -> None:
    bar.update(done - bar.n)


def _bar(path: str) -> tqdm[NoReturn]:
    """Return a progress bar over the bytes of a file, on standard error and only if that is a terminal."""
    return tqdm(total=os.path.getsize(path), unit="B", unit_scale=True, desc="verifying", disable=None, leave=False)
