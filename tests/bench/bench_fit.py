"""Whether the fit's figures are true, how fast it is, and what duplicate sets save.

    python tests/bench/bench_fit.py --pools [--count 50] [--games 1600]  # simulated pools whose strengths are known
    python tests/bench/bench_fit.py --versions [--count 50]              # a version that leaps away from the one before
    python tests/bench/bench_fit.py --speed                              # 100,000 pairings of 500 entries, one core
    python tests/bench/bench_fit.py --duplicates [--deals 400] [--hands 1]  # sets and independent deals, house bots

**Pools.** 40 entrants, strengths of SD 200 Elo, four at a table. What an entrant shows in a game is its strength, its
seat's advantage, the luck of what its seat is dealt, and its own ups and downs; whoever shows more stands before, and
who shows the same to within a step shares a place. Some deals are wild: then luck is large for all four. None of it is
what the fit assumes (Gumbel noise, and ties as Davidson has them). An entrant's *true strength on the Elo scale* is
its strength in the unit in which the odds of being ahead rather than behind come nearest to 10^(difference / 400) over
all pairs of such a pool; there is one such unit for a way of generating, found before anything is drawn. As the fit
says only differences can be known, both are counted from the pool's mean. The oracle is told everything but the
strengths (shape and size of all noise, share of wild deals, seats, step) and finds them by maximum likelihood.

**Versions.** In such a pool, one entrant of which is an anchor, another plays 60 games, then leaps up or down by so
much with a new version, and plays on. Counted is how often the intervals of both versions cover their true strengths.

**Duplicates.** House bots play every deal from every seat, in this process, without the jail; the games are kept in a
file of the system's temporary directory and played once. Two things are compared, for each two of the bots that are
no whitewash, at the same number of games:

- the variance of the mean margin in points, with the matches of a set on one deal and on deals of their own;
- the fit's error, from resampled logs, as a part of the difference itself, since a set's places are surer than a
  match's and so its scale is wider: (error / difference)^2 x games. Once against the same unit on independent deals
  (as many matches with the seats rotated, rated by their sum), once against matches on independent deals rated one
  by one, and the matches of a set rated one by one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# One core: what is measured is the fit, not how many cores there are.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy.optimize import minimize, minimize_scalar  # noqa: E402
from scipy.special import rel_entr  # noqa: E402
from scipy.stats import kendalltau  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))

from games.engine import Game, Rules  # noqa: E402
from ladder.elo import SCALE  # noqa: E402
from ladder.fit import Fit, Log, Node, fit  # noqa: E402
from tests.games.kit_tables import Seat, house  # noqa: E402

Floats = NDArray[np.float64]
UNIT = SCALE / np.log(10)
ENTRANTS, SPREAD, SEATS = 40, 200.0, 4
FINE = np.linspace(-30.0, 30.0, 12_001)
MIDDLE = len(FINE) // 2


def normal(sd: float) -> Floats:
    return np.exp(-((FINE / sd) ** 2) / 2)


def logistic(_: float) -> Floats:
    return 1 / np.cosh(FINE / 2) ** 2


def worst_first(_: float) -> Floats:
    """Gumbel noise upside down: places come about from the last one up."""
    return np.exp(FINE - np.exp(FINE))


@dataclass(frozen=True)
class Way:
    """A way of generating places. `luck` are the deviations of calm and wild deals, which are equally frequent."""

    name: str
    ups_and_downs: Callable[[float], Floats]
    scale: float
    luck: tuple[float, float]
    step: float = 0.3
    seats: tuple[float, ...] = (0.15, 0.0, -0.1, -0.05)

    def noises(self) -> list[tuple[Floats, Floats]]:
        """Return for calm and wild deals the distribution of luck with ups and downs, and its density, on FINE."""
        found = []
        for luck in self.luck:
            density = np.convolve(self.ups_and_downs(self.scale), normal(luck), mode="same")
            density /= density.sum()
            found.append((np.cumsum(density), density / (FINE[1] - FINE[0])))
        return found


WAYS = (
    Way("normal", normal, 1.0, (0.7, 1.4)),
    Way("logistic", logistic, 1.0, (0.9, 2.2), step=0.4),
    Way("worst first", worst_first, 1.0, (0.6, 1.5)),
)


class World:
    """A way with what follows from it: the odds of pairs, and the unit of its Elo scale."""

    def __init__(self, way: Way) -> None:
        self.way, self.noises = way, way.noises()
        self.edges = np.arange(-24.0, 24.0, way.step)
        self.unit = self._calibrate()

    def cells(self, strengths: Floats, noise: int) -> tuple[Floats, Floats]:
        """Return how likely each step is shown, shape (..., steps), with its derivative by strength."""
        cumulative, density = self.noises[noise]
        at = self.edges - strengths[..., None]
        return np.diff(np.interp(at, FINE, cumulative), axis=-1), -np.diff(np.interp(at, FINE, density), axis=-1)

    def ahead(self, differences: Floats) -> tuple[Floats, Floats]:
        """Return how often one of two so far apart is ahead, and how often level, at neutral seats."""
        ahead, level = np.zeros_like(differences), np.zeros_like(differences)
        for noise in range(2):
            one, other = self.cells(differences / 2, noise)[0], self.cells(-differences / 2, noise)[0]
            ahead += (one[..., 1:] * np.cumsum(other, axis=-1)[..., :-1]).sum(axis=-1) / 2
            level += (one * other).sum(axis=-1) / 2
        return ahead, level

    def _calibrate(self) -> float:
        """Return the Elo of one unit of what is shown."""
        apart, weight = np.polynomial.hermite_e.hermegauss(41)
        apart *= SPREAD * np.sqrt(2)

        def unlike(unit: float) -> float:
            ahead, level = self.ahead(apart / unit)
            share = ahead / (1 - level)
            told = 1 / (1 + 10 ** (-apart / SCALE))
            return float(weight @ (rel_entr(share, told) + rel_entr(1 - share, 1 - told)))

        return float(minimize_scalar(unlike, bounds=(60, 600), method="bounded", options={"xatol": 1e-6}).x)

    def play(self, rng: np.random.Generator, strengths: Floats, games: int) -> Log:
        """Return the log of games at tables that are drawn round by round, seats included; strengths in Elo."""
        entrants = len(strengths)
        rounds = [rng.permutation(entrants)[: entrants // SEATS * SEATS] for _ in range(games * SEATS // entrants + 1)]
        return self.play_at(rng, strengths, np.concatenate(rounds).reshape(-1, SEATS)[:games])

    def play_at(self, rng: np.random.Generator, strengths: Floats, nodes: NDArray[np.int64]) -> Log:
        """Return the log of one game at each of these tables, shape (games, 4): who sits in which seat."""
        games = len(nodes)
        shown = strengths[nodes] / self.unit + np.array(self.way.seats)
        wild = rng.integers(0, 2, games)
        for noise, (cumulative, _) in enumerate(self.noises):
            drawn = np.interp(rng.random(shown.shape), cumulative, FINE)
            shown += np.where(wild[:, None] == noise, drawn, 0.0)
        shown = np.floor((shown - self.edges[0]) / self.way.step)
        places = 1 + (shown[:, None, :] > shown[:, :, None]).sum(axis=2)
        return Log(nodes, places, np.tile(np.arange(SEATS), (games, 1)))

    def oracle(self, log: Log, start: Floats) -> Floats:
        """Return the strengths in Elo that are most likely by what generated the log, from a start near them."""
        order = np.argsort(log.places, axis=1, kind="stable")
        nodes, places = np.take_along_axis(log.nodes, order, 1), np.take_along_axis(log.places, order, 1)
        seats = np.take_along_axis(log.seats, order, 1)
        shapes = [((nodes[rows], seats[rows]), shape) for shape, rows in _by_shape(places)]

        def unlike(strengths: Floats) -> tuple[float, Floats]:
            value, gradient = 0.0, strengths * 2e-6
            # By noise, entrant and seat: there are fewer of these than games.
            tables = [self.cells(strengths[:, None] + np.array(self.way.seats), noise) for noise in range(2)]
            for at, shape in shapes:
                likely, slope = self._likelihood([(cells[at], bends[at]) for cells, bends in tables], shape)
                value -= float(np.log(likely).sum())
                np.subtract.at(gradient, at[0], slope / likely[:, None])
            return value + 1e-6 * float(strengths @ strengths), gradient

        found = minimize(
            unlike, (start - start.mean()) / self.unit, jac=True, method="L-BFGS-B", options={"ftol": 1e-8}
        )
        assert found.success or np.abs(found.jac).max() < 0.05, found.message
        return (found.x - found.x.mean()) * self.unit

    @staticmethod
    def _likelihood(tables: Sequence[tuple[Floats, Floats]], shape: Sequence[int]) -> tuple[Floats, Floats]:
        """Return how likely each game's places are (games,) and the derivatives (games, seats), best first."""
        games, seats, _ = tables[0][0].shape
        likely, slopes = np.zeros(games), np.zeros((games, seats))
        ends = np.cumsum(shape)
        levels = list(zip(ends - np.array(shape), ends, strict=True))
        for cells, bends in tables:
            products = [cells[:, first:end].prod(axis=1) for first, end in levels]
            above, below = [np.ones_like(products[0])], [np.ones_like(products[0])]
            for product in products[:-1]:
                above.append(_beyond((product * above[-1])[:, ::-1])[:, ::-1])
            for product in products[:0:-1]:
                below.append(_beyond(product * below[-1]))
            for (first, end), product, over, under in zip(levels, products, above, below[::-1], strict=True):
                rest = over * under / 2
                for one in range(first, end):
                    others = np.prod([cells[:, other] for other in range(first, end) if other != one], axis=0)
                    slopes[:, one] += (bends[:, one] * others * rest).sum(axis=1)
                if first == 0:
                    likely += (product * rest).sum(axis=1)
        return likely, slopes


