"""Put one decision of a bot into a zip that replays it anywhere: what it was sent, from the record, and its files.

The lines are made by the same `Feed` as the referee's, for the bot's own seat: what it could not see is not in them.
No Django here.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bots.process import Limits
from games.engine import Feed, Game, Rules
from games.engine.game import apply_faults
from games.times import Times
from games.zips import packed

FORMAT = "soureh-reproducer/1"
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One decision: the lines up to its turn, the seat's earlier moves by decision, and what came of it.

    `expected` is {"move"}, or {"fault", "reason"}.
    """

    turn: int
    hand: int
    lines: list[dict[str, Any]]
    moves: dict[int, str]
    expected: dict[str, str]


def make_case(doc: Mapping[str, Any], seat: int, turn: int, times: Times) -> Case:
    """Return decision number `turn` of a bot's seat (0: its start, at which it faulted), out of a match's record.

    Raises:
        LookupError: this seat's bot was not asked for that decision.
    """
    fault = next((fault for fault in doc["faults"] if fault["seat"] == seat), None)
    if fault is not None and turn > fault["turn"]:
        raise LookupError(f"expected a decision before the fault at {fault['turn']}: {turn}")
    is_fault = fault is not None and turn == fault["turn"]
    teller = _Teller(doc, seat, times, turn)
    moves: dict[int, str] = {}
    if turn == 0 and is_fault:
        return Case(0, 1, [teller.hello(_new_game(doc))], {}, _what_came(fault, ""))
    for game, move in _decisions(doc, seat):
        decision = game.decision
        if decision is None or decision.id > turn:
            break
        lines = teller.tell(game)
        if decision.id == turn and decision.seat == seat and lines:
            return Case(turn, decision.hand, lines, moves, _what_came(fault if is_fault else None, move))
        if decision.seat == seat and lines:
            moves[decision.id] = move
    raise LookupError(f"expected a decision of seat {seat}: {turn}")


def _what_came(fault: Mapping[str, Any] | None, move: str) -> dict[str, str]:
    return {"move": move} if fault is None else {"fault": fault["kind"], "reason": fault.get("detail", "")}


def _new_game(doc: Mapping[str, Any]) -> Game:
    fairness = doc["fairness"]
    seed, player_seeds = bytes.fromhex(fairness["server_seed"]), tuple(fairness["player_seeds"])
    return Game(Rules.from_json(doc["rules"]), len(doc["seats"]), seed, player_seeds)


def _decisions(doc: Mapping[str, Any], seat: int) -> Iterator[tuple[Game, str]]:
    """Yield the game at each decision and the move that followed, "" where a fault of this seat ended it."""
    game, faults = _new_game(doc), list(doc["faults"])
    own = next((number for number, fault in enumerate(faults) if fault["seat"] == seat), len(faults))
    waiting, later = faults[:own][::-1], faults[own:][::-1]
    apply_faults(game, waiting)
    for move in (move for hand in doc["hands"] for move in hand["moves"]):
        yield game, move
        # Once this seat has faulted its bot is told nothing, so what follows only has to add up.
        if later and later[-1]["turn"] <= game.decisions_made + 1:
            apply_faults(game, later)
        game.play(move)
        apply_faults(game, waiting)
    yield game, ""


class _Teller:
    """Says what the process that was running at decision `turn` had been sent, as `referee.BotPlayer` sends it."""

    def __init__(self, doc: Mapping[str, Any], seat: int, times: Times, turn: int) -> None:
        self._doc, self._limits = doc, times.limits or Limits().to_json()
        self._start, self._feed = times.start_before(turn), Feed(seat)
        self._banks, self._bank_s = dict(times.banks()), float(self._limits["bank_s"])
        self._lines: list[dict[str, Any]] = []

    def hello(self, game: Game) -> dict[str, Any]:
        """Return the first line."""
        names, is_resumed = [entrant["name"] for entrant in self._doc["seats"]], self._start > 1
        return self._feed.hello(game, match=self._doc["id"], names=names, limits=self._limits, resumed=is_resumed)

    def tell(self, game: Game) -> list[dict[str, Any]]:
        """Return all lines up to the pending decision; none before the process was started."""
        decision = game.decision
        if decision is None or decision.id < self._start:
            return []
        if not self._lines:
            self._lines.append(self.hello(game))
            if self._start > 1:
                self._lines.append(self._feed.resume(game))
        for message in self._feed.messages(game):
            if message["type"] == "turn":
                message["bank_s"] = round(self._bank_s, 3)
                self._bank_s = self._banks.get(message["id"], self._bank_s)
            self._lines.append(message)
        return self._lines


def pack_case(case: Case, files: Mapping[str, bytes], *, folder: str, about: Mapping[str, Any]) -> bytes:
    """Return the zip of a case; `files` are what lay in /bot, `about` what else `case.json` is to say.

    `about` has bot, version, match, cpu_us, ms, limits, and "seen", what the owner is told of a fault.
    """
    known = {
        "format": FORMAT,
        **{key: value for key, value in about.items() if key != "seen"},
        "hand": case.hand,
        "turn": case.turn,
        "moves": {str(number): move for number, move in case.moves.items()},
        "expected": case.expected | ({"seen": about["seen"]} if "fault" in case.expected else {}),
    }
    lines = "".join(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n" for line in case.lines)
    members: dict[str, bytes] = {
        "README.txt": (FOLDER / "README.txt").read_bytes(),
        "reproduce.py": (FOLDER / "reproduce.py").read_bytes(),
        "case.json": json.dumps(known, ensure_ascii=False, indent=1).encode(),
        "lines.jsonl": lines.encode(),
        **{f"bot/{name}": content for name, content in files.items()},
    }
    return packed(members, folder=folder)
