"""Turns a second of refereed games of four sandboxed bots, against raw pipes and the peers in the same run.

    python -m pip install -e '.[bench]'
    python tests/bench/bench_play.py [ROUNDS] [--core N] [--two | --profile]

Everything is pinned to one processor, as a worker and its bots are, where all that takes processor time keeps all else
waiting. So rates count the processor time of everybody who takes part, by the kernel's clocks: what a core to itself
would give, and what a shared machine cannot blur as it does the time on the wall. The bots answer at once with the last
legal move, by the standard library's json, in both the games and the raw ping-pong, which sends them the very turns of
such a game. Rounds are interleaved; prints medians, and limits where there are some.
"""

import argparse
import cProfile
import hashlib
import json
import os
import pstats
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).parents[2]))

from bots.process import BotProcess, Limits
from bots.sandbox import require
from bots.sandbox.launcher import COMMON, MODES, bwrap_path
from games.arena import Bot, Series, load_bot, play_fixture
from games.engine import Feed, Game, Rules, record
from games.referee import Job, Match
from games.warm import start_ahead
from tests.live import descendants

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
# Moves a knight out and home again: it need not know chess.
UCI = """
import sys
for line in sys.stdin:
    words = line.split()
    if words[0] == "uci":
        print("id name trivial", "uciok", sep="\\n", flush=True)
    elif words[0] == "isready":
        print("readyok", flush=True)
    elif words[0] == "position":
        plies = len(words) - 3 if "moves" in words else 0
    elif words[0] == "go":
        print("bestmove", ("g1f3", "g8f6", "f3g1", "f6g8")[plies % 4], flush=True)
    elif words[0] == "quit":
        break
"""
PYTHON = ["/usr/bin/python3", "-I", "-S", "-B", "-X", "utf8", "-c"]
SEATS = 4
ALIVE = 16
RULES = Rules.preset("classic", end="hands", hands=10)
quick = Bot("quick", QUICK.encode(), hashlib.sha256(QUICK.encode()).hexdigest())


def jobs(hands: int = 10) -> Iterator[Job]:
    """Yield jobs of games of so many hands between quick bots, each of its own seed."""
    rules = Rules.preset("classic", end="hands", hands=hands)
    return (fixture.job for fixture in Series([quick] * SEATS, rules, 10_000, f"bench{os.getpid()}").fixtures())


def cpu_s(pid: int) -> float:
    """Return the processor time of all threads of a process so far: clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


@contextmanager
def measured(pids: Iterable[int], found: list[float]) -> Iterator[None]:
    """Add to `found` the processor seconds that this process and those of `pids` take."""
    pids = list(pids)
    before = time.process_time() + sum(map(cpu_s, pids))
    yield
    found.append(time.process_time() + sum(map(cpu_s, pids)) - before)


# Turns a second


def ready_game(job: Job) -> tuple[int, float, float]:
    """Play a game, and of the time in which its bots are ready return the turns and the seconds, processor and wall."""
    with Match(job, {quick.sha256: quick.data}) as match:
        began: list[tuple[float, float]] = []
        match.play(on_progress=lambda _: began or began.append((time.process_time(), time.perf_counter())))
        # The first turn is left out, and the goodbyes are in it.
        referee_s, wall_s = time.process_time() - began[0][0], time.perf_counter() - began[0][1]
        bots_us = sum(used for used in match.played.cpu_us[1:] if used is not None)
        if match.played.faults:
            raise AssertionError(f"expected no fault: {match.played.faults}")
        return match.game.decisions_made - 1, referee_s + bots_us / 1e6, wall_s


def ready_rate(job: Job) -> float:
    """Return turns a second of a game whose bots are ready: the referee, the engine and the jail."""
    turns, cpu_seconds, _wall_s = ready_game(job)
    return turns / cpu_seconds


def turns_of_a_game() -> list[dict[str, Any]]:
    """Return all the turns that a game of quick bots asks, as they are sent."""
    game = Game(RULES, SEATS, bytes(32))
    feeds = [Feed(seat) for seat in range(SEATS)]
    turns = []
    while game.decision is not None:
        turn = feeds[game.decision.seat].messages(game)[-1]
        turns.append({**turn, "bank_s": 60.0})
        game.play(turn["legal"][-1])
    return turns


def raw_rate(pids: list[int], pipes: list[tuple[int, int]], turns: list[dict[str, Any]], codec: Any) -> float:
    """Return round trips a second through bare pipes, seat by seat as the turns come."""
    encode, decode = codec
    found: list[float] = []
    with measured(pids, found):
        for number, turn in enumerate(turns):
            to_bot, from_bot = pipes[number % SEATS]
            os.write(to_bot, encode(turn) + b"\n")
            decode(os.read(from_bot, 65536))
    return len(turns) / found[0]


CODECS = {
    "raw pipes, json": (lambda message: json.dumps(message).encode(), json.loads),
    "raw pipes, msgspec": (msgspec.json.encode, msgspec.json.decode),
}


def kaggle() -> Callable[[], float]:
    """Return what gives steps a second of kaggle-environments' rock, paper, scissors between two constant agents."""
    import kaggle_environments

    def agent(_observation: Any, _configuration: Any) -> int:
        return 0

    def rate() -> float:
        env, found = kaggle_environments.make("rps", configuration={"episodeSteps": 200}), list[float]()
        with measured((), found):
            env.run([agent, agent])
        return len(env.steps) / found[0]

    return rate


