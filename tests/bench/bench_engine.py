"""How fast the engine plays, against a peer in the same run.

    python tests/bench/bench_engine.py [rounds]

The peer is what stands around one refereed turn even with an engine that costs
nothing: the question written as JSON, the answer read. Absolute figures drift from
host to host and minute to minute; the ratio is what counts.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from games.engine import Feed, Game, Rules, fixed_seats, record

SEATS = 4
GAMES = 4


def new_game(number: int) -> Game:
    """Return an undecided game of its own seed."""
    return Game(Rules.preset("classic"), SEATS, number.to_bytes(32, "big"))


def random_play() -> int:
    """Play whole games at random and return the number of decisions."""
    rng = random.Random(1)
    decisions = 0
    for number in range(GAMES):
        game = new_game(number)
        while game.decision is not None:
            game.play(rng.choice(game.legal()))
        decisions += game.decisions_made
    return decisions


def random_play_with_feeds() -> int:
    """Play as `random_play`, but make every message that the four seats would be sent."""
    rng = random.Random(1)
    decisions = 0
    for number in range(GAMES):
        game = new_game(number)
        feeds = [Feed(seat) for seat in range(SEATS)]
        while (decision := game.decision) is not None:
            turn = feeds[decision.seat].messages(game)[-1]
            game.play(rng.choice(turn["legal"]))
        decisions += game.decisions_made
    return decisions


def json_turns() -> int:
    """Write a question and read an answer as JSON, once for each decision, and return their number."""
    turn = Feed(1).messages(new_game(0))[-1]
    for number in range(4_000):
        line = json.dumps(turn).encode()
        answer = json.loads(b'{"id": %d, "move": "k2"}' % number)
        if not line or answer["id"] != number:
            raise AssertionError("the peer went wrong")
    return 4_000


def finished_docs() -> list[dict[str, object]]:
    """Return the records of games played at random."""
    docs = []
    rng = random.Random(1)
    seats = [{"name": f"player{seat}", "kind": "bot"} for seat in range(SEATS)]
    for number in range(20):
        game = new_game(number)
        while game.decision is not None:
            game.play(rng.choice(game.legal()))
        ms = [0] * game.decisions_made
        docs.append(
            record.build(
                game, id=f"{number:032x}", played="2026-11-30T09:15:00Z", seats=seats, seating=fixed_seats(SEATS), ms=ms
            )
        )
    return docs


def rate(work: Callable[[], int]) -> float:
    """Return units of work per second of this process's processor time."""
    start = time.process_time()
    done = work()
    return done / (time.process_time() - start)


def main(rounds: int) -> None:
    """Print medians over interleaved rounds."""
    works = {"json turn (peer)": json_turns, "random play": random_play, "with the feeds": random_play_with_feeds}
    rates: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            rates[name].append(rate(work))
    peer = median(rates["json turn (peer)"])
    for name, found in rates.items():
        print(f"{name:18} {median(found):10,.0f} decisions/s   {median(found) / peer:5.2f} of the peer")
    docs = finished_docs()
    decisions = [sum(len(hand["moves"]) for hand in doc["hands"]) for doc in docs]  # type: ignore[attr-defined]
    sizes = [len(record.pack(doc)) for doc in docs]
    texts = [len(json.dumps(doc)) for doc in docs]
    print(f"records: {median(decisions):,.0f} decisions, {median(texts):,.0f} bytes as JSON (medians)")
    print(f"packed: {median(sizes):,.0f} bytes (median)")
    start = time.process_time()
    for doc in docs:
        record.verify(doc)
    print(f"verify: {len(docs) / (time.process_time() - start):,.0f} records/s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
