"""The command line of a series of games: options, progress and report of `manage.py play` and of the kit's own.

No Django and no other package.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

from bots.lines import encode
from games.arena import MAX_BOTS, MIN_BOTS, ArenaError, Game, Series, count_faults, load_bot, play_series
from games.comparison import compare
from games.engine import PRESETS, Rules

Watch = Callable[[Iterator[Game], int], Iterator[Game]]
"""Passes games on as they end, of so many, and shows how far they are."""


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


# argparse names the type in its message.
_positive.__name__ = "positive integer"


def add_arguments(parser: ArgumentParser) -> None:
    """Add what a series can be asked for."""
    parser.add_argument("bots", nargs="+", metavar="BOT", help="2 to 4 bots")
    add_rules(parser)
    parser.add_argument("--games", type=_positive, default=100, metavar="N", help="how many games (100)")
    parser.add_argument("--duplicate", action="store_true", help="play each deal from every seat of every bot")
    parser.add_argument("--seed", default=None, metavar="TEXT", help="deals the same cards again (random)")
    parser.add_argument("--jobs", type=_positive, default=None, metavar="J", help="processes (one for each core)")
    parser.add_argument("--records", type=Path, default=None, metavar="FILE", help="write the records as JSON lines")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def add_rules(parser: ArgumentParser) -> None:
    """Add what rules can be asked for."""
    parser.add_argument("--rules", default="classic", metavar="PRESET", help=f"one of {', '.join(PRESETS)}")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="options",
        metavar="OPTION=VALUE",
        help="override one option of the rules; VALUE is JSON or a bare word",
    )


def play(options: dict[str, Any], watch: Watch) -> str:
    """Play the series that the command line asks for and return its report, as it is to be printed.

    Raises:
        ArenaError, RulesError: something in it is to be put right.
        SandboxError: bots cannot be run here, or no longer.
    """
    series = read_series(options)
    with open_records(options["records"]) as records:
        report = play_reporting(series, options, records, watch)
    return json.dumps(report) if options["json"] else table(report, series.seed)


def play_reporting(series: Series, options: dict[str, Any], records: IO[bytes], watch: Watch) -> dict[str, Any]:
    """Play the series and return its report, the JSON object of the formats."""
    jobs = options["jobs"] or len(os.sched_getaffinity(0))
    games: list[Game] = []
    began = time.monotonic()
    with closing(play_series(series, jobs=jobs)) as playing:
        for game in watch(playing, series.games):
            records.write(encode(game.record))
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


def read_rules(options: dict[str, Any]) -> Rules:
    """Return the rules that the command line asks for. Raises ArenaError or RulesError."""
    return Rules.preset(options["rules"], **dict(map(read_option, options["options"])))


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
        rules=read_rules(options),
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