def chess(stack: ExitStack) -> Callable[[], float]:
    """Return what gives moves a second of python-chess' SimpleEngine with a trivial engine."""
    import chess
    import chess.engine

    engine = stack.enter_context(chess.engine.SimpleEngine.popen_uci([*PYTHON, UCI]))
    pid = engine.transport.get_pid()

    def rate(moves: int = 200) -> float:
        board, found = chess.Board(), list[float]()
        with measured([pid], found):
            for _ in range(moves):
                played = engine.play(board, chess.engine.Limit(nodes=1)).move
                board.push(played)
                if board.ply() == 40:
                    board.reset()
        return moves / found[0]

    return rate


def raw_bots(stack: ExitStack) -> tuple[list[int], list[tuple[int, int]]]:
    """Start a quick bot for each seat on bare pipes; return their pids and their pipes."""
    pipe = subprocess.PIPE
    command = [*PYTHON, QUICK]
    bots = [stack.enter_context(subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0)) for _ in range(SEATS)]
    for bot in bots:
        stack.callback(bot.kill)
    return [bot.pid for bot in bots], [(bot.stdin.fileno(), bot.stdout.fileno()) for bot in bots if bot.stdin]


LIMITS = {"raw pipes, json": 0.75, "kaggle-environments, rps": 50, "python-chess, SimpleEngine": 6}


def compare(rounds: int) -> None:
    """Print turns a second, and their ratios to what the peers reach."""
    turns = turns_of_a_game()
    sizes = [len(msgspec.json.encode(turn)) for turn in turns]
    print(f"a turn has {median(sizes):.0f} bytes (median of {len(sizes)}, up to {max(sizes)})")
    with ExitStack() as stack:
        pids, pipes = raw_bots(stack)
        peers: dict[str, Callable[[], float]] = {
            name: lambda codec=codec: raw_rate(pids, pipes, turns, codec) for name, codec in CODECS.items()
        }
        with suppress(ImportError):
            peers["kaggle-environments, rps"] = kaggle()
        with suppress(ImportError):
            peers["python-chess, SimpleEngine"] = chess(stack)
        rates: dict[str, list[float]] = {"games, four bots": [], **{name: [] for name in peers}}
        for _, job in zip(range(rounds), jobs(), strict=False):
            rates["games, four bots"].append(ready_rate(job))
            for name, peer in peers.items():
                rates[name].append(peer())
    for name, found in rates.items():
        ratio = median(ours / theirs for ours, theirs in zip(rates["games, four bots"], found, strict=True))
        limit = f", limit {LIMITS[name]}" if name in LIMITS else ""
        print(f"{name:28} {median(found):8,.0f} a second; games are {ratio:.2f} times as fast{limit}")


