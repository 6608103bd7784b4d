"""Play one match: the engine on one side of the table, people and sandboxed bots on the other.

A bots' match is played from its first decision to its end; at a table with people the referee
plays on until one of them must decide. What a bot does wrong becomes a fault of its seat, and
the others play on; what goes wrong on our side is a `SandboxError`, is nobody's fault, and means
that the match is to be played again from its seed. No Django, no database, no network here.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from bots.process import BotFault, BotProcess, Limits, SandboxError
from bots.sandbox.runtime import bytecode
from bots.uploads import unpack
from games.engine import Decision, Feed, Game, Rules, Seating, draw_seats, fixed_seats, replay

KIT = Path(__file__).parent / "kit" / "soureh_bot.py"
SAME = ("match", "rules", "server_seed", "player_seeds", "seating", "entrants", "limits")
"""What the jobs of one match have in common."""
SHOWN_CHARS = 200
"""How much of an offending answer its owner is shown."""
GOODBYE_S = 0.1
"""How long the bots of a game that is over may take, all together, to read of it and to log what they like."""

log = logging.getLogger(__name__)

Job = Mapping[str, Any]
Progress = Callable[[int], None]


class Player(Protocol):
    """One whom the referee asks for a move or tells the news, either of which may raise BotFault.

    `cpu_us` is what his last decision took, `pending_us()` what he has taken since, in microseconds of CPU.
    """

    seat: int

    @property
    def cpu_us(self) -> int: ...

    def pending_us(self) -> int: ...

    def decide(self, game: Game) -> str: ...

    def inform(self, game: Game) -> None: ...

    def close(self) -> None: ...


@dataclass
class Played:
    """What `advance` did: the decisions in order, their wall-clock milliseconds and bots' CPU microseconds, the faults.

    `cpu_us` is None for a decision that no bot took: a person's, or the engine's for a faulted seat.
    """

    moves: list[str] = field(default_factory=list)
    ms: list[int] = field(default_factory=list)
    cpu_us: list[int | None] = field(default_factory=list)
    faults: list[dict[str, Any]] = field(default_factory=list)


def open_seating(job: Job) -> Seating:
    """Return who sits where: drawn from the seed, or as the entrants stand."""
    if job["seating"] == "draw":
        return draw_seats(bytes.fromhex(job["server_seed"]), tuple(job["player_seeds"]))
    return fixed_seats(len(job["entrants"]))


def open_game(job: Job) -> Game:
    """Return the game of a job, its decisions and faults so far replayed.

    Raises:
        RulesError, IllegalMove, InvalidRecord: the job is not the fold of a real game.
    """
    return replay(
        Rules.from_json(job["rules"]),
        len(job["entrants"]),
        bytes.fromhex(job["server_seed"]),
        tuple(job["player_seeds"]),
        job.get("moves", []),
        job.get("faults", []),
    )


def play_match(job: Job, sources: Mapping[str, bytes], *, on_progress: Progress | None = None) -> dict[str, Any]:
    """Play a match to its end, or until a person must decide, and return its outcome (JSON-able).

    `sources` maps each bot's sha256 to what was uploaded. `on_progress` is called with the number
    of decisions made so far, after each. In the outcome `moves`, `ms`, `cpu_us` and `faults` are
    those of this call, after the job's own; `logs` are by seat, `starts` too: the decision that was
    pending when this call started the seat's bot, 0 if it did not; `order` is the entrant of each seat.

    Raises:
        SandboxError: our failure; nothing of the match counts.
    """
    with Match(job, sources) as match:
        match.play(on_progress=on_progress)
    return match.outcome()


def advance(
    game: Game, players: Sequence[Player | None], *, played: Played | None = None, on_progress: Progress | None = None
) -> Played:
    """Play on until a person must decide (`players[seat]` is None) or the game is over.

    The engine plays for faulted seats; every other player is asked for its own decisions, and told
    of the rest when a hand is over. Returns what was done, in `played` if that is given.
    """
    played = Played() if played is None else played
    hand = game.decision.hand if game.decision else None
    while (decision := game.decision) is not None:
        if decision.hand != hand:
            hand = decision.hand
            _inform_others(game, players, played)
            continue
        started = time.monotonic()
        move, cpu_us = game.autopilot(), None
        if move is None:
            player = players[decision.seat]
            if player is None:
                return played
            move = _ask(game, player, played)
            cpu_us = player.cpu_us
        if move is None:
            continue
        game.play(move)
        played.moves.append(move)
        played.ms.append(_ms_since(started))
        played.cpu_us.append(cpu_us)
        if on_progress is not None:
            on_progress(game.decisions_made)
    return played


def _ms_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


def _ask(game: Game, player: Player, played: Played) -> str | None:
    """Return the player's move, or None after a fault of his."""
    started = time.monotonic()
    try:
        return player.decide(game)
    except BotFault as fault:
        _put_out(game, player, fault, played, ms=_ms_since(started))
        return None


