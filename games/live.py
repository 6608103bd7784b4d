"""Unfinished games as they may be seen now: folded from a table's rows, or from a record that is being shown.

What leaves here are views and logs of one viewer; never a seed, a deck or a state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from games.engine import Game, Rules, record
from games.engine.game import apply_faults
from games.models import Match
from games.tables import moves_of

State, Kind = Match.State, Match.Kind


@dataclass(frozen=True)
class Script:
    """What there is to fold of a match: decisions from number `first` + 1 on, and all faults, in order."""

    moves: Sequence[str]
    faults: Sequence[Mapping[str, Any]]
    first: int = 0


@dataclass(frozen=True)
class Clock:
    """When the decisions of a showcase are shown: one every `pace_ms` from `start` on."""

    start: datetime
    pace_ms: int

    def shown(self, now: datetime) -> int:
        """Return how many decisions have been shown by `now`."""
        return max(0, int((now - self.start) / timedelta(milliseconds=max(1, self.pace_ms))))

    def due(self, number: int) -> datetime:
        """Return when decision `number`, from 1, is shown."""
        return self.start + timedelta(milliseconds=max(1, self.pace_ms) * number)


def clock_of(match: Match) -> Clock | None:
    """Return the clock of a match on show; None for every other, of which all that is known may be seen."""
    if match.state != State.SHOWING or match.show_from is None:
        return None
    return Clock(match.show_from, match.show_ms)


def script_of(match: Match, known: int = 0) -> Script | None:
    """Return what follows decision number `known`; None while nothing of the match may be seen.

    Of a match on show this is the whole record: who calls keeps to its clock.
    """
    if match.state in (State.SHOWING, State.FINISHED):
        doc = record.unpack(bytes(match.record.packed))
        moves = [move for hand in doc["hands"] for move in hand["moves"]]
        return Script(moves[known:], doc["faults"], known)
    if match.kind == Kind.TABLE and match.state == State.PLAYING:
        return Script(moves_of(match, known), match.faults, known)
    return None


def new_game(match: Match) -> Game:
    """Return the match's game before its first decision."""
    seed = bytes(match.server_seed)
    return Game(Rules.from_json(match.rules), match.seats, seed, tuple(match.player_seeds))


def play_on(game: Game, script: Script, until: int) -> None:
    """Play a game on by its script until decision number `until`, faults included.

    Raises:
        IllegalMove, InvalidRecord: the script is not of this game.
    """
    waiting = list(reversed(script.faults[len(game.faults) :]))
    apply_faults(game, waiting)
    last = min(until, script.first + len(script.moves))
    for move in script.moves[game.decisions_made - script.first : last - script.first]:
        game.play(move)
        apply_faults(game, waiting)


def game_now(match: Match, now: datetime | None = None) -> Game | None:
    """Return the game as far as it may be seen at `now`; None while nothing of it may."""
    script = script_of(match)
    if script is None:
        return None
    clock = clock_of(match)
    game = new_game(match)
    play_on(game, script, clock.shown(now or timezone.now()) if clock else len(script.moves))
    return game


def view_at(match: Match, seat: int | None) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return view and log of an unfinished match as `seat` (None: a spectator) may see them now."""
    game = game_now(match)
    return (None, []) if game is None else (game.view(seat), game.log_for(seat))
