"""Play bots against each other in the real sandbox, with no database and no broker."""

import json
import logging
import os
import secrets
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import msgspec
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from bots.process import SandboxError
from bots.sandbox import require
from games.arena import MAX_BOTS, MIN_BOTS, ArenaError, Game, Series, count_faults, load_bot, play_series
from games.comparison import compare
from games.engine import PRESETS, Rules, RulesError

USAGE_ERROR = 2
INTERRUPTED = 130
LOGGED_FROM = 2
"""The --verbosity from which on changes of state are logged."""


class Command(BaseCommand):
    help = "Play bots against each other in the sandbox. BOT is house:NAME, or a path to a .py or .zip file."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("bots", nargs="+", metavar="BOT", help="2 to 4 bots")
        parser.add_argument("--rules", default="classic", metavar="PRESET", help=f"one of {', '.join(PRESETS)}")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            dest="options",
            metavar="OPTION=VALUE",
            help="override one option of the rules; VALUE is JSON or a bare word",
        )
        parser.add_argument("--games", type=_positive, default=100, metavar="N", help="how many games (100)")
        parser.add_argument("--duplicate", action="store_true", help="play each deal from every seat of every bot")
        parser.add_argument("--seed", default=None, metavar="TEXT", help="deals the same cards again (random)")
        parser.add_argument("--jobs", type=_positive, default=None, metavar="J", help="processes (one for each core)")
        parser.add_argument(
            "--records", type=Path, default=None, metavar="FILE", help="write the records as JSON lines"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verbosity"] < LOGGED_FROM:
            # A line for every fault of thousands of games would bury the report, which counts them.
            for room in ("bots", "games"):
                logging.getLogger(room).setLevel(logging.WARNING)
        try:
            series = read_series(options)
            require()
            with open_records(options["records"]) as records:
                report = self.play(series, options, records)
        except (ArenaError, RulesError, SandboxError) as error:
            raise CommandError(str(error), returncode=USAGE_ERROR) from error
        except KeyboardInterrupt:
            self.stderr.write("interrupted")
            sys.exit(INTERRUPTED)
        self.stdout.write(json.dumps(report) if options["json"] else table(report, series.seed))

    def play(self, series: Series, options: dict[str, Any], records: IO[bytes]) -> dict[str, Any]:
        """Play the series and return its report, the JSON object of the formats."""
        jobs = options["jobs"] or len(os.sched_getaffinity(0))
        games: list[Game] = []
        began = time.monotonic()
        # `disable=None`: no bar unless stderr is a terminal.
        with closing(play_series(series, jobs=jobs)) as playing:
            for game in tqdm(playing, total=series.games, unit="game", disable=None):
                records.write(msgspec.json.encode(game.record) + b"\n")
                games.append(game._replace(record={}))
        seconds = time.monotonic() - began
        turns = sum(game.turns for game in games)
        labels = [bot.label for bot in series.bots]
        return {
            "games": len(games),
            "turns": turns,
            "seconds": round(seconds, 3),
            "turns_per_s": round(turns / seconds, 1),
            "bots": compare(labels, [game.score for game in games], count_faults(len(labels), games)),
            "records": None if options["records"] is None else str(options["records"]),
        }


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


# argparse names the type in its message.
_positive.__name__ = "positive integer"


def read_series(options: dict[str, Any]) -> Series:
    """Return the series that the command line asks for.

    Raises:
        ArenaError, RulesError: something in it is to be put right.
    """
    specs = options["bots"]
    if not MIN_BOTS <= len(specs) <= MAX_BOTS:
        raise ArenaError(f"expected {MIN_BOTS} to {MAX_BOTS} bots: {len(specs)}")
    return Series(
        bots=[load_bot(spec) for spec in specs],
        rules=Rules.preset(options["rules"], **dict(map(read_option, options["options"]))),
        games=options["games"],
        seed=secrets.token_hex(8) if options["seed"] is None else options["seed"],
        duplicate=options["duplicate"],
    )


def read_option(text: str) -> tuple[str, Any]:
    """Return the name and the value of OPTION=VALUE, VALUE being JSON or else a bare word."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArenaError(f"expected OPTION=VALUE: {text}")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def open_records(path: Path | None) -> IO[bytes]:
    try:
        return open(path or os.devnull, "wb")
    except OSError as error:
        raise ArenaError(f"expected a file to write the records to: {path}: {error.strerror}") from error


def table(report: dict[str, Any], seed: str) -> str:
    """Return the report for people: the strongest first, with what each figure may be off."""
    rows = [("", "bot", "Elo", "95 %", "points", "95 %", "places", "faults")]
    ranked = sorted(report["bots"], key=lambda row: -row["elo"])
    for place, row in enumerate(ranked, 1):
        faults = ", ".join(f"{kind} {count}" for kind, count in row["faults"].items() if count)
        rows.append(
            (
                f"{place}",
                row["bot"],
                f"{row['elo']:+.0f}",
                _interval(row["interval"], "+.0f"),
                f"{row['mean_points']:.1f}",
                _interval(row["mean_points_interval"], ".1f"),
                " ".join(map(str, row["places"])),
                faults or "none",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    figures = f"{report['turns']} turns in {report['seconds']:.1f} s ({report['turns_per_s']:.0f} a second)"
    return "\n".join([*lines, "", f"{report['games']} games, {figures}, seed {seed!r}"])


def _interval(ends: list[float | None], style: str) -> str:
    low, high = ends
    return "unknown" if low is None or high is None else f"{low:{style}} to {high:{style}}"
