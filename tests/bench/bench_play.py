"""Turns a second of whole four-bot games, against round trips through raw pipes in the same run.

    python tests/bench/bench_play.py [ROUNDS]

Everything is pinned to one processor, as a worker and its bots are. "ready" plays bots that answer
at once with the last legal move and leaves out their start: the referee, the engine and the jail.
"whole" has four house bots, their thoughts and their start in it. Prints medians and ratios.
"""

import hashlib
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[2]))

from bots.sandbox import require
from games.arena import Bot, Series, load_bot, play_fixture
from games.engine import Rules, record
from games.referee import Match

QUICK = """
import json, sys
write, flush = sys.stdout.write, sys.stdout.flush
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        write('{"type":"ready"}\\n')
    elif message["type"] == "turn":
        write(json.dumps({"id": message["id"], "move": message["legal"][-1]}) + "\\n")
    else:
        continue
    flush()
"""
TRIPS = 5000
# About the size of a turn at a table of four.
QUESTION = {"type": "turn", "id": 1, "legal": ["k0", "d"], "pad": "x" * 600}


def raw_rate(raw: subprocess.Popen[bytes]) -> float:
    assert raw.stdin and raw.stdout
    to_bot, from_bot = raw.stdin.fileno(), raw.stdout.fileno()
    began = time.perf_counter()
    for _ in range(TRIPS):
        os.write(to_bot, msgspec.json.encode(QUESTION) + b"\n")
        msgspec.json.decode(os.read(from_bot, 65536))
    return TRIPS / (time.perf_counter() - began)


def ready_rate(series: Series) -> float:
    sources = {bot.sha256: bot.data for bot in series.bots}
    with Match(next(series.fixtures()).job, sources) as match:
        first: list[float] = []
        match.play(on_progress=lambda _: first or first.append(time.perf_counter()))
        return (match.game.decisions_made - 1) / (time.perf_counter() - first[0])


def whole_rate(series: Series, sizes: list[int]) -> float:
    """Return turns a second, and add to `sizes` what each record packs to, in bytes."""
    sources = {bot.sha256: bot.data for bot in series.bots}
    began = time.perf_counter()
    games = [play_fixture(fixture, sources) for fixture in series.fixtures()]
    passed = time.perf_counter() - began
    sizes += [len(record.pack(game.record)) for game in games]
    return sum(game.turns for game in games) / passed


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    require()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    quick = Bot("quick", QUICK.encode(), hashlib.sha256(QUICK.encode()).hexdigest())
    ready = Series([quick] * 4, Rules.preset("classic", end="hands", hands=10), 1, "bench")
    house = [load_bot(f"house:{name}") for name in ("random", "careful", "spoiler", "counter")]
    whole = Series(house, Rules.preset("classic"), 4, "bench", duplicate=True)
    command = ["/usr/bin/python3", "-I", "-S", "-B", "-X", "utf8", "-c", QUICK]
    raws, readies, wholes = [], [], []
    sizes: list[int] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as raw:
        for _ in range(rounds):
            raws.append(raw_rate(raw))
            readies.append(ready_rate(ready))
            wholes.append(whole_rate(whole, sizes))
        raw.kill()
    print(f"pinned, {rounds} rounds")
    print(f"raw pipes  {statistics.median(raws):8.0f} round trips/s")
    for name, rates in (("ready", readies), ("whole", wholes)):
        ratio = statistics.median(ours / theirs for ours, theirs in zip(rates, raws, strict=True))
        print(f"{name}      {statistics.median(rates):8.0f} turns/s, ratio {ratio:.2f}")
    print(f"packed     {statistics.median(sizes):8.0f} bytes a game of the house bots, limit 2,048")


if __name__ == "__main__":
    main()
