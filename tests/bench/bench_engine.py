"""How fast the engine is, against its peers in the same run.

    python -m pip install -e '.[bench]'
    python tests/bench/bench_engine.py [ROUNDS] [--profile]

Everybody plays whole games at random from Python, dealing included, with the same cheap choice. Rounds are short and
interleaved and take processor time; of each the best counts as well as the median: on a shared machine the best is what
the program can do. "floor" is no game: it is what no engine in pure Python can leave out that deals as the rules say.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from random import Random
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from games.engine import Game, Rules, Sampler, fixed_seats, record
from games.engine.cards import SORTED_DECK
from games.engine.shuffle import Shuffler

RULES = Rules.preset("classic")
SEATS = 4
SEEDS = count()


def new_game() -> Game:
    """Return an undecided game of its own seed."""
    return Game(RULES, SEATS, next(SEEDS).to_bytes(32, "big"))


def play_on(game: Game, rng: Random, limit: int = 1 << 30) -> Game:
    """Play at random to the end, or up to `limit` decisions."""
    random = rng.random
    while game.result is None and limit:
        legal = game.legal()
        game.play(legal[int(random() * len(legal))])
        limit -= 1
    return game


# Decisions a second


def soureh() -> int:
    """Play one game and return the number of decisions."""
    game, random = new_game(), Random(1).random
    while legal := game.legal():
        game.play(legal[int(random() * len(legal))])
    return game.decisions_made


def hearts() -> Callable[[], int]:
    """Return the peer of OpenSpiel: a few games of hearts, its cards dealt one by one as it has it."""
    import pyspiel

    game, random = pyspiel.load_game("hearts"), Random(1).random

    def play() -> int:
        decisions = 0
        for _ in range(8):
            state = game.new_initial_state()
            while not state.is_terminal():
                decisions += not state.is_chance_node()
                legal = state.legal_actions()
                state.apply_action(legal[int(random() * len(legal))])
        return decisions

    return play


def uno() -> Callable[[], int]:
    """Return the peer of RLCard: a game of UNO in its environment."""
    import rlcard

    env, random = rlcard.make("uno"), Random(1).random

    def play() -> int:
        state, _player = env.reset()
        decisions = 0
        while not env.is_over():
            legal = list(state["legal_actions"])
            state, _player = env.step(legal[int(random() * len(legal))])
            decisions += 1
        return decisions

    return play


class Nothing:
    """The least that a Python object with `legal` and `play` does: one look-up each, and a note of the move."""

    def __init__(self, moves: Sequence[str]) -> None:
        self._moves = tuple(moves)
        self._known = {move: move for move in moves}
        self._log: list[str] = []

    def legal(self) -> tuple[str, ...]:
        """Return the moves, which are always the same."""
        return self._moves

    def play(self, move: str) -> None:
        """Note the move."""
        self._log.append(self._known[move])


def floor() -> Callable[[], int]:
    """Return a player of no rules: for each hand of a real game its decks, and as many empty decisions."""
    hands = [(len(hand.moves), len(hand.reshuffles)) for hand in play_on(new_game(), Random(1))._hands]
    moves, random = new_game().legal(), Random(1).random
    pile = SORTED_DECK[32:]

    def play() -> int:
        shuffler = Shuffler(next(SEEDS).to_bytes(32, "big"), [""] * SEATS)
        for number, (decisions, reshuffles) in enumerate(hands, 1):
            shuffler.deal(number)
            for made in range(reshuffles):
                shuffler.reshuffle(number, made + 1, pile)
            game = Nothing(moves)
            for _ in range(decisions):
                legal = game.legal()
                game.play(legal[int(random() * len(legal))])
        return sum(decisions for decisions, _reshuffles in hands)

    return play


# Microseconds


def after(decisions: int, wanted: Callable[[Sampler], bool] | None = None) -> Iterator[Game]:
    """Yield games at a turn, so many decisions on."""
    while True:
        game = play_on(new_game(), Random(1), decisions)
        if game.decision and (wanted is None or wanted(sampler_of(game))):
            yield game


def sampler_of(game: Game) -> Sampler:
    """Return a sampler for the seat that is to decide."""
    assert game.decision is not None
    seat = game.decision.seat
    return Sampler(game.rules, game.view(seat), game.log_for(seat, own_draws=True))


def best_us(work: Callable[[], object], *, repeat: int = 400) -> float:
    """Return the best time of `work` in microseconds."""
    work()
    found = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found) * 1e6


def one_play(game: Game) -> Callable[[], object]:
    """Return what plays the game's next decision and then the one after, and so on."""
    rng = Random(2)

    def play() -> None:
        legal = game.legal()
        game.play(legal[int(rng.random() * len(legal))])

    return play


