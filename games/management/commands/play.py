"""Play bots against each other in the real sandbox, with no database and no broker."""

import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from bots.process import SandboxError
from bots.sandbox import require
from games import playing
from games.arena import ArenaError, Game
from games.engine import RulesError

LOGGED_FROM = 2
"""The --verbosity from which on changes of state are logged."""


class Command(BaseCommand):
    help = "Play bots against each other in the sandbox. BOT is house:NAME, or a path to a .py or .zip file."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        playing.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verbosity"] < LOGGED_FROM:
            # A line for every fault of thousands of games would bury the report, which counts them.
            for room in ("bots", "games"):
                logging.getLogger(room).setLevel(logging.WARNING)
        try:
            require()
            outcome = playing.play(options, _with_bar)
            if outcome.trouble:
                self.stderr.write(outcome.trouble)
            status = playing.put(outcome, self.stdout)
        except (ArenaError, RulesError, SandboxError) as error:
            raise CommandError(str(error), returncode=playing.REFUSED) from error
        if status:
            sys.exit(status)


def _with_bar(games: Iterator[Game], total: int, note: Callable[[], str]) -> Iterator[Game]:
    """Pass games on and show how many there have been; nothing unless stderr is a terminal."""
    with tqdm(total=total, unit="game", disable=None) as bar:
        for game in games:
            try:
                yield game
            finally:
                bar.set_postfix_str(note(), refresh=False)
                bar.update()