def _inform_others(game: Game, players: Sequence[Player | None], played: Played) -> None:
    """Tell everybody but the one to move what has happened.

    Once a hand, so that those who wait long (an eliminated seat) never face a full pipe.
    """
    for player in players:
        if player is None or game.decision is None or player.seat == game.decision.seat:
            continue
        try:
            player.inform(game)
        except BotFault as fault:
            _put_out(game, player, fault, played)


def _put_out(
    game: Game, player: Player, fault: BotFault, played: Played, *, ms: int = 0, at_start: bool = False
) -> None:
    """Stop a bot for its fault: from here on the engine plays its seat, and the game goes on.

    `ms` is for how long it was waited for, by the clock on the wall.
    """
    cpu_us = player.pending_us()
    player.close()
    if player.seat in game.eliminated:
        # It has lost already, and a fault can only be one of a seat that still plays.
        return
    place = Decision(0, player.seat, "turn", 1) if at_start else game.decision
    if place is None:
        return
    log.info("match fault seat=%d kind=%s hand=%d turn=%d", player.seat, fault.kind, place.hand, place.id)
    played.faults.append(
        {
            "seat": player.seat,
            "kind": fault.kind,
            "hand": place.hand,
            "turn": place.id,
            "detail": fault.reason,
            "private": fault.detail,
            "ms": ms,
            "cpu_us": cpu_us,
        }
    )
    game.fault(player.seat, fault.kind, reason=fault.reason, at_start=at_start)


