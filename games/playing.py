"""The command line of a series of games: options, progress and report of `manage.py play` and of the kit's own.

No Django and no other package.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import threading
import time
import unicodedata
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from io import TextIOBase
from pathlib import Path
from textwrap import TextWrapper
from typing import IO, Any, NamedTuple, TextIO

from bots.lines import encode
from bots.sandbox.errors import SandboxError
from games.arena import (
    MAX_BOTS,
    MIN_BOTS,
    ArenaError,
    Game,
    Series,
    count_faults,
    is_text,
    load_bot,
    play_series,
    shown,
)
from games.comparison import compare
from games.engine import PRESETS, Rules
from games.sequential import LEAST_LEVEL, LEVEL, MOST_LEVEL, Duel, Verdict, share_ahead, tell, tell_evidence

Watch = Callable[[Iterator[Game], int, Callable[[], str]], Iterator[Game]]
"""Passes games on as they end, of so many, and shows how far they are and what a duel says after each."""

DONE, FAILED, REFUSED, INTERRUPTED, UNREAD, TERMINATED = 0, 1, 2, 130, 141, 143
"""Exit statuses. REFUSED: a usage error, or no sandbox; from 128 on: 128 and the signal that would have ended it."""

MAX_JOBS = 256
WIDTH = 100


def positive(text: str) -> int:
    """Return a number from 1 on. ValueError: it is none."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


# argparse names the type in its message.
positive.__name__ = "positive integer"


def chance(text: str) -> float:
    """Return a level of Duel. ValueError: it is none."""
    number = float(text)
    if not LEAST_LEVEL <= number <= MOST_LEVEL:
        raise ValueError(text)
    return number


chance.__name__ = f"chance ({LEAST_LEVEL} to {MOST_LEVEL})"


def add_arguments(parser: ArgumentParser) -> None:
    """Add what a series can be asked for."""
    parser.add_argument("bots", nargs="+", metavar="BOT", help="2 to 4 bots")
    add_rules(parser)
    parser.add_argument("--games", type=positive, default=100, metavar="N", help="how many games (100)")
    parser.add_argument(
        "--duplicate",
        action="store_true",
        help="play each deal from every seat of every bot, and say whether one of the first two bots is better",
    )
    parser.add_argument(
        "--until-decided",
        action="store_true",
        help="stop as soon as one of the first two bots is known to be better, after --games at the latest (the "
        "evidence may be looked at after every set and a series stopped at any time: no claim is less sure for it)",
    )
    parser.add_argument(
        "--level",
        type=chance,
        default=None,
        metavar="P",
        help=f"the chance, at most, to name a better bot where there is none ({LEVEL})",
    )
    parser.add_argument("--seed", default=None, metavar="TEXT", help="deals the same cards again (random)")
    parser.add_argument("--jobs", type=positive, default=None, metavar="J", help="processes (one for each core)")
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


class Outcome(NamedTuple):
    """How a series ended: what is to be printed, if anything, what went wrong, if anything, and the exit status."""

    report: str
    trouble: str
    status: int


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a series just as an interrupt from the keyboard does."""


def play(options: dict[str, Any], watch: Watch) -> Outcome:
    """Play the series that the command line asks for.

    One that is cut short is reported as far as it came, though not as JSON: a program is to take no part for the whole.

    Raises:
        ArenaError, RulesError: something in it is to be put right.
    """
    series, duel = read_series(options), read_duel(options)
    with Records(options["records"]) as records:
        tally = Tally(series, duel)
        trouble, status = "", DONE
        began = time.monotonic()
        try:
            _play(tally, options, records, watch)
        except KeyboardInterrupt as error:
            trouble, status = "interrupted", TERMINATED if isinstance(error, Terminated) else INTERRUPTED
        except SandboxError as error:
            trouble, status = str(error), REFUSED
        except RecordsError as error:
            trouble, status = str(error), FAILED
        report = tally.report(time.monotonic() - began, options["records"])
    if status != DONE and (options["json"] or not tally.games):
        return Outcome("", trouble, status)
    return Outcome(json.dumps(report) if options["json"] else tell_report(report, tally), trouble, status)


def _play(tally: Tally, options: dict[str, Any], records: Records, watch: Watch) -> None:
    """Play until all is played, or decided where that is asked for."""
    jobs = options["jobs"] or len(os.sched_getaffinity(0))
    with terminable(), closing(play_series(tally.series, jobs=jobs)) as playing:
        for game in watch(playing, tally.series.games, tally.note):
            records.write(game.record)
            tally.add(game)
            if options["until_decided"] and tally.is_decided():
                return


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated upon SIGTERM in here; only the main thread can be told of signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def put(outcome: Outcome, out: TextIO | TextIOBase) -> int:
    """Print a report and return the exit status; that of a broken pipe if nobody reads on.

    Raises:
        ArenaError: it cannot be written.
    """
    try:
        if outcome.report:
            out.write(outcome.report + "\n")
        out.flush()
    except BrokenPipeError:
        _give_up(out)
        return outcome.status or UNREAD
    except OSError as error:
        _give_up(out)
        raise ArenaError(f"expected a place to write the report to: {error.strerror}") from error
    return outcome.status


def _give_up(out: TextIO | TextIOBase) -> None:
    """Let Python find nothing left to write when it ends; it would complain once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, out.fileno())
    os.close(nowhere)