def _beyond(cells: Floats) -> Floats:
    """Return for each step the sum over the steps before it."""
    return np.hstack([np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)[:, :-1]])


def _by_shape(places: NDArray[np.int64]) -> Iterator[tuple[list[int], NDArray[np.int64]]]:
    shapes, which = np.unique(places, axis=0, return_inverse=True)
    for index, shape in enumerate(shapes):
        yield np.unique(shape, return_counts=True)[1].tolist(), np.flatnonzero(which.ravel() == index)


@dataclass
class Tally:
    """What is counted over the pools of one way."""

    entrants: int = 0
    covered: int = 0
    pairs: int = 0
    pairs_covered: int = 0
    separated: int = 0
    wrong: int = 0
    neighbours: int = 0
    neighbours_wrong: int = 0
    bands: int = 0
    tau: float = 0.0
    oracle_tau: float = 0.0
    squares: float = 0.0
    variances: float = 0.0
    oracle_squares: float = 0.0
    dispersion: float = 0.0
    slope: float = 0.0

    def count(self, truth: Floats, found: Fit, oracle: Floats) -> None:
        """Count one pool."""
        truth = truth - truth.mean()
        strengths = found.strengths - found.strengths.mean()
        self.entrants += len(truth)
        self.covered += int((np.abs(strengths - truth) <= found.half_widths).sum())
        everybody = np.arange(len(truth))
        upper = np.triu_indices(len(truth), 1)
        apart, true_apart = (np.subtract.outer(each, each)[upper] for each in (strengths, truth))
        self.pairs += len(apart)
        self.pairs_covered += int(
            (np.abs(apart - true_apart) <= 1.96 * found.se_of_differences(everybody)[upper]).sum()
        )
        bands = found.bands(everybody)
        band_apart = np.subtract.outer(bands, bands)[upper]
        is_wrong = band_apart * true_apart > 0
        self.separated += int((band_apart != 0).sum())
        self.wrong += int(is_wrong.sum())
        self.neighbours += int((abs(band_apart) == 1).sum())
        self.neighbours_wrong += int((is_wrong & (abs(band_apart) == 1)).sum())
        self.bands += int(bands.max())
        self.tau += float(kendalltau(strengths, truth).statistic)
        self.oracle_tau += float(kendalltau(oracle, truth).statistic)
        self.squares += float(((strengths - truth) ** 2).mean())
        self.oracle_squares += float(((oracle - truth) ** 2).mean())
        self.variances += float((found.errors**2).mean())
        self.dispersion += found.dispersion
        self.slope += float(strengths @ truth / (truth @ truth))

    def tell(self, way: Way, level: float, count: int) -> None:
        """Print what was counted over so many pools."""
        told = f"{np.sqrt(self.squares / count):.1f} Elo, told {np.sqrt(self.variances / count):.1f}"
        print(
            f"\n{way.name}: {count} pools of {ENTRANTS}; two equals are level in {100 * level:.1f} % of games\n"
            f"  intervals    cover {_percent(self.covered, self.entrants)} of {self.entrants:,} entrants (93 to 97), "
            f"{_percent(self.pairs_covered, self.pairs)} of differences\n"
            f"  Kendall tau  {self.tau / count:.4f}, the oracle's {self.oracle_tau / count:.4f}: "
            f"short by {(self.oracle_tau - self.tau) / count:+.4f} (at most 0.01)\n"
            f"  bands        {self.bands / count:.1f} a pool; of {self.separated:,} separated pairs "
            f"{_percent(self.wrong, self.separated)} wrong (below 5), "
            f"of neighbouring bands' {_percent(self.neighbours_wrong, self.neighbours)}\n"
            f"  RMS error    {told}, the oracle's {np.sqrt(self.oracle_squares / count):.1f}; "
            f"slope {self.slope / count:.3f}, dispersion {self.dispersion / count:.3f}",
            flush=True,
        )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f} %"