class BotPlayer:
    """A bot at a seat: its process and what it has been told.

    Started by `start`, or when it is first asked: in the middle of a game it is then told that it
    is resumed, and given the hand so far.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        *,
        seat: int,
        match: str,
        names: Sequence[str],
        limits: Limits,
        deadline: float,
        share_s: float,
    ) -> None:
        self.seat = seat
        self._match = match
        self._names = names
        self._limits = limits
        self._process = BotProcess(files, limits=limits, deadline=deadline, share_s=share_s)
        self._greeting: Feed | None = None
        self._feed: Feed | None = None
        self.started_at = 0
        """The decision that was pending when the bot was started; 0 while it has not been."""

    @property
    def cpu_us(self) -> int:
        """The CPU that its last decision took, in microseconds."""
        return self._process.answer_us

    def pending_us(self) -> int:
        """Return the CPU that it has taken since its last decision, in microseconds."""
        return self._process.pending_us()

    @property
    def stderr(self) -> str:
        """What the bot wrote to its log."""
        return self._process.stderr

    @property
    def is_alive(self) -> bool:
        """Whether it has been started and not yet stopped."""
        return self._feed is not None

    def prepare(self) -> None:
        """Let the process come up, beside others, until `greet`."""
        self._process.prepare()

    def greet(self, game: Game) -> None:
        """Start the process, if it was not prepared, and greet it: its `ready` is still to be awaited."""
        self.started_at = game.decisions_made + 1
        feed = Feed(self.seat)
        is_resumed = game.decisions_made > 0
        limits = self._limits.to_json()
        self._process.greet(feed.hello(game, match=self._match, names=self._names, limits=limits, resumed=is_resumed))
        self._greeting = feed

    def await_ready(self, game: Game) -> Feed:
        """Await the `ready` of a bot that was greeted; return its feed. Raises BotFault."""
        self._process.await_ready()
        assert self._greeting is not None
        feed, self._greeting = self._greeting, None
        if game.decisions_made > 0:
            self._process.tell(feed.resume(game))
        self._feed = feed
        return feed

    def start(self, game: Game) -> Feed:
        """Start the process and await its `ready`; return its feed. Raises BotFault."""
        self.greet(game)
        return self.await_ready(game)

    def park(self) -> None:
        """Stop the process where it stands until `unpark`."""
        self._process.park()

    def unpark(self) -> None:
        """Let it go on; what it did before is no part of the next outcome."""
        self.started_at = 0
        self._process.unpark()

    def decide(self, game: Game) -> str:
        """Return the bot's move at the pending decision, which is its own; one of the legal ones. Raises BotFault."""
        feed = self._feed or self.start(game)
        *news, turn = feed.messages(game)
        for message in news:
            self._process.tell(message)
        turn["bank_s"] = round(self._process.bank_s, 3)
        answer = self._process.ask(turn, id=turn["id"])
        move = answer.get("move")
        if not isinstance(move, str) or move not in turn["legal"]:
            raise BotFault("illegal", "not one of the legal moves", _offending(answer))
        return move

    def inform(self, game: Game) -> None:
        """Tell the bot what has happened, if it runs. Raises BotFault."""
        if self._feed is not None:
            for message in self._feed.messages(game):
                self._process.tell(message)
            # Who has lost is asked no more, and could slow the others down for the rest of the game.
            if self.seat in game.eliminated and game.decision is not None:
                self._process.require_within_clocks()

    def say_goodbye(self, game: Game) -> None:
        """Tell the bot how the game ended, if it runs."""
        if self._feed is not None:
            self.inform(game)
            self._process.tell({"type": "bye"})

    def dismiss(self, until: float) -> None:
        """Let the bot take in what it was told and log it, until `until` (monotonic), and stop it."""
        # The game is over: a bot that ends badly now has harmed nobody.
        with suppress(BotFault):
            self._process.let_end(until)
        self.close()

    def close(self) -> None:
        """Stop the process; may be called twice."""
        self._process.close()
        self._feed = None