@dataclass
class Tally:
    """The games of a series so far; with `duel`, what their sets say about its first two bots."""

    series: Series
    duel: Duel | None
    games: list[Game] = field(default_factory=list)

    def add(self, game: Game) -> None:
        """Count a game, the next in order."""
        self.games.append(game._replace(record={}))
        seats = len(self.series.bots)
        if self.duel is not None and len(self.games) % seats == 0:
            self.duel.add(share_ahead([each.score.places for each in self.games[-seats:]]))

    def is_decided(self) -> bool:
        """Tell whether one of the first two is known to be better."""
        return self.duel is not None and self.duel.better() is not None

    def names(self) -> tuple[str, str]:
        """Return what the first two are called where they are compared."""
        first, second, *_ = (bot.label for bot in self.series.bots)
        return (first, second) if first != second else (f"{first} (the first)", f"{second} (the second)")

    def note(self) -> str:
        """Return what the duel says so far, for a bar of progress."""
        if self.duel is None or not self.duel.shares:
            return ""
        first, second = self.duel.evidence()
        leader = self.names()[first < second] if first != second else "either"
        return f"evidence {tell_evidence(max(first, second))} to 1 for {Path(leader).name}"

    def report(self, seconds: float, records: Path | None) -> dict[str, Any]:
        """Return the JSON object of the formats; an empty one without a game."""
        if not self.games:
            return {}
        turns = sum(game.turns for game in self.games)
        labels = [bot.label for bot in self.series.bots]
        scores = [game.score for game in self.games]
        return {
            "games": len(self.games),
            "turns": turns,
            "seconds": round(seconds, 3),
            "turns_per_s": round(turns / seconds, 1),
            "bots": compare(labels, scores, count_faults(len(labels), self.games)),
            "records": None if records is None else str(records),
            "verdict": None if self.duel is None else self._verdict(self.duel.verdict()),
        }

    def _verdict(self, verdict: Verdict) -> dict[str, Any]:
        first, second, *_ = (bot.label for bot in self.series.bots)
        return {
            "first": first,
            "second": second,
            "better": None if verdict.better is None else ("first", "second")[verdict.better],
            "sets": verdict.sets,
            "share": None if verdict.share is None else round(verdict.share, 4),
            "share_interval": [round(verdict.low, 4), round(verdict.high, 4)],
            "level": verdict.level,
            "evidence": round(verdict.evidence, 3),
        }


class RecordsError(Exception):
    """The records cannot be written any more; the message says why."""


