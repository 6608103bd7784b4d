"""`python -m soureh`: check a bot, play series, verify records; no site, no sandbox, no other package."""

from __future__ import annotations

import os
import secrets
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Sequence

from bots.process import SandboxError
from games import playing
from games.arena import ArenaError, Game, house_names
from games.engine import InvalidRecord, RulesError
from games.engine.reading import verify_file

from .checking import GAMES, check

ABOUT = """Check and play Soureh bots at home.

There is no sandbox here: a bot runs as an ordinary program, with your files and
your network. Run your own bots, and those of people whom you trust."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for and return the exit status."""
    options = read_arguments(arguments)
    try:
        return int(options.do(options))
    except (ArenaError, RulesError, SandboxError) as error:
        print(f"error: {error}", file=sys.stderr)
        return playing.REFUSED
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return playing.INTERRUPTED


def read_arguments(arguments: Sequence[str] | None = None) -> Namespace:
    """Return what a command line asks for; ends the process, as argparse does, if it asks for nothing that there is."""
    return _parser().parse_args(arguments)


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python3 -m soureh", description=ABOUT, formatter_class=RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    bots = "a .py, a .zip with bot.py at its root, or " + ", ".join(f"house:{name}" for name in house_names())

    checking = commands.add_parser("check", help="would this bot be accepted, and pass its trial?")
    checking.add_argument("bot", metavar="BOT", help=bots)
    checking.add_argument("--games", type=playing.positive, default=GAMES, metavar="N", help=f"how many ({GAMES})")
    checking.add_argument("--seed", default=None, metavar="TEXT", help="deals the same cards again (random)")
    checking.add_argument("--only", type=playing.positive, default=None, metavar="N", help="play game N alone")
    checking.add_argument("--log", action="store_true", help="show the bot's whole log after each game")
    playing.add_rules(checking)
    checking.set_defaults(do=_check)

    series = commands.add_parser("play", help="play bots against each other", epilog=f"BOT: {bots}")
    playing.add_arguments(series)
    series.set_defaults(do=_play)

    verifying = commands.add_parser("verify", help="recompute match records and compare every figure in them")
    verifying.add_argument("files", nargs="+", metavar="FILE")
    verifying.set_defaults(do=_verify)
    return parser


def _check(options: Namespace) -> int:
    seed = secrets.token_hex(4) if options.seed is None else options.seed
    rules = playing.read_rules(vars(options))
    numbers = range(1, options.games + 1) if options.only is None else [options.only]
    would_pass = check(options.bot, rules, seed, numbers, is_logged=options.log, say=print)
    return 0 if would_pass else playing.FAILED


def _play(options: Namespace) -> int:
    outcome = playing.play(vars(options), _with_count)
    if outcome.trouble:
        print(outcome.trouble, file=sys.stderr)
    return playing.put(outcome, sys.stdout)


def _with_count(games: Iterator[Game], total: int, note: Callable[[], str]) -> Iterator[Game]:
    """Pass games on and show how many there have been; nothing unless stderr is a terminal."""
    is_shown = sys.stderr.isatty()
    for number, game in enumerate(games, 1):
        yield game
        if is_shown:
            # To the line's end nothing is left of what was longer.
            print(f"\r\033[K{number}/{total} games  {note()}", end="", file=sys.stderr, flush=True)
    if is_shown:
        print(file=sys.stderr)


def _verify(options: Namespace) -> int:
    for path in options.files:
        name = ascii(os.fspath(path))[1:-1]
        try:
            count = verify_file(path)
        except (InvalidRecord, OSError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return playing.FAILED
        print(f"{name}: ok, {count} record{'' if count == 1 else 's'}")
    return 0