# Two at once


def spin_rate(seconds: float = 0.3) -> float:
    """Return rounds of an empty loop a second, on the wall as all of `two_at_once`."""
    began, rounds = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        for _ in range(10_000):
            pass
        rounds += 1
    return rounds / (time.perf_counter() - began)


def wall_rate() -> float:
    """Return turns a second on the wall of some games between bots that are ready."""
    games = [ready_game(job) for _, job in zip(range(3), jobs(), strict=False)]
    return sum(turns for turns, _, _ in games) / sum(wall_s for _, _, wall_s in games)


def at_once(work: str, cores: list[int]) -> float:
    """Return the sum of the rates of `work`, done at once by a process on each core."""
    command = [sys.executable, __file__, "--only", work, "--core"]
    workers = [subprocess.Popen([*command, str(core)], stdout=subprocess.PIPE, text=True) for core in cores]
    return sum(float(worker.communicate()[0]) for worker in workers)


def two_at_once(rounds: int, cores: list[int]) -> None:
    """Print what a second core adds for referees, against what it adds for loops that share nothing."""
    gains: dict[str, list[float]] = {"spin": [], "games": []}
    for _ in range(rounds):
        for work, found in gains.items():
            found.append(at_once(work, cores) / median([at_once(work, cores[:1]), at_once(work, cores[1:])]))
    ratio = median(gains["games"]) / median(gains["spin"])
    for work, found in gains.items():
        print(f"two cores, {work:17} {median(found):8.2f} times one")
    print(f"two cores, ratio of gains    {ratio:8.2f}, limit 0.93")


# Starts and memory


def first_decision(*, ahead: bool = False) -> tuple[float, float]:
    """Return the seconds from a job to its first decision: on the wall, and of everybody's processor time.

    With `ahead` there are jails that wait for the bots, as between the matches of a worker.
    """
    job = next(jobs(1))
    if ahead:
        start_ahead()
    # What empty jails took before is not in their bots' time.
    before = sum(map(cpu_s, descendants(os.getpid())))
    wall, own, theirs = time.perf_counter(), time.process_time(), children_s()
    first: list[tuple[float, float]] = []
    with Match(job, {quick.sha256: quick.data}) as match:

        def on_progress(_: int) -> None:
            if not first:
                first.append((time.perf_counter() - wall, time.process_time() - own))

        match.play(on_progress=on_progress)
        # What the bots took for the rest of the game does not belong to it.
        later = sum(used for used in match.played.cpu_us[1:] if used is not None) / 1e6
    return first[0][0], first[0][1] + children_s() - theirs - later - before


def bare_starts() -> tuple[float, float]:
    """Return the seconds, as `first_decision`, in which four jails with nothing but an interpreter and `json` are up.

    Less is not to be had for four bots, whoever starts them.
    """
    command = [bwrap_path(), *MODES[require()], *COMMON, "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib"]
    command += ["--symlink", "usr/lib64", "/lib64", "--remount-ro", "/", "--", *PYTHON, "import json; print()"]
    wall, own, theirs = time.perf_counter(), time.process_time(), children_s()
    with ExitStack() as stack:
        bots = [stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE)) for _ in range(SEATS)]
        for bot in bots:
            if bot.stdout is None or bot.stdout.readline() != b"\n":
                raise AssertionError("expected an interpreter that starts")
        passed = time.perf_counter() - wall
    return passed, time.process_time() - own + children_s() - theirs