class Match:
    """One attempt at a match: the game of a job, and its bots at their seats.

    A context manager: on leaving it no bot is left running.
    """

    def __init__(self, job: Job, sources: Mapping[str, bytes]) -> None:
        self.job = job
        self.game = open_game(job)
        self.seating = open_seating(job)
        self.entrants = [job["entrants"][entrant] for entrant in self.seating.order]
        self.played = Played()
        self._limits = Limits.from_json(job["limits"])
        self._deadline = time.monotonic() + self._limits.match_wall_s
        bots = sum(entrant["kind"] == "bot" for entrant in self.entrants)
        self._share_s = self._limits.match_wall_s / max(1, bots)
        self.players = [self._player(seat, sources) for seat in range(len(self.entrants))]

    def __enter__(self) -> Match:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop every bot; may be called twice."""
        for player in self._bots():
            player.close()

    def park(self) -> None:
        """Stop every bot where it stands, until `go_on`."""
        for player in self._bots():
            player.park()

    def go_on(self, job: Job) -> bool:
        """Take up a later job of the same match, with what happened since; False if its history is another one.

        The bots keep their memory, their clocks and their bank; the next outcome is of this job alone.
        """
        if any(job[key] != self.job[key] for key in SAME):
            return False
        moves, faults = [*self.job.get("moves", []), *self.played.moves], self.game.faults
        game = open_game(job)
        since = game.faults[len(faults) :]
        if job["moves"][: len(moves)] != moves or game.faults[: len(faults)] != faults:
            return False
        if any(fault.turn <= len(moves) for fault in since):
            return False
        self.job, self.game, self.played = job, game, Played()
        for player in self._bots():
            player.unpark()
        return True

    @property
    def alive(self) -> int:
        """How many bots run."""
        return sum(player.is_alive for player in self._bots())

    def play(self, *, on_progress: Progress | None = None) -> None:
        """Play on as far as bots can. Raises SandboxError."""
        if None not in self.players and self.game.decisions_made == 0:
            self._start_all()
        advance(self.game, self.players, played=self.played, on_progress=on_progress)
        if self.game.decision is not None:
            return
        for player in self._bots():
            player.say_goodbye(self.game)
        until = time.monotonic() + GOODBYE_S
        for player in self._bots():
            player.dismiss(until)

    def outcome(self) -> dict[str, Any]:
        """Return what happened, as it travels to the one who keeps the books."""
        return {
            "match": self.job["match"],
            "attempt": self.job["attempt"],
            "moves": self.played.moves,
            "ms": self.played.ms,
            "cpu_us": self.played.cpu_us,
            "faults": self.played.faults,
            "logs": ["" if player is None else player.stderr for player in self.players],
            "starts": [0 if player is None else player.started_at for player in self.players],
            "order": list(self.seating.order),
        }

    def _bots(self) -> list[BotPlayer]:
        return [player for player in self.players if player is not None]

    def _player(self, seat: int, sources: Mapping[str, bytes]) -> BotPlayer | None:
        entrant = self.entrants[seat]
        if entrant["kind"] != "bot":
            return None
        return BotPlayer(
            _with_bytecode(bot_files(sources, entrant["sha256"])),
            seat=seat,
            match=self.job["match"],
            names=[other["name"] for other in self.entrants],
            limits=self._limits,
            deadline=self._deadline,
            share_s=self._share_s,
        )

    def _start_all(self) -> None:
        """Start every bot before the first decision, so that all who fail to start share the last place.

        All at once: that halves the time until all are there, even on one core.
        """
        for player in self._bots():
            player.prepare()
        for player in self._bots():
            player.greet(self.game)
        failed = []
        for player in self._bots():
            try:
                player.await_ready(self.game)
            except BotFault as fault:
                failed.append((player, fault))
        for player, failure in failed:
            _put_out(self.game, player, failure, self.played, at_start=True)


def bot_files(sources: Mapping[str, bytes], sha256: str) -> dict[str, bytes]:
    """Return what lies in /bot: the upload, and beside it the kit unless it brings its own."""
    if sha256 not in sources:
        raise SandboxError(f"expected the source of every bot: {sha256} is missing")
    files = unpack(sources[sha256])
    # A folder of this name is the bot's own matter as well: the two could not both be there.
    if any(name.startswith(f"{KIT.name}/") for name in files):
        return files
    return {KIT.name: _kit(), **files}


def kit_files() -> dict[str, bytes]:
    """Return what lies in /bot beside a bot of one file: our kit, as source and compiled."""
    return _with_bytecode({KIT.name: _kit()})


def _with_bytecode(files: dict[str, bytes]) -> dict[str, bytes]:
    """Spare a bot the compilation of our kit, which is a fifth of its start; one of its own it compiles itself."""
    if files.get(KIT.name) != _kit():
        return files
    return {**files, **bytecode(KIT.name, _kit())}


@cache
def _kit() -> bytes:
    return KIT.read_bytes()


def _offending(answer: Mapping[str, Any]) -> str:
    return f"answered {json.dumps(answer)[:SHOWN_CHARS]}"
