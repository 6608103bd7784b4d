"""What sandboxed workers do with a job: no Django, no database, only the job, Redis for sources, and reports by name.

`report(task_name, *args)` publishes a trusted task on the queue `results`. A failure of ours is reported as
such, and costs the attempt; nothing of it is ever a bot's fault. What an orderly stop interrupts is handed back, and
costs nothing.
"""

import hashlib
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from bots.process import SandboxError
from games.engine import Game, IllegalMove
from games.keys import attempt_key, pause_key, source_key
from games.outcome import LEAVING
from games.referee import Played, advance, open_game, open_seating, play_match
from games.stopping import Stopped, stoppable
from games.warm import warm_tables

logger = logging.getLogger(__name__)

HEARTBEAT_S = 5.0
Report = Callable[..., Any]
Job = Mapping[str, Any]
Play = Callable[[Job, Mapping[str, bytes]], dict[str, Any]]


class Store(Protocol):
    """The part of a Redis client that is used."""

    def get(self, name: str) -> bytes | None: ...


def play(job: Job, store: Store, report: Report, *, worker: str = "") -> bool:
    """Play a bots' match and report it; False if the job is outdated, or the worker is paused."""
    code, attempt = job["match"], job["attempt"]
    if store.get(attempt_key(code)) != str(attempt).encode():
        logger.info("outdated job dropped match=%s attempt=%s", code, attempt)
        return False
    if is_paused(store, worker):
        report("games.tasks.match_declined", code, attempt)
        return False
    report("games.tasks.match_started", code, attempt, worker)
    outcome = _play_reporting(job, store, report, play_match)
    if outcome is not None:
        report("games.tasks.match_result", code, attempt, outcome)
    return True


def move(job: Job, report: Report) -> None:
    """Do one thing that a person did at a table, by the engine alone, and report what followed."""
    report("games.tasks.table_result", job["match"], job["attempt"], act(job))


def answers(job: Job, store: Store, report: Report) -> None:
    """Play the bots' turns at a table until a person must decide or the game is over, and report them.

    The bots stay, stopped, for their next turns: see `WarmTables`.
    """
    outcome = _play_reporting(job, store, report, warm_tables.play)
    if outcome is not None:
        report("games.tasks.table_result", job["match"], job["attempt"], outcome)


def is_paused(store: Store, worker: str) -> bool:
    """Tell whether the operator has paused this worker: it takes up nothing new, then."""
    return bool(worker) and store.get(pause_key(worker)) is not None


def _play_reporting(job: Job, store: Store, report: Report, play: Play) -> dict[str, Any] | None:
    """Return the outcome of a job, or None after reporting that we failed or are to stop."""
    code, attempt = job["match"], job["attempt"]
    failure = "an error of ours stopped the referee"
    try:
        with _heartbeats(report, code, attempt):
            sources = _fetch_sources(job, store)
            with stoppable():
                outcome = play(job, sources)
        failure = ""
        return outcome
    except Stopped:
        failure = ""
        logger.info("match handed back match=%s attempt=%s", code, attempt)
        report("games.tasks.match_handed_back", code, attempt)
        return None
    except SandboxError as error:
        failure = str(error)
        return None
    finally:
        # An error that is not foreseen goes on to the worker's log, but is reported all the same.
        if failure:
            logger.error("match failed match=%s attempt=%s reason=%s", code, attempt, failure)
            report("games.tasks.match_failed", code, attempt, failure[:300])


def _fetch_sources(job: Job, store: Store) -> dict[str, bytes]:
    """Return the sources of a job's bots by content. SandboxError if one is missing or is not what it says."""
    sources = {}
    for sha256 in {entrant["sha256"] for entrant in job["entrants"] if entrant["kind"] == "bot"}:
        data = store.get(source_key(sha256))
        if data is None:
            raise SandboxError(f"expected the source {sha256[:12]} in the store: it is missing")
        if hashlib.sha256(data).hexdigest() != sha256:
            raise SandboxError(f"expected the source {sha256[:12]} in the store: it is another file")
        sources[sha256] = data
    return sources


@contextmanager
def _heartbeats(report: Report, code: str, attempt: int) -> Iterator[None]:
    """Say every few seconds that the attempt lives, from a thread, as long as the block runs."""
    is_over = threading.Event()

    def beat() -> None:
        while not is_over.wait(HEARTBEAT_S):
            try:
                report("games.tasks.match_heartbeat", code, attempt)
            except (OSError, OperationalError, RedisError) as error:
                logger.warning("heartbeat not sent match=%s error=%s", code, type(error).__name__)

    thread = threading.Thread(target=beat, name=f"heartbeat {code}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def act(job: Job) -> dict[str, Any]:
    """Return what a person's action does: an outcome, or why it is rejected. The bots' turns are left to `answers`."""
    action, game, played = job["action"], open_game(job), Played()
    rejected = None
    if action["do"] == "move":
        rejected = _decide(game, action, played)
    elif action["do"] in LEAVING:
        rejected = _leave(game, action, played)
    if rejected is None:
        advance(game, [None] * game.seats, played=played)
    return {
        "match": job["match"],
        "attempt": job["attempt"],
        "moves": played.moves,
        "ms": played.ms,
        "cpu_us": played.cpu_us,
        "faults": played.faults,
        "order": list(open_seating(job).order),
        "action": dict(action),
        "rejected": rejected,
    }


def _decide(game: Game, action: Mapping[str, Any], played: Played) -> dict[str, str] | None:
    """Play one decision of a person's, or return why not. What is refused says nothing about hidden cards."""
    decision = game.decision
    if decision is None:
        return {"code": "finished", "detail": "the game is over"}
    if action["id"] != decision.id:
        return {"code": "stale", "detail": f"expected decision {decision.id}"}
    if action["seat"] != decision.seat:
        return {"code": "not_your_turn", "detail": f"expected seat {decision.seat}"}
    try:
        game.play(action["move"])
    except IllegalMove:
        return {"code": "illegal", "detail": "expected one of the moves that were offered"}
    played.moves.append(action["move"])
    played.ms.append(0)
    played.cpu_us.append(None)
    return None


def _leave(game: Game, action: Mapping[str, Any], played: Played) -> dict[str, str] | None:
    """Put a person's seat on autopilot, or return why not."""
    decision = game.decision
    if decision is None or action["seat"] in game.faulted:
        return {"code": "finished", "detail": "the game is over for this seat"}
    kind = LEAVING[action["do"]]
    fault = {"seat": action["seat"], "kind": kind, "hand": decision.hand, "turn": decision.id, "detail": ""}
    game.fault(fault["seat"], fault["kind"])
    played.faults.append({**fault, "private": "", "ms": 0, "cpu_us": 0})
    return None
