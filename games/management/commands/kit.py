"""Write the authors' download, the same file as the site gives."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from games.home.bundle import NAME, bundle


class Command(BaseCommand):
    help = "Write the kit for bot authors as a zip: kit, engine, house bots, guide and a local referee."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("out", nargs="?", type=Path, default=Path(NAME), metavar="OUT", help=f"the file ({NAME})")

    def handle(self, *args: Any, **options: Any) -> None:
        path, data = options["out"], bundle()
        try:
            path.write_bytes(data)
        except OSError as error:
            raise CommandError(f"expected a file to write the kit to: {path}: {error.strerror}") from error
        self.stdout.write(f"{path}: {len(data)} bytes")