class Records:
    """The file of records: whole lines, each there as soon as its game is over."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.file: IO[bytes] | None = None
        self.size = 0

    def __enter__(self) -> Records:
        if self.path is not None:
            try:
                self.file = open(self.path, "wb", buffering=0)
            except OSError as error:
                raise ArenaError(
                    f"expected a file to write the records to: {shown(str(self.path))}: {error.strerror}"
                ) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()

    def write(self, record: dict[str, Any]) -> None:
        """Write a record. RecordsError: there is no room; the file ends with the last whole one."""
        if self.file is None:
            return
        line = encode(record)
        left = memoryview(line)
        try:
            while left:
                left = left[self.file.write(left) :]
        except OSError as error:
            # A pipe has no half line that could be taken back.
            with suppress(OSError):
                self.file.truncate(self.size)
            raise RecordsError(
                f"the records cannot be written any more: {shown(str(self.path))}: {error.strerror}"
            ) from error
        self.size += len(line)


def read_rules(options: dict[str, Any]) -> Rules:
    """Return the rules that the command line asks for. Raises ArenaError or RulesError."""
    return Rules.preset(options["rules"], **dict(map(read_option, options["options"])))


def read_series(options: dict[str, Any]) -> Series:
    """Return the series that the command line asks for.

    Raises:
        ArenaError, RulesError: something in it is to be put right.
    """
    specs, seed = options["bots"], options["seed"]
    if not MIN_BOTS <= len(specs) <= MAX_BOTS:
        raise ArenaError(f"expected {MIN_BOTS} to {MAX_BOTS} bots: {len(specs)}")
    if seed is not None and not is_text(seed):
        raise ArenaError(f"expected a seed in UTF-8: {shown(seed)}")
    if options["jobs"] is not None and options["jobs"] > MAX_JOBS:
        raise ArenaError(f"expected at most {MAX_JOBS} processes: {options['jobs']}")
    if any(_is_same_file(options["records"], spec) for spec in specs):
        raise ArenaError(f"expected a file that is no bot's to write the records to: {shown(str(options['records']))}")
    return Series(
        bots=[load_bot(spec) for spec in specs],
        rules=read_rules(options),
        games=options["games"],
        seed=secrets.token_hex(8) if seed is None else seed,
        duplicate=options["duplicate"],
    )


def _is_same_file(records: Path | None, spec: str) -> bool:
    try:
        return records is not None and records.samefile(spec)
    except (OSError, ValueError):
        return False


def read_duel(options: dict[str, Any]) -> Duel | None:
    """Return the question that the command line puts on its first two bots; only duplicate sets can answer it.

    Raises:
        ArenaError: something in it is to be put right.
    """
    is_asked = options["until_decided"] or options["level"] is not None
    if is_asked and not options["duplicate"]:
        raise ArenaError("expected --duplicate with --until-decided and --level: whole sets decide who is better")
    if options["until_decided"] and options["games"] < len(options["bots"]):
        raise ArenaError(f"expected at least one set, {len(options['bots'])} games: --games {options['games']}")
    return Duel(LEVEL if options["level"] is None else options["level"]) if options["duplicate"] else None


def read_option(text: str) -> tuple[str, Any]:
    """Return the name and the value of OPTION=VALUE, VALUE being JSON or else a bare word."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ArenaError(f"expected OPTION=VALUE: {shown(text)}")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def tell_report(report: dict[str, Any], tally: Tally) -> str:
    """Return the report for people."""
    # No name is parted at its hyphens.
    wrapper = TextWrapper(WIDTH, break_on_hyphens=False, break_long_words=False)
    lines = [table(report, tally.series.seed)]
    if tally.duel is not None:
        lines += ["", wrapper.fill(tell(tally.duel.verdict(), tally.names()))]
    return "\n".join(lines)


def table(report: dict[str, Any], seed: str) -> str:
    """Return the figures of a report: the strongest first, with what each may be off."""
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
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    figures = f"{report['turns']} turns in {report['seconds']:.1f} s ({report['turns_per_s']:.0f} a second)"
    games = f"{report['games']} game{'' if report['games'] == 1 else 's'}"
    return "\n".join([*lines, "", f"{games}, {figures}, seed {seed!r}"])


def _width(text: str) -> int:
    """Return how many columns a terminal gives a text: two to a wide character, none to an accent on another."""
    return sum(0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def _interval(ends: list[float | None], style: str) -> str:
    low, high = ends
    return "unknown" if low is None or high is None else f"{low:{style}} to {high:{style}}"
