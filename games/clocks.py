"""People's clocks at a table: what is left of each one's bank, and by when he must have moved.

A decision takes up to `person_move_s` seconds of wall clock for nothing; what it takes beyond them is taken from the
game's `person_bank_s`. All that is kept is how long each decision took (`Move.elapsed_ms`): what is left of a bank is
what the decisions before have left of it. Bots have clocks of their own, which the referee reads.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from games.engine import Game
from games.models import Match


class Clocks(NamedTuple):
    """What people are given at a table, in seconds of wall clock: for each decision, and beyond that for the game."""

    move_s: int
    bank_s: int

    def to_json(self) -> dict[str, int]:
        """Return the clocks as `Match.limits` keeps them."""
        return {"person_move_s": self.move_s, "person_bank_s": self.bank_s}

    def bank_ms(self, took_ms: Sequence[int]) -> int:
        """Return what is left of the bank after decisions that took so long."""
        beyond = sum(max(0, took - 1000 * self.move_s) for took in took_ms)
        return max(0, 1000 * self.bank_s - beyond)


def clocks_of(match: Match) -> Clocks | None:
    """Return the clocks of a table's people; None where nobody hurries them."""
    if "person_move_s" not in match.limits:
        return None
    return Clocks(match.limits["person_move_s"], match.limits["person_bank_s"])


def took_by(game: Game, seat: int, ms: Sequence[int]) -> list[int]:
    """Return how long each decision of `seat` took; `ms` are those of the whole game, in order."""
    return [took for mover, took in zip(game.movers(), ms, strict=False) if mover == seat]


def deadline(clocks: Clocks, game: Game, ms: Sequence[int], *, since: datetime) -> datetime | None:
    """Return by when the pending decision must have been made that was to be made from `since` on."""
    if game.decision is None:
        return None
    bank_ms = clocks.bank_ms(took_by(game, game.decision.seat, ms))
    return since + timedelta(seconds=clocks.move_s, milliseconds=bank_ms)


def clock_rows(
    match: Match, game: Game, people: Iterable[int | None], ms: Sequence[int]
) -> list[dict[str, Any] | None]:
    """Return the clocks as everybody may see them, by seat; None for a bot, and for a person on autopilot.

    Empty where the table has none. `people` are the seats in which people sit. `deadline` is None for all but the
    one for whom the table waits.
    """
    clocks = clocks_of(match)
    if clocks is None:
        return []
    rows: list[dict[str, Any] | None] = [None] * game.seats
    for seat in people:
        if seat is not None and seat not in game.faulted:
            rows[seat] = {
                "move_s": clocks.move_s,
                "bank_ms": clocks.bank_ms(took_by(game, seat, ms)),
                "deadline": _deadline_of(match, game, seat),
            }
    return rows


def left_s(row: Mapping[str, Any], now: datetime) -> float:
    """Return how many seconds one of `clock_rows` leaves its person at `now` for the present move, or his next."""
    if row["deadline"] is None:
        return float(row["move_s"] + row["bank_ms"] / 1000)
    return max(0.0, (datetime.fromisoformat(row["deadline"]) - now).total_seconds())


def _deadline_of(match: Match, game: Game, seat: int) -> str | None:
    is_waited_for = game.decision is not None and game.decision.seat == seat and match.awaits == "person"
    return match.deadline_at.isoformat() if is_waited_for and match.deadline_at else None
