"""Play series of games between bots in the real sandbox, on all cores; no Django, no database, no broker.

`manage.py play` is its command line. A series is a function of its bots, rules and seed text:
played again it deals the same cards.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from bots.process import Limits, SandboxError
from bots.uploads import UploadError, check_upload
from games.comparison import Score
from games.duplicates import rotated
from games.engine import Rules, record
from games.referee import Match

HOUSE = Path(__file__).parent / "house"
HOUSE_PREFIX = "house:"
ATTEMPTS = 3
"""How often a game is begun when the sandbox fails, before the series is given up."""

MIN_BOTS, MAX_BOTS = 2, 4
ENDING = (signal.SIGINT, signal.SIGTERM)


class ArenaError(Exception):
    """What the user is to put right; the message says what and how."""


class Bot(NamedTuple):
    """A bot that was checked: what it is called in the results, and its upload."""

    label: str
    data: bytes
    sha256: str


def house_names() -> list[str]:
    """Return the names of the house bots."""
    return sorted(path.stem for path in HOUSE.glob("*.py") if path.stem != "__init__")


def shown(text: str) -> str:
    """Return a text as it may be printed and sent: with an escape such as `\\x1b` for what would act, not be seen."""
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


def is_text(text: str) -> bool:
    """Tell whether what stood on the command line was UTF-8."""
    return not any("\ud800" <= char <= "\udfff" for char in text)


def load_bot(spec: str) -> Bot:
    """Return the bot that `house:NAME` or a path to a .py or .zip names.

    Raises:
        ArenaError: there is none, or it would be refused as an upload.
    """
    path = Path(spec)
    if spec.startswith(HOUSE_PREFIX):
        name = spec.removeprefix(HOUSE_PREFIX)
        if name not in house_names():
            raise ArenaError(
                f"expected one of {', '.join(HOUSE_PREFIX + known for known in house_names())}: {shown(spec)}"
            )
        path = HOUSE / f"{name}.py"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ArenaError(f"expected house:NAME or a path to a .py or .zip: {shown(spec)}: {error.strerror}") from error
    try:
        upload = check_upload(path.name, data)
    except UploadError as error:
        raise ArenaError(f"{shown(spec)}: {_place(error)}{error}") from error
    return Bot(shown(spec), data, upload.sha256)


def _place(error: UploadError) -> str:
    place = [f"{name} {at}" for name, at in (("line", error.line), ("column", error.column)) if at is not None]
    # A message that names its place already is left as it is.
    return "" if not place or place[0] in str(error) else ", ".join(place) + ": "


class Fixture(NamedTuple):
    """One game to be played: `bots` are the indices of the bots in order of entry."""

    number: int
    set_no: int
    bots: tuple[int, ...]
    job: dict[str, Any]


@dataclass(frozen=True)
class Series:
    """A series of games: the bots, the rules and the seed text say all about it.

    With `duplicate` each deal is played once from every seat of every bot; a last set that
    `games` cuts short is played as far as it goes.
    """

    bots: Sequence[Bot]
    rules: Rules
    games: int
    seed: str
    duplicate: bool = False
    limits: Limits = field(default_factory=Limits)

    def fixtures(self) -> Iterator[Fixture]:
        """Yield the games in order."""
        for index in range(self.games):
            yield self._rotated(index) if self.duplicate else self._drawn(index)

    def _drawn(self, index: int) -> Fixture:
        number = index + 1
        return self._fixture(number, number, tuple(range(len(self.bots))), "draw")

    def _rotated(self, index: int) -> Fixture:
        set_index, rotation = divmod(index, len(self.bots))
        at_seat = tuple(rotated(range(len(self.bots)), rotation))
        return self._fixture(index + 1, set_index + 1, at_seat, "fixed")

    def _fixture(self, number: int, deal: int, bots: tuple[int, ...], seating: str) -> Fixture:
        server_seed = hashlib.sha256(f"{self.seed}:{deal}".encode()).hexdigest()
        job = {
            "match": hashlib.sha256(f"{self.seed}:{deal}:{number}".encode()).hexdigest()[:16],
            "attempt": 1,
            "rules": self.rules.to_json(),
            "server_seed": server_seed,
            "player_seeds": [""] * len(bots),
            "seating": seating,
            "entrants": [
                {"name": self.bots[bot].label, "kind": "bot", "sha256": self.bots[bot].sha256} for bot in bots
            ],
            "limits": self.limits.to_json(),
            "moves": [],
            "faults": [],
        }
        return Fixture(number, deal, bots, job)


class Game(NamedTuple):
    """A game that was played: its score and faults by bot, and its record."""

    number: int
    turns: int
    score: Score
    faults: list[tuple[int, str]]
    record: dict[str, Any]


def play_fixture(fixture: Fixture, sources: Mapping[str, bytes]) -> Game:
    """Play one game; begin again, from the same seed, when the sandbox fails.

    Raises:
        SandboxError: it failed at every attempt.
    """
    for attempt in itertools.count(1):
        try:
            with Match(fixture.job, sources) as match:
                match.play()
            return _played(fixture, match)
        except SandboxError:
            if attempt == ATTEMPTS:
                raise
    raise AssertionError("the attempts are counted above")


def _played(fixture: Fixture, match: Match) -> Game:
    result = match.game.result
    assert result is not None
    bot_at = [fixture.bots[entrant] for entrant in match.seating.order]
    seat_of = [bot_at.index(bot) for bot in range(len(bot_at))]
    document = record.build(
        match.game,
        id=fixture.job["match"],
        played=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        seats=match.entrants,
        seating=match.seating,
        ms=match.played.ms,
    )
    score = Score(fixture.set_no, [result.totals[seat] for seat in seat_of], [result.places[seat] for seat in seat_of])
    faults = [(bot_at[fault["seat"]], fault["kind"]) for fault in match.played.faults]
    return Game(fixture.number, match.game.decisions_made, score, faults, document)


def play_series(series: Series, *, jobs: int) -> Generator[Game, None, None]:
    """Play a series on `jobs` processes, each pinned to a core, and yield the games in order.

    Closing the iterator stops the processes and their bots.

    Raises:
        SandboxError: bots cannot be run here, or no longer.
    """
    sources = {bot.sha256: bot.data for bot in series.bots}
    waiting: dict[int, Game] = {}
    due = 1
    for game in _play_all(series.fixtures(), sources, min(jobs, series.games)):
        waiting[game.number] = game
        while due in waiting:
            yield waiting.pop(due)
            due += 1


def _play_all(fixtures: Iterator[Fixture], sources: Mapping[str, bytes], jobs: int) -> Generator[Game, None, None]:
    """Yield the games as they end."""
    workers: list[Worker] = []
    try:
        for number in range(jobs):
            workers.append(_start_worker(number, sources))
        busy = [worker for worker in workers if worker.send(next(fixtures, None))]
        while busy:
            ready = wait([worker.connection for worker in busy])
            for worker in [worker for worker in busy if worker.connection in ready]:
                yield worker.receive()
                if not worker.send(next(fixtures, None)):
                    busy.remove(worker)
    finally:
        for worker in workers:
            worker.end()


class Worker(NamedTuple):
    """A process that plays what it is sent, one game at a time."""

    connection: Connection
    process: BaseProcess

    def send(self, fixture: Fixture | None) -> bool:
        """Give it a game to play; False if there is none."""
        if fixture is None:
            return False
        # If it has ended meanwhile, `receive` says so.
        with suppress(ConnectionError):
            self.connection.send(fixture)
        return True

    def receive(self) -> Game:
        """Return the game that it has played. Raises SandboxError."""
        try:
            result: Game | str = self.connection.recv()
        except (EOFError, ConnectionError) as error:
            self.process.join()
            raise SandboxError(f"a process of the series ended with status {self.process.exitcode}") from error
        if isinstance(result, str):
            raise SandboxError(result)
        return result

    def end(self) -> None:
        self.process.terminate()
        self.process.join()
        self.connection.close()


def _start_worker(number: int, sources: Mapping[str, bytes]) -> Worker:
    # A fork finds the sandbox probed already.
    context = get_context("fork")
    ours, theirs = context.Pipe()
    cores = sorted(os.sched_getaffinity(0))
    process = context.Process(
        target=_work, args=(theirs, ours, sources, cores[number % len(cores)]), name=f"play-{number}", daemon=True
    )
    # Until it has left our process group and knows what to do with them, signals are not for the new one.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    return Worker(ours, process)


def _work(connection: Connection, parents: Connection, sources: Mapping[str, bytes], core: int) -> None:
    """Play what comes through the connection until it ends. The process's target."""
    # An interrupt from the keyboard is the parent's business, which then ends its workers: it must
    # reach neither them nor a sandbox that is just being set up.
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    # Ours would keep the connection alive after the parent's death.
    parents.close()
    # A referee and its bots alternate strictly: on one core that is four times faster.
    os.sched_setaffinity(0, {core})
    # Whoever started the series may die without a word.
    with suppress(EOFError, ConnectionError):
        while True:
            connection.send(_try_fixture(connection.recv(), sources))


def _try_fixture(fixture: Fixture, sources: Mapping[str, bytes]) -> Game | str:
    """Return the game, or why it could not be played."""
    try:
        return play_fixture(fixture, sources)
    except SandboxError as error:
        return str(error)


def count_faults(bots: int, games: Sequence[Game]) -> list[Counter[str]]:
    """Return the faults of each bot, counted by kind."""
    counts: list[Counter[str]] = [Counter() for _ in range(bots)]
    for game in games:
        for bot, kind in game.faults:
            counts[bot][kind] += 1
    return counts
