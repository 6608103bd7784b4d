"""Matches played for the tests: real games by the engine, ended through the one door."""

from collections.abc import Mapping
from random import Random
from typing import Any

from games.engine import Game, Rules, draw_seats, fixed_seats
from games.finish import finish_match
from games.models import Match
from ladder.models import Ladder
from ladder.ratings import rate

_lots = Random(5)


def finish_one(match: Match, *, log: str = "", faulty: Mapping[int, str] | None = None) -> Match:
    """Play a waiting match to its end by lot, and end it as the worker's report does.

    `faulty` maps entrants to the kind of fault that each comes to at its first turn; not everybody has a second one.
    """
    attempt = match.attempt + 1
    Match.objects.filter(pk=match.pk).update(state=Match.State.PLAYING, attempt=attempt)
    assert finish_match(match.pk, attempt, play(match, attempt, log=log, faulty=faulty or {}))
    match.refresh_from_db()
    return match


def finish_all(ladder: Ladder, *, log: str = "") -> list[Match]:
    """Play every waiting match of the ladder and rate what has ended; a showcase is put on show."""
    waiting = Match.objects.filter(paired__ladder=ladder, state=Match.State.WAITING)
    matches = [finish_one(match, log=log) for match in waiting]
    for match in matches:
        rate(match.paired.pairing_id)
    return matches


def play(match: Match, attempt: int, *, log: str, faulty: Mapping[int, str] | None = None) -> dict[str, Any]:
    """Return the outcome of a match whose players move by lot, and call whenever they may; a thought takes 0.9 ms."""
    seed, player_seeds = bytes(match.server_seed), tuple(match.player_seeds)
    game = Game(Rules.from_json(match.rules), match.seats, seed, player_seeds)
    order = (draw_seats(seed, player_seeds) if match.seating == "draw" else fixed_seats(match.seats)).order
    due = {order.index(entrant): kind for entrant, kind in (faulty or {}).items()}
    moves, cpu_us, faults = [], [], []
    while (decision := game.decision) is not None:
        if decision.seat in due:
            fault = {"seat": decision.seat, "kind": due.pop(decision.seat), "hand": decision.hand, "turn": decision.id}
            faults.append({**fault, "detail": "as it was told", "private": "what was seen", "ms": 7, "cpu_us": 4321})
            game.fault(decision.seat, fault["kind"], reason="as it was told")
            continue
        legal = game.legal()
        calls = [move for move in legal if move.endswith("!") or move == "show"]
        moves.append(game.autopilot() or _lots.choice(calls or legal))
        cpu_us.append(None if decision.seat in game.faulted else 900)
        game.play(moves[-1])
    return {
        "match": match.code, "attempt": attempt, "moves": moves, "ms": [1] * len(moves), "cpu_us": cpu_us,
        "faults": faults, "logs": [log] * match.seats, "starts": [1] * match.seats, "order": list(order),
    }  # fmt: skip