def pools(count: int, games: int) -> None:
    """Print what the fit makes of so many pools of each way."""
    for way in WAYS:
        world, tally = World(way), Tally()
        level = world.ahead(np.zeros(1))[1][0]
        for number in range(count):
            rng = np.random.default_rng([number, games])
            truth = rng.normal(0.0, SPREAD, ENTRANTS)
            log = world.play(rng, truth, games)
            found = fit(log, [Node()] * ENTRANTS)
            tally.count(truth, found, world.oracle(log, found.strengths))
        tally.tell(way, level, count)


LEAPS, BEFORE, AFTER = (0, 100, 200, 400, 800), 60, (10, 20, 40)


def versions(count: int) -> None:
    """Print how often the intervals of a version that leapt, and of the one before it, cover the truth."""
    world = World(WAYS[0])
    print(f"\n{count} pools, half of the leaps up; {BEFORE} games of the version before, in Elo")
    for leap in LEAPS:
        for games in AFTER:
            covered, widths = np.zeros(2), np.zeros(2)
            for number in range(count):
                rng = np.random.default_rng([number, leap, games])
                found, truth = _leapt(world, rng, leap * (-1) ** number, games)
                own = slice(ENTRANTS, ENTRANTS + 2)
                covered += np.abs(found.strengths - truth)[own] <= found.half_widths[own]
                widths += found.half_widths[own]
            old, new = (f"{_percent(int(covered[i]), count)} covered, ±{widths[i] / count:.0f}" for i in range(2))
            print(f"  leap of {leap:3}, {games} games after it: new one {new}; old one {old}", flush=True)


