"""Matches played for the tests: real games by the engine, ended through the one door."""

from random import Random
from typing import Any

from games.engine import Game, Rules, draw_seats
from games.finish import finish_match
from games.models import Match
from ladder.models import Ladder
from ladder.ratings import rate

_lots = Random(5)


def finish_one(match: Match, *, log: str = "") -> Match:
    """Play a waiting match to its end by lot, and end it as the worker's report does."""
    attempt = match.attempt + 1
    Match.objects.filter(pk=match.pk).update(state=Match.State.PLAYING, attempt=attempt)
    assert finish_match(match.pk, attempt, play(match, attempt, log=log))
    match.refresh_from_db()
    return match


def finish_all(ladder: Ladder, *, log: str = "") -> list[Match]:
    """Play every waiting match of the ladder and rate what has ended; a showcase is put on show."""
    waiting = Match.objects.filter(paired__ladder=ladder, state=Match.State.WAITING)
    matches = [finish_one(match, log=log) for match in waiting]
    for match in matches:
        rate(match.paired.pairing_id)
    return matches


def play(match: Match, attempt: int, *, log: str) -> dict[str, Any]:
    """Return the outcome of a match whose players move by lot, and call whenever they may."""
    seed, player_seeds = bytes(match.server_seed), tuple(match.player_seeds)
    game = Game(Rules.from_json(match.rules), match.seats, seed, player_seeds)
    moves = []
    while game.decision is not None:
        legal = game.legal()
        calls = [move for move in legal if move.endswith("!") or move == "show"]
        moves.append(_lots.choice(calls or legal))
        game.play(moves[-1])
    return {
        "match": match.code, "attempt": attempt, "moves": moves, "ms": [1] * len(moves), "faults": [],
        "logs": [log] * match.seats, "order": list(draw_seats(seed, player_seeds).order),
    }  # fmt: skip