def children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def starts(rounds: int) -> None:
    """Print how long a match takes to its first decision, and what it could take at least."""
    ways: dict[str, Callable[[], tuple[float, float]]] = {
        "four bare bwraps, python, json": bare_starts,
        "task to first decision": first_decision,
        "the same, started ahead": lambda: first_decision(ahead=True),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(2 * rounds):
        for name, way in ways.items():
            found[name].append(way())
    for name, pairs in found.items():
        walls, cpus = zip(*pairs, strict=True)
        limit = ", limit 120" if name.startswith("task") else ""
        print(
            f"{name:30} {median(cpus) * 1000:6.1f} ms of processor time, {median(walls) * 1000:.1f} on "
            f"the wall (least {min(cpus) * 1000:.1f} and {min(walls) * 1000:.1f}){limit}"
        )
    ratio = median(
        ours / bare
        for (_, ours), (_, bare) in zip(found["task to first decision"], found[next(iter(ways))], strict=True)
    )
    print(f"task to first decision, to bare {ratio:5.2f} times")


def memory() -> None:
    """Print what bots hold that allocate nothing themselves, the jail about them included."""
    before = set(descendants(os.getpid()))
    with ExitStack() as stack:
        bots = [
            stack.enter_context(BotProcess({"bot.py": QUICK.encode()}, limits=Limits(memory_mb=256)))
            for _ in range(ALIVE)
        ]
        for bot in bots:
            bot.start({"type": "hello"})
        held = dict.fromkeys(("Pss", "Private_Clean", "Private_Dirty"), 0)
        processes = set(descendants(os.getpid())) - before
        for pid in processes:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                key, _, rest = line.partition(":")
                if key in held:
                    held[key] += int(rest.split()[0])
    each = {key: kib / 1024 / ALIVE for key, kib in held.items()}
    print(
        f"{ALIVE} bots alive, each         {each['Pss']:8.1f} MB (PSS, {len(processes)} processes), "
        f"{each['Private_Clean'] + each['Private_Dirty']:.1f} private, limit 25"
    )


def house_games(rounds: int) -> None:
    """Print how fast house bots play whole matches, their thoughts and their starts in it, and what records pack to."""
    house = [load_bot(f"house:{name}") for name in ("random", "careful", "spoiler", "counter")]
    series = Series(house, Rules.preset("classic"), rounds, "bench", duplicate=True)
    began, own, theirs = time.perf_counter(), time.process_time(), children_s()
    games = [play_fixture(fixture, {bot.sha256: bot.data for bot in house}) for fixture in series.fixtures()]
    used = time.process_time() - own + children_s() - theirs
    turns = sum(game.turns for game in games)
    print(
        f"house bots, start and all    {turns / used:8,.0f} turns a second of processor time, "
        f"{turns / (time.perf_counter() - began):,.0f} on the wall"
    )
    packed = median(len(record.pack(game.record)) for game in games)
    print(f"packed record, house bots    {packed:8,.0f} bytes, limit 2,048")


def profile() -> None:
    """Print where the referee spends its time."""
    profiler = cProfile.Profile()
    for _, job in zip(range(5), jobs(), strict=False):
        with Match(job, {quick.sha256: quick.data}) as match, profiler:
            match.play()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(30)


def main() -> None:
    """Measure what is asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cores = sorted(os.sched_getaffinity(0))
    parser.add_argument("rounds", nargs="?", type=int, default=9)
    parser.add_argument("--core", type=int, default=cores[-1], help="the processor to pin all to (the last)")
    parser.add_argument("--only", choices=["spin", "games"], help="print one rate on the wall and nothing else")
    parser.add_argument("--two", action="store_true", help="measure what a second processor adds instead, on the wall")
    parser.add_argument("--profile", action="store_true", help="profile the referee instead")
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    if options.only:
        print(spin_rate() if options.only == "spin" else wall_rate())
        return
    print(f"mode {require()}, pinned to one core, {options.rounds} rounds")
    if options.profile:
        profile()
        return
    if options.two:
        two_at_once(options.rounds, [cores[0], cores[-1]])
        return
    memory()
    starts(options.rounds)
    compare(options.rounds)
    house_games(options.rounds)


if __name__ == "__main__":
    main()
