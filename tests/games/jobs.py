"""Jobs as the site gives them to its workers, bots to play in them, and what the site keeps of what comes of it."""

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from bots.process import Limits
from games.engine import Rules, record
from games.referee import open_game, open_seating
from games.sandbox_tasks import act
from games.warm import WarmTables
from tests.games.kit_tables import HOUSE

CAREFUL = (HOUSE / "careful.py").read_bytes()
LIMITS = Limits(move_s=0.3, wall_s=1.0, start_s=5.0)
PLAYED = "2026-11-30T09:15:00Z"

# A bot that plays on unharmed until its third decision, and then does what stands below.
MISCHIEF = """
import os, sys, time
import soureh_bot

turns = 0

def choose(turn):
    global turns
    turns += 1
    if turns == 3 and (answer := mischief(turn)) is not None:
        return answer
    return "d" if "d" in turn.legal else turn.legal[0]

def raw(text):
    os.write(1, text)

def mischief(turn):
    BODY

soureh_bot.run(choose)
"""


def mischief(body: str) -> str:
    return MISCHIEF.replace("BODY", body)


def make_job(
    sources: Sequence[str | bytes | None],
    *,
    rules: Rules | None = None,
    target: int = 60,
    limits: Limits = LIMITS,
    seed: str = "referee",
    seating: str = "fixed",
    match: str = "m1",
    attempt: int = 2,
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return a job and its sources by hash; entrants are the sources in order, None for a person.

    It is of `rules`, or of classic ones that end at `target` points.
    """
    uploads = {}
    entrants = []
    for number, source in enumerate(sources):
        if source is None:
            entrants.append({"name": f"person{number}", "kind": "human"})
            continue
        data = source if isinstance(source, bytes) else source.encode()
        sha256 = hashlib.sha256(data).hexdigest()
        uploads[sha256] = data
        entrants.append({"name": f"bot{number}", "kind": "bot", "sha256": sha256})
    job = {
        "match": match,
        "attempt": attempt,
        "rules": (rules or Rules.preset("classic", target=target)).to_json(),
        "server_seed": hashlib.sha256(seed.encode()).hexdigest(),
        "player_seeds": [""] * len(entrants),
        "seating": seating,
        "entrants": entrants,
        "limits": limits.to_json(),
        "moves": [],
        "faults": [],
    }
    return json.loads(json.dumps(job)), uploads


def public(faults: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return of faults what everybody may see."""
    return [{key: fault[key] for key in ("seat", "kind", "hand", "turn", "detail")} for fault in faults]


def finished_record(job: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record of an outcome, built as the one who keeps the books would, and verified."""
    game = open_game({**job, "moves": outcome["moves"], "faults": public(outcome["faults"])})
    seats = [job["entrants"][entrant] for entrant in outcome["order"]]
    document = record.build(
        game, id=job["match"], played=PLAYED, seats=seats, seating=open_seating(job), ms=outcome["ms"]
    )
    record.verify(json.loads(json.dumps(document)))
    return document


class Table:
    """A person against bots: what travels between the site and its workers."""

    def __init__(self, *sources: bytes, name: str = "0" * 16) -> None:
        limits = Limits(move_s=0.5, bank_s=0.4)
        self.job, self.sources = make_job([None, *sources], rules=Rules.preset(), limits=limits, match=name, attempt=0)
        self.job["server_seed"] = "07" * 32

    def take(self, outcome: dict[str, Any]) -> dict[str, Any]:
        """Accept what was played."""
        self.job["attempt"] += 1
        self.job["moves"] = self.job["moves"] + outcome["moves"]
        self.job["faults"] = self.job["faults"] + public(outcome["faults"])
        return outcome

    def answer(self, warm: WarmTables) -> dict[str, Any]:
        """Have the bots decide, as a task on `answers` does."""
        return self.take(warm.play(copy.deepcopy(self.job), self.sources))

    def decide(self, move: str = "d") -> None:
        """Have the person decide, as a task on `tables` does; nothing if it is not his turn."""
        action = {"do": "move", "seat": 0, "id": len(self.job["moves"]) + 1, "move": move}
        self.take(act({**copy.deepcopy(self.job), "action": action}))
