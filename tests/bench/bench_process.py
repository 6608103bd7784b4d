"""Round trips a second through the jail, against raw pipes to the same bot in the same run.

    python tests/bench/bench_process.py [ROUNDS]

Everything is pinned to one processor, as a worker and its bots are. Prints medians, their ratio, and
the time to start a bot.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parents[2]))

from bots.process import BotProcess, Limits
from bots.sandbox import require

BOT = """
import json, sys
write, flush = sys.stdout.write, sys.stdout.flush
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        write('{"type":"ready"}\\n')
    else:
        write(json.dumps({"id": message["id"], "move": "k2"}) + "\\n")
    flush()
"""
TRIPS = 5000
HELLO = {"type": "hello"}
QUESTION = {"type": "turn", "id": 1, "pad": "x" * 280}


def rate(trip: Callable[[], object]) -> float:
    began = time.perf_counter()
    for _ in range(TRIPS):
        trip()
    return TRIPS / (time.perf_counter() - began)


def start_s() -> float:
    began = time.perf_counter()
    with BotProcess({"bot.py": BOT.encode()}, limits=Limits()) as bot:
        bot.start(HELLO)
        return time.perf_counter() - began


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    mode = require()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pipe = subprocess.PIPE
    command = ["/usr/bin/python3", "-I", "-S", "-B", "-X", "utf8", "-c", BOT]
    with (
        subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0) as raw,
        BotProcess({"bot.py": BOT.encode()}, limits=Limits()) as bot,
    ):
        assert raw.stdin and raw.stdout
        to_bot, from_bot = raw.stdin.fileno(), raw.stdout.fileno()

        def raw_trip() -> object:
            os.write(to_bot, msgspec.json.encode(QUESTION) + b"\n")
            return msgspec.json.decode(os.read(from_bot, 65536))

        bot.start(HELLO)
        raws, jailed = [], []
        for _ in range(rounds):
            raws.append(rate(raw_trip))
            jailed.append(rate(lambda: bot.ask(QUESTION, id=1)))
        raw.kill()
    starts = [start_s() for _ in range(4 * rounds)]
    ratio = statistics.median(ours / theirs for ours, theirs in zip(jailed, raws, strict=True))
    print(f"mode {mode}, pinned, {rounds} rounds of {TRIPS}")
    print(f"raw pipes   {statistics.median(raws):8.0f} round trips/s")
    print(f"BotProcess  {statistics.median(jailed):8.0f} round trips/s, ratio {ratio:.2f}")
    print(f"start       {statistics.median(starts) * 1000:8.1f} ms (least {min(starts) * 1000:.1f})")


if __name__ == "__main__":
    main()