def figures() -> Iterator[tuple[str, float, str]]:
    """Yield what is measured in microseconds or bytes, with its limit."""
    game = next(after(24))
    games = islice(after(24), 9)
    discards = [best_us(lambda game=game: game.copy().play("d")) - best_us(game.copy) for game in games]
    play = median(discards)
    copy = best_us(game.copy)
    yield "play, a discard (us)", play, ""
    yield "copy (us)", copy, f"{copy / play:.1f} times a play, limit 3"
    plain = [sampler_of(game) for game in islice(after(24, lambda sampler: not sampler.is_vouched), 9)]
    called = [sampler_of(game) for game in islice(after(24, lambda sampler: sampler.is_vouched), 9)]
    rng = Random(3)
    yield "sample (us)", median(best_us(lambda s=s: s.sample(rng)) for s in plain), "limit 60"
    yield "sample, a call stands (us)", median(best_us(lambda s=s: s.sample(rng)) for s in called), "limit 500"
    docs = [doc_of(play_on(new_game(), Random(1))) for _ in range(20)]
    yield (
        "verify (us a game)",
        median(best_us(lambda doc=doc: record.verify(doc), repeat=5) for doc in docs),
        "limit 8,000",
    )
    yield "packed, random play (bytes)", median(len(record.pack(doc)) for doc in docs), "limit 2,048"
    yield "as JSON (bytes)", median(len(json.dumps(doc)) for doc in docs), ""


def doc_of(game: Game) -> dict[str, object]:
    """Return the record of a finished game."""
    seats = [{"name": f"player{seat}", "kind": "bot"} for seat in range(SEATS)]
    ms = [0] * game.decisions_made
    return record.build(
        game, id=f"{0:032x}", played="2026-11-30T09:15:00Z", seats=seats, seating=fixed_seats(SEATS), ms=ms
    )


def main() -> None:
    """Print rates against the peers that are installed, then the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", nargs="?", type=int, default=100)
    parser.add_argument("--profile", action="store_true", help="profile random play instead")
    options = parser.parse_args()
    if options.profile:
        profile()
        return
    players: dict[str, Callable[[], int]] = {"soureh": soureh, "floor": floor()}
    for name, peer in {"OpenSpiel hearts": hearts, "RLCard uno": uno}.items():
        with suppress(ImportError):
            players[name] = peer()
    rates: dict[str, list[float]] = {name: [] for name in players}
    for _ in range(options.rounds):
        for name, play in players.items():
            start = time.process_time()
            decisions = play()
            rates[name].append(decisions / (time.process_time() - start))
    for name, found in rates.items():
        ratios = ", ".join(
            f"{each} {max(rates[each]) / max(found):.2f} ({median(rates[each]) / median(found):.2f})"
            for each in ("soureh", "floor")
        )
        print(f"{name:18} {max(found):10,.0f} ({median(found):,.0f}) decisions/s   times as fast: {ratios}")
    for name, figure, limit in figures():
        print(f"{name:30} {figure:10,.1f}   {limit}")


def profile() -> None:
    """Print where random play spends its time."""
    profiler = cProfile.Profile()
    with profiler:
        for _ in range(20):
            soureh()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(20)


if __name__ == "__main__":
    main()