def _leapt(world: World, rng: np.random.Generator, leap: int, games: int) -> tuple[Fit, Floats]:
    """Return the fit of a pool in which one entrant leapt, the last two nodes, and all true strengths."""
    pool = rng.normal(0.0, SPREAD, ENTRANTS)
    truth = np.append(pool, [-leap / 2, leap / 2])
    tables = [rng.permutation(ENTRANTS)[:SEATS] for _ in range(ENTRANTS * BEFORE // SEATS + BEFORE + games)]
    nodes = np.array(tables)
    at = np.arange(BEFORE + games)
    nodes[at, rng.integers(0, SEATS, len(at))] = np.where(at < BEFORE, ENTRANTS, ENTRANTS + 1)
    of = [Node.anchor(float(truth[0])), *[Node(0.0)] * ENTRANTS, Node.version_of(ENTRANTS)]
    return fit(world.play_at(rng, truth, nodes), of), truth


PAIRINGS, ENTRIES, NEW = 100_000, 500, 100


def speed() -> None:
    """Print how long a cold and a warm fit take, beside a factorisation of a matrix in the same run."""
    rng = np.random.default_rng(1)
    strengths = rng.normal(0.0, SPREAD, ENTRIES)
    log = World(WAYS[0]).play(rng, strengths, PAIRINGS)
    known = fit(Log(log.nodes[:-NEW], log.places[:-NEW], log.seats[:-NEW]), [Node()] * ENTRIES)
    matrix = rng.normal(size=(2000, 2000))
    matrix = matrix @ matrix.T + 2000 * np.eye(2000)
    peer = _best_of(lambda: np.linalg.cholesky(matrix))
    print(
        f"\n{PAIRINGS:,} pairings of {ENTRIES}, processor seconds, best of 3; Cholesky of 2,000 x 2,000: {peer:.3f} s"
    )
    for name, start, limit in (("cold", None, 10.0), (f"warm, {NEW} new", known, 1.0)):
        took = _best_of(lambda start=start: fit(log, [Node()] * ENTRIES, start))
        print(f"  {name:14} {took:.2f} s, limit {limit:.0f} s; {took / peer:.1f} factorisations")
    cold, warm = fit(log, [Node()] * ENTRIES), fit(log, [Node()] * ENTRIES, known)
    differ = np.abs(cold.strengths - warm.strengths).max()
    print(f"  they differ by {differ:.1e} Elo; steps {cold.iterations}, {warm.iterations}")


def _best_of(run: Callable[[], object]) -> float:
    found = []
    for _ in range(3):
        began = time.process_time()
        run()
        found.append(time.process_time() - began)
    return min(found)


BOTS = ("random", "careful", "spoiler", "counter")
CLOSE = ((1, 2), (1, 3), (2, 3))
"""Of these whoever is better is not plain after a few games."""
RESAMPLED = 300


def duplicates(deals: int, hands: int) -> None:
    """Print what duplicate sets save; `hands` 0 is for whole games to 250 points."""
    totals, places, seats = _played(deals, hands)
    count = len(BOTS)
    at_each = np.arange(count)
    rng = np.random.default_rng(0)

    def apart(which: NDArray[np.int64], at: NDArray[np.int64] | None = None) -> Floats:
        nodes = np.tile(np.arange(count), (len(which), 1))
        found = fit(Log(nodes, which, np.full_like(nodes, -1) if at is None else at), [Node()] * count)
        return np.array([found.strengths[b] - found.strengths[a] for a, b in CLOSE])

    def one_by_one(drawn: NDArray[np.int64]) -> Floats:
        rotation = rng.integers(0, count, deals)
        return apart(places[drawn, rotation], seats[drawn, rotation])

    def summed(drawn: NDArray[np.int64]) -> Floats:
        drawn = drawn[: deals // count * count].reshape(-1, count)
        return apart(_placed(totals[drawn, at_each].sum(axis=1)))

    def sets(drawn: NDArray[np.int64]) -> Floats:
        return apart(_placed(totals[drawn].sum(axis=1)))

    def sets_one_by_one(drawn: NDArray[np.int64]) -> Floats:
        return apart(places[drawn].reshape(-1, count), seats[drawn].reshape(-1, count))

    ways = {
        "singly": (one_by_one, 1),
        "summed": (summed, 1),
        "sets": (sets, count),
        "sets, singly": (sets_one_by_one, count),
    }
    needed = {}
    for name, (way, games) in ways.items():
        found = np.array([way(rng.integers(0, deals, deals)) for _ in range(RESAMPLED)])
        needed[name] = found.var(axis=0) / found.mean(axis=0) ** 2 * games
    print(
        f"\n{deals} deals of {hands or 'as many as it takes'} hands, {', '.join(BOTS)}; games needed, times those that"
    )
    for against in ("summed", "singly"):
        for name in ("sets", "sets, singly"):
            ratio = needed[name] / needed[against]
            mean = np.exp(np.log(ratio).mean())
            print(f"  independent deals rated {against:7} need: {name:13} {mean:.2f}, by pair {ratio.round(2)}")
    margins = np.array([totals[:, :, a] - totals[:, :, b] for a, b in CLOSE])
    ratio = count * margins.mean(axis=2).var(axis=1) / margins.reshape(len(CLOSE), -1).var(axis=1)
    print(
        f"  variance of the mean margin in points: {ratio.mean():.2f} of independent deals', by pair {ratio.round(2)}"
    )


def _placed(totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return places by the lowest sum, as the ledger places the entries of a set."""
    return 1 + (totals[:, None, :] < totals[:, :, None]).sum(axis=2)


def _played(deals: int, hands: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return totals, places and seats by deal, rotation and bot; whatever was played before is read."""
    kept = Path(tempfile.gettempdir()) / f"soureh-bench-fit-{hands}.jsonl"
    lines = kept.read_text().splitlines() if kept.exists() else []
    with kept.open("a") as file:
        for number in range(len(lines), deals * len(BOTS)):
            lines.append(json.dumps(_play(*divmod(number, len(BOTS)), hands)))
            file.write(lines[-1] + "\n")
            file.flush()
    table = np.array([json.loads(line) for line in lines[: deals * len(BOTS)]])
    totals, places, seats = np.moveaxis(table.reshape(deals, len(BOTS), 3, len(BOTS)), 2, 0)
    return totals, places, seats


def _play(deal: int, rotation: int, hands: int) -> tuple[list[int], list[int], list[int]]:
    """Return one game's totals, places and seats by bot."""
    count = len(BOTS)
    rules = Rules.preset("classic", **({"end": "hands", "hands": hands} if hands else {}))
    game = Game(rules, count, hashlib.sha256(f"{','.join(BOTS)}:{deal}".encode()).digest(), [""] * count)
    seats = [(bot - rotation) % count for bot in range(count)]
    players = [Seat(house(BOTS[(seat + rotation) % count]), seat, game) for seat in range(count)]
    while (decision := game.decision) is not None:
        game.play(players[decision.seat].decide(game))
    result = game.result
    return [result.totals[seat] for seat in seats], [result.places[seat] for seat in seats], seats


def main() -> None:
    """Run the parts that were asked for, all without any."""
    parser = argparse.ArgumentParser(description="Whether the fit is true and fast, and what duplicate sets save.")
    for part in ("pools", "versions", "speed", "duplicates"):
        parser.add_argument(f"--{part}", action="store_true")
    for name, default in (("count", 50), ("games", 1600), ("deals", 400), ("hands", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    all_of_it = not (asked.pools or asked.versions or asked.speed or asked.duplicates)
    if asked.speed or all_of_it:
        speed()
    if asked.duplicates or all_of_it:
        duplicates(asked.deals, asked.hands)
    if asked.versions or all_of_it:
        versions(asked.count)
    if asked.pools or all_of_it:
        pools(asked.count, asked.games)


if __name__ == "__main__":
    main()
