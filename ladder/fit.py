"""The fit: every entry's strength from the whole log at once, with what is not known about it. Pure arithmetic.

The model is Plackett and Luce's with ties: a pairing's places come about from the top down, and at each step a set of
entries that are level with each other is chosen from those that are left, with odds of

    tie(size of the set) · geometric mean of 10^(strength / 400) over the set        (tie(1) = 1)

So one entry is ahead of another rather than behind it with odds of 10^(difference / 400), as on the Elo scale, and its
strength at a table is its node's plus its seat's. The logarithm of the likelihood is concave in strengths, seat effects
and the logarithms of the tie parameters, which are fitted together; normal priors keep what has little or nothing to
tell finite. There is one optimum, and Newton's method finds it from any start.

Sources: Luce 1959 and Plackett 1975 for the choices, Davidson 1970 and Firth, Kosmidis and Turner 2019 ("Davidson-Luce
model for multi-item choice with ties", arXiv:1909.07123) for the ties.

It reads no database, keeps nothing between calls and rounds nothing. All strengths, errors and seat effects are in Elo.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import ndtri

from ladder.elo import SCALE

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

INITIAL = 1500.0
ENTRY_SD = 350.0
"""How far entries lie apart before anything is known: 95 % within 700 Elo of the initial strength."""

VERSION_SD = 250.0
"""How far a version lies from the one before it: 95 % within 500 Elo. Far more than most changes of a bot bring, for
what is too narrow here makes the interval of a leap false, and the old version's with it, until some hundred pairings
have outweighed it. It costs little: after 40 pairings an interval is a tenth wider than at 80."""

SEAT_SD = 30.0
"""Seats differ by little where the deal rotates; without this a few pairings could tell otherwise."""

TIE_MEAN, TIE_SD = math.log(0.2), 2.0
"""The logarithm of a tie parameter before anything is known: about one tie in eleven between equals, within a factor
of fifty."""

MIN_ENTRIES, MAX_ENTRIES = 2, 4
NOBODY = -1  # fills the rows of pairings of fewer than four
NO_SEAT = -1

WIDE = 75.0
LEVEL = 0.95
Z = float(ndtri((1 + LEVEL) / 2))
BAND_ERROR = 0.0125


class Node(NamedTuple):
    """One version of an entry, and what is assumed of it before any pairing counts.

    Its strength is normal around `mean` with `sd`, both in Elo; with `parent`, the index of an earlier node, around
    the parent's strength plus `mean`. A node without a parent whose `sd` is 0 is fixed at `mean`.
    """

    mean: float = INITIAL
    sd: float = ENTRY_SD
    parent: int | None = None

    @classmethod
    def version_of(cls, parent: int, *, gain: float = 0.0, sd: float = VERSION_SD) -> Node:
        """Return a version that follows on the node with the index `parent`."""
        return cls(gain, sd, parent)

    @classmethod
    def anchor(cls, strength: float) -> Node:
        """Return a node that is fixed at a strength: it holds the scale in place."""
        return cls(strength, 0.0)


@dataclass(frozen=True)
class Log:
    """Pairings that count, in any order: what was rated, with who was where.

    All three have shape (pairings, 4) and hold whole numbers; a pairing of fewer fills its row up with -1. `nodes` are
    indices of nodes, `places` 1 for the best with equal ones tied (only their order counts), `seats` from 0 to the
    table's size - 1, or -1 throughout a pairing in which everybody took every seat (a duplicate set).

    Raises:
        ValueError: the shapes differ, a pairing has fewer than two entries or one node twice, or seats that no table
            of its size has.
    """

    nodes: Ints
    places: Ints
    seats: Ints

    def __post_init__(self) -> None:
        for name in ("nodes", "places", "seats"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        _check_log(self.nodes, self.places, self.seats)

    def __len__(self) -> int:
        return len(self.nodes)

    @classmethod
    def of(cls, pairings: Iterable[tuple[Sequence[int], Sequence[int], Sequence[int] | None]]) -> Log:
        """Return the log of pairings given as (nodes, places, seats or None), of 2 to 4 entries each."""
        rows = list(pairings)
        for nodes, places, seats in rows:
            sizes = {len(nodes), len(places), len(nodes) if seats is None else len(seats)}
            if len(sizes) > 1 or not MIN_ENTRIES <= len(nodes) <= MAX_ENTRIES:
                raise ValueError(f"expected nodes, places and seats of one length, 2 to 4: {nodes}, {places}, {seats}")
        lengths = np.array([len(nodes) for nodes, _, _ in rows], dtype=np.int64)
        return cls.ragged(
            lengths,
            [node for nodes, _, _ in rows for node in nodes],
            [place for _, places, _ in rows for place in places],
            [seat for nodes, _, seats in rows for seat in (seats if seats is not None else [NO_SEAT] * len(nodes))],
        )

    @classmethod
    def ragged(
        cls,
        lengths: Sequence[int] | Ints,
        nodes: Sequence[int] | Ints,
        places: Sequence[int] | Ints,
        seats: Sequence[int] | Ints,
    ) -> Log:
        """Return the log of pairings whose entries stand one after the other; `lengths` says how many each has."""
        sizes = np.asarray(lengths, dtype=np.int64)
        if sizes.size and not (sizes.min() >= MIN_ENTRIES and sizes.max() <= MAX_ENTRIES):
            raise ValueError(f"expected 2 to 4 entries in each pairing: {sizes.min()} to {sizes.max()}")
        filled = np.arange(MAX_ENTRIES) < sizes[:, None]
        columns = []
        for name, values in (("nodes", nodes), ("places", places), ("seats", seats)):
            flat = np.asarray(values)
            if flat.shape != (filled.sum(),):
                raise ValueError(f"expected {filled.sum()} {name}, as the lengths add up to: {flat.shape}")
            column = np.full(filled.shape, NOBODY, dtype=np.int64)
            column[filled] = _whole(name, flat)
            columns.append(column)
        return cls(*columns)


@dataclass(frozen=True)
class Start:
    """Where a fit may begin. Any values will do: what is near the optimum saves time and changes nothing.

    `strengths` has one for each of the first nodes; nodes beyond them begin at what is assumed of them. `seats` has
    the effects of 2, 3 and 4 seats one after the other (9), `ties` the logarithms of the tie parameters of orders 2
    to 4 (3); either may be empty.
    """

    strengths: Sequence[float] | Floats
    seats: Sequence[float] | Floats = ()
    ties: Sequence[float] | Floats = ()


@dataclass(frozen=True)
class Fit:
    """What the log tells, at its optimum. Indices are those of the nodes that were given.

    `strengths` and `errors` (standard errors) have shape (nodes,), `covariance` (nodes, nodes), in Elo and Elo²; what
    is fixed has an error of 0. Where nothing is fixed a log can only tell differences: the strengths lie where what
    was assumed puts them, and errors and covariance are those of the distances from the mean of all nodes, each
    weighted by how much the log tells of it. So newcomers of whom nothing is known widen nobody else's interval.

    `pairings` says how many pairings each node has. `dispersion` is how much more the places vary than the model
    says, 1 where it holds: the covariance is the inverse of the posterior's curvature (Laplace) times it.
    """

    strengths: Floats
    errors: Floats
    covariance: Floats
    pairings: Ints
    seat_effects: Mapping[int, Floats]
    """By the table's size: what each seat adds to a strength; they sum to 0."""
    ties: Mapping[int, float]
    """By how many are level: the tie parameter. Of two equals' pairings ties(2) / (2 + ties(2)) end level."""
    dispersion: float
    iterations: int

    def __len__(self) -> int:
        return len(self.strengths)

    @property
    def start(self) -> Start:
        """Return where a later fit of a longer log may begin."""
        seats = np.concatenate([self.seat_effects[size] for size in SIZES])
        return Start(self.strengths, seats, [math.log(self.ties[order]) for order in ORDERS])

    @cached_property
    def half_widths(self) -> Floats:
        """By how much each strength's 95 % interval reaches up and down, shape (nodes,)."""
        return Z * self.errors

    @cached_property
    def is_provisional(self) -> NDArray[np.bool_]:
        """Whether each interval is still wider than 75 Elo up and down, shape (nodes,).

        At 75 two such entries' difference is known to within 106 Elo: one may be taken for up to 65 % against the
        other where it is even. How many pairings that takes depends on what they tell: some 40 of four seats, 85 of
        two, fewer for a version of a bot that was known, and no number for one that only ever wins.
        """
        return self.half_widths > WIDE

    def interval(self, node: int) -> tuple[float, float]:
        """Return the ends of the strength's 95 % interval."""
        return self.strengths[node] - self.half_widths[node], self.strengths[node] + self.half_widths[node]

    def covariance_of(self, nodes: Sequence[int] | Ints) -> Floats:
        """Return the covariance matrix of some nodes' strengths, in their order."""
        index = np.asarray(nodes, dtype=np.int64)
        return self.covariance[np.ix_(index, index)]

    def se_of_difference(self, node: int, other: int) -> float:
        """Return the standard error of the difference of two strengths."""
        return float(self.se_of_differences([node, other])[0, 1])

    def se_of_differences(self, nodes: Sequence[int] | Ints) -> Floats:
        """Return the standard error of each difference of two of the nodes, shape (n, n)."""
        return _spreads(self.covariance_of(nodes))

    def probability_ahead(self, node: int, other: int) -> float:
        """Return how likely `node` is to end ahead of `other` in their next pairing, a tie counting half.

        It allows for what is not known of the difference, so it is nearer to ½ than at the strengths themselves.
        """
        return float(self.probabilities_ahead([node, other])[0, 1])

    def probabilities_ahead(self, nodes: Sequence[int] | Ints) -> Floats:
        """Return how likely each node is to end ahead of each other, shape (n, n); ½ on the diagonal."""
        strengths = self.strengths[np.asarray(nodes, dtype=np.int64)]
        return shares_ahead(strengths, self.covariance_of(nodes), self.ties[2])

    def bands(self, nodes: Sequence[int] | Ints) -> Ints:
        """Return each node's rank band, 1 for the best, shape (n,): who cannot be told apart shares one.

        Down the order of strengths, a band ends before the first node that is behind the band's first with a
        probability of at least 98.75 %: that one begins the next band. So each band's first is told apart from each
        other band's, and of the pairs in neighbouring bands fewer than 5 % are the wrong way round (twice the
        2.5 % of a 95 % interval would be more: a node has a band above and one below). Equal strengths keep the
        order of `nodes`. Give it nodes that are not provisional: behind a wide one nobody can be told apart from it.
        """
        return _bands(self.strengths[np.asarray(nodes, dtype=np.int64)], self.se_of_differences(nodes))


def fit(log: Log, nodes: Sequence[Node], start: Fit | Start | None = None) -> Fit:
    """Return the most likely strengths, given the log and what is assumed of the nodes (MAP), with their errors.

    The log's order does not matter, to the last bit. `start` saves time and leaves the result the same to within
    1e-6 Elo; it may be a fit of fewer nodes, provided that the nodes it had still stand first.

    Raises:
        ValueError: the log names a node that is not there, a parent does not stand before its child, a mean is not
            finite, a deviation is neither positive nor, without a parent, 0, or the start has more nodes than there
            are or is not finite.
    """
    prior = _Prior.of(nodes)
    problem = _Problem(list(_groups(_patterns(log, len(nodes)))), prior)
    return problem.tell(problem.solve(_begin(prior, start.start if isinstance(start, Fit) else start)))


def shares_ahead(strengths: Floats, covariance: Floats, tie: float) -> Floats:
    """Return how likely each of some nodes is to end ahead of each other, shape (n, n); ½ on the diagonal.

    Shapes (n,) and (n, n), in Elo and Elo²; `tie` is the tie parameter of order 2. A tie counts half.
    """
    return share_ahead(strengths[:, None] - strengths[None, :], _spreads(covariance), tie)


def share_ahead(difference: Floats, spread: Floats, tie: float) -> Floats:
    """Return how likely one is to end ahead who is stronger by `difference`, known to within `spread` (standard error).

    Any shape, in Elo; `tie` is the tie parameter of order 2. A tie counts half.
    """
    points, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE)
    share = np.zeros_like(difference)
    for point, weight in zip(points, weights / weights.sum(), strict=True):
        share += weight * _share(difference + point * spread, tie)
    return share


def _spreads(covariance: Floats) -> Floats:
    """Return the standard error of each difference, shape (n, n)."""
    variance = np.diag(covariance)
    # A difference of what is almost the same number may come out below 0.
    return np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2 * covariance, 0.0))


# From here on strengths are in natural units, where a difference of 1 makes the odds e to one.
UNIT = SCALE / math.log(10)
SIZES = range(MIN_ENTRIES, MAX_ENTRIES + 1)
ORDERS = SIZES
SEATS = sum(SIZES)
SEAT_STARTS = np.array([sum(range(MIN_ENTRIES, size)) for size in range(MAX_ENTRIES + 1)])
"""Where the effects of a table's seats stand among the nine, by its size."""
TIES = len(ORDERS)
BESIDE = SEATS + TIES  # what is fitted beside the strengths

QUADRATURE = 21
CHUNK = 1 << 14  # choices that are worked on at once: their tables stay in the processor's cache
MOST_NODES = 1 << 25
MOST_CODE = (1 << 31) - 1
"""What stands for nobody where an entry of a pairing is a number: node, place and seat in 25, 2 and 3 bits; two such
numbers fit into one of 64 bits."""
PRECISE = 3e-5
"""A step this small is the last: Newton's next one would be less than its square, some 1e-7 Elo."""
MOST_STEPS = 100


class _Patterns(NamedTuple):
    """The different pairings of a log with how often each occurs, in one order whatever that of the log.

    Arrays of shape (patterns, 4): nodes in ascending order, NOBODY last.
    """

    nodes: Ints
    places: Ints
    seats: Ints
    counts: Floats


class _Group(NamedTuple):
    """Pairings of one shape: `levels` says how many share the first place, the next, and so on.

    Shapes are (entries, pairings), from the first place to the last, so that whoever is left to choose from stands in
    the last rows. `seats` are indices of seat effects, None for pairings in which everybody took every seat.
    """

    levels: tuple[int, ...]
    nodes: Ints
    seats: Ints | None
    counts: Floats  # (pairings,)

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield for each choice how many stand ahead already, and how many were chosen. The last one has no choice."""
        ahead = 0
        for level in self.levels:
            if len(self.nodes) - ahead >= MIN_ENTRIES:
                yield ahead, level
            ahead += level


class _Sets(NamedTuple):
    """All sets that may be chosen from so many entries: what each takes of each entry's strength and each tie.

    `design` has shape (2^size - 1, size + TIES). Its row i is the set whose members are the bits of i + 1. `products`
    holds the product of each two of its columns a <= b, of which `first` and `second` are the indices.
    """

    design: Floats
    products: Floats
    first: Ints
    second: Ints

    @classmethod
    def of(cls, size: int) -> _Sets:
        members = (np.arange(1, 1 << size)[:, None] >> np.arange(size)) & 1
        order = members.sum(axis=1)
        ties = order[:, None] == np.array(ORDERS)
        design = np.hstack([members / order[:, None], ties])
        first, second = np.triu_indices(size + TIES)
        return cls(design, design[:, first] * design[:, second], first, second)


SETS = {size: _Sets.of(size) for size in SIZES}


@dataclass(frozen=True)
class _Prior:
    """What is assumed of the nodes, in natural units: their precisions, and to what they are tied."""

    means: Floats
    precisions: Floats  # 0 where fixed
    parents: Ints  # NOBODY for none
    fixed: NDArray[np.bool_]

    @classmethod
    def of(cls, nodes: Sequence[Node]) -> _Prior:
        _check_nodes(nodes)
        means = np.array([node.mean for node in nodes], dtype=np.float64)
        sds = np.array([node.sd for node in nodes], dtype=np.float64)
        parents = np.array([NOBODY if node.parent is None else node.parent for node in nodes], dtype=np.int64)
        fixed = sds == 0
        return cls(means / UNIT, np.where(fixed, 0.0, (UNIT / np.where(fixed, 1.0, sds)) ** 2), parents, fixed)

    def __len__(self) -> int:
        return len(self.means)

    @cached_property
    def children(self) -> Ints:
        return np.flatnonzero(self.parents != NOBODY)

    def begin(self, known: Floats | None = None) -> Floats:
        """Return the strengths before any pairing, where those of the first nodes are not known."""
        strengths = self.means.copy()
        first = 0 if known is None else len(known)
        if known is not None:
            strengths[:first] = np.where(self.fixed[:first], strengths[:first], known)
        for child in self.children[self.children >= first]:  # a parent stands before its children
            strengths[child] += strengths[self.parents[child]]
        return strengths

    def residuals(self, strengths: Floats) -> Floats:
        residuals = strengths - self.means
        residuals[self.children] -= strengths[self.parents[self.children]]
        return residuals

    def pull(self, strengths: Floats) -> Floats:
        """Return the gradient of half the weighted sum of squares."""
        pull = self.precisions * self.residuals(strengths)
        np.subtract.at(pull, self.parents[self.children], pull[self.children])
        return pull

    def add_to(self, upper: Floats) -> None:
        """Add the precision matrix to the upper triangle of one of shape (>= nodes, >= nodes)."""
        own = np.arange(len(self))
        upper[own, own] += self.precisions
        children, parents = self.children, self.parents[self.children]
        np.add.at(upper, (parents, parents), self.precisions[children])
        upper[parents, children] -= self.precisions[children]


class _State(NamedTuple):
    """The negative logarithm of the posterior at a point, with its derivatives."""

    value: float
    gradient: Floats
    hessian: Floats  # its upper triangle; factoring it overwrites it
    scores: list[Floats]
    """By group, what each pairing adds to the slope by each of its entries: (entries, pairings)."""
    information: Floats
    """What the log alone tells of each node, by the curvature (nodes,)."""


class _Solution(NamedTuple):
    """The optimum, with the factored Hessian and the pairings' scores beside it."""

    point: Floats
    factor: _Factor
    scores: list[Floats]
    information: Floats
    steps: int


class _Problem:
    """A log with its priors. A point is: strengths (nodes), seat effects (SEATS), logarithms of ties (TIES)."""

    def __init__(self, groups: Sequence[_Group], prior: _Prior) -> None:
        self.groups, self.prior = groups, prior
        self.nodes = len(prior)
        self.size = self.nodes + BESIDE
        self.free = np.flatnonzero(np.concatenate([~prior.fixed, np.ones(BESIDE, dtype=bool)]))
        self.precisions = np.repeat([(UNIT / SEAT_SD) ** 2, TIE_SD**-2], [SEATS, TIES])
        self.centres = np.repeat([0.0, TIE_MEAN], [SEATS, TIES])

    def solve(self, point: Floats) -> _Solution:
        """Return the optimum, by Newton's method, each step halved until it descends."""
        state = self._evaluate(point)
        for steps in range(1, MOST_STEPS + 1):
            step = np.zeros(self.size)
            factor = _Factor(self._of_free(state.hessian))
            step[self.free] = factor.solve(-state.gradient[self.free])
            if np.abs(step).max(initial=0.0) < PRECISE:
                return _Solution(point + step, factor, state.scores, state.information, steps)
            point, state = self._descend(point, step, state)
        raise ArithmeticError(f"expected the fit to settle within {MOST_STEPS} steps: {np.abs(step).max()}")

    def _descend(self, point: Floats, step: Floats, state: _State) -> tuple[Floats, _State]:
        slope = float(state.gradient @ step)
        for _ in range(MOST_STEPS):
            tried = self._evaluate(point + step)
            # Near the optimum the fall is less than what rounding makes of the value.
            if tried.value <= state.value + 1e-4 * slope + 1e-12 * abs(state.value):
                return point + step, tried
            step, slope = step / 2, slope / 2
        raise ArithmeticError(f"expected a descent: value {state.value}, slope {slope}")

    def _of_free(self, matrix: Floats) -> Floats:
        return matrix if len(self.free) == self.size else matrix[np.ix_(self.free, self.free)]

    def _evaluate(self, point: Floats) -> _State:
        sums = _Sums(point, self.nodes)
        scores = [sums.add(group) for group in self.groups]
        strengths, aside = point[: self.nodes], point[self.nodes :] - self.centres
        gradient, hessian = -sums.slopes, sums.hessian()
        information = np.diag(hessian)[: self.nodes].copy()
        gradient[: self.nodes] += self.prior.pull(strengths)
        gradient[self.nodes :] += self.precisions * aside
        self.prior.add_to(hessian)
        rest = np.arange(self.nodes, self.size)
        hessian[rest, rest] += self.precisions
        squares = self.prior.precisions @ self.prior.residuals(strengths) ** 2 + self.precisions @ aside**2
        return _State(float(squares) / 2 - sums.value, gradient, hessian, scores, information)

    def tell(self, solution: _Solution) -> Fit:
        """Return what is known at the optimum."""
        covariance = np.zeros((self.nodes, self.nodes))
        free = self.free[:-BESIDE]
        covariance[np.ix_(free, free)] = solution.factor.inverse()[: len(free), : len(free)]
        dispersion = self._dispersion(solution.scores, covariance)
        if not self.prior.fixed.any():
            _count_from_mean(covariance, solution.information)
        covariance *= dispersion * UNIT**2
        strengths, seats, ties = np.split(solution.point, [self.nodes, self.nodes + SEATS])
        return Fit(
            strengths=UNIT * strengths,
            errors=np.sqrt(np.maximum(np.diag(covariance), 0.0)),
            covariance=covariance,
            pairings=self._pairings(),
            seat_effects={size: UNIT * seats[SEAT_STARTS[size] :][:size] for size in SIZES},
            ties={order: math.exp(tie) for order, tie in zip(ORDERS, ties, strict=True)},
            dispersion=dispersion,
            iterations=solution.steps,
        )

    def _pairings(self) -> Ints:
        pairings = np.zeros(self.nodes)
        for group in self.groups:
            _scatter(pairings, group.nodes, np.broadcast_to(group.counts, group.nodes.shape))
        return pairings.astype(np.int64)

    def _dispersion(self, scores: Sequence[Floats], covariance: Floats) -> float:
        """Return how much more the scores vary than the model says, as far as that is more than chance; 1 at least.

        By model the sum over pairings of score' C score is tr(C I), with I what the log tells without the priors.
        """
        free = ~self.prior.fixed
        prior = np.zeros((self.nodes, self.nodes))
        self.prior.add_to(prior)
        # Both are symmetric, and of one of them only the upper triangle is known.
        told = free.sum() - 2 * np.vdot(covariance, prior) + np.diag(covariance) @ np.diag(prior)
        seen = squares = 0.0
        for group, slopes in zip(self.groups, scores, strict=True):
            each = np.zeros(len(group.counts))
            for a, b in zip(*np.triu_indices(len(slopes)), strict=True):
                product = covariance[group.nodes[a], group.nodes[b]] * slopes[a] * slopes[b]
                each += product if a == b else 2 * product
            seen += float(group.counts @ each)
            squares += float(group.counts @ each**2)
        excess = seen - told
        if excess <= 0 or told <= 0:
            return 1.0
        # James and Stein's shrinkage: an excess no larger than its own error is none.
        return 1.0 + float(excess / told * max(0.0, 1.0 - squares / excess**2))


def _count_from_mean(covariance: Floats, weights: Floats) -> None:
    """Turn a covariance of strengths into that of their distances from their weighted mean."""
    if weights.sum() == 0:
        return
    weights = weights / weights.sum()
    with_mean = covariance @ weights
    covariance += weights @ with_mean - with_mean[:, None] - with_mean[None, :]


class _Factor:
    """A positive definite matrix, factored (Cholesky). Takes and overwrites its upper triangle."""

    def __init__(self, upper: Floats) -> None:
        # LAPACK counts by columns: to it this is a lower triangle, and nothing has to be copied.
        self.factor, info = lapack.dpotrf(upper.T, lower=1, clean=0, overwrite_a=1)
        if info:
            raise ArithmeticError(f"expected a positive definite matrix: row {info}")

    def solve(self, vector: Floats) -> Floats:
        solution: Floats = lapack.dpotrs(self.factor, vector, lower=1)[0]
        return solution

    def inverse(self) -> Floats:
        lower: Floats = np.tril(lapack.dpotri(self.factor, lower=1, overwrite_c=1)[0])
        return lower + np.tril(lower, -1).T


class _Sums:
    """The log-likelihood at a point, with its slopes and minus its second derivatives, summed over groups."""

    def __init__(self, point: Floats, nodes: int) -> None:
        self.point, self.nodes, self.size = point, nodes, len(point)
        self.value = 0.0
        self.slopes, self.node_node = np.zeros(self.size), np.zeros(self.size * self.size)
        self.beside = np.zeros(self.size * BESIDE)
        """By parameter, with seats and ties."""

    def add(self, group: _Group) -> Floats:
        """Add a group's part and return its slopes by entry, shape (entries, pairings)."""
        at_table = self.point[group.nodes]
        if group.seats is not None:
            at_table += self.point[self.nodes + group.seats]
        size, ties = len(at_table), self.point[-TIES:]
        # By entries, and by entries with ties.
        slopes, bends = np.zeros_like(at_table), np.zeros((size, size, at_table.shape[1]))
        with_ties = np.zeros((size, TIES, at_table.shape[1]))
        for ahead, level in group.steps():
            left = size - ahead
            sets, chosen = SETS[left], (1 << level) - 2
            shares, value = _shares(sets, at_table[ahead:], ties, chosen)
            self.value += float(group.counts @ value)
            expected = sets.design.T @ shares
            slopes[ahead:] += sets.design[chosen, :left, None] - expected[:left]
            self.slopes[-TIES:] += (sets.design[chosen, left:, None] - expected[left:]) @ group.counts
            for a, b, product in zip(sets.first, sets.second, sets.products.T @ shares, strict=True):
                product -= expected[a] * expected[b]
                if b < left:
                    bends[ahead + a, ahead + b] += product
                elif a < left:
                    with_ties[ahead + a, b - left] += product
                else:
                    row, column = self.size - TIES + a - left, SEATS + b - left
                    self.beside[row * BESIDE + column] += product @ group.counts
        self._scatter(group, slopes * group.counts, bends * group.counts, with_ties * group.counts)
        return slopes

    def _scatter(self, group: _Group, slopes: Floats, bends: Floats, with_ties: Floats) -> None:
        """Add what was found by entry to the nodes and the seats."""
        first, second = np.triu_indices(len(bends))
        _scatter(self.node_node, self._pairs(group.nodes[first], group.nodes[second]), bends[first, second])
        for place in [group.nodes] if group.seats is None else [group.nodes, self.nodes + group.seats]:
            _scatter(self.slopes, place, slopes)
            rows = place * BESIDE
            for tie in range(TIES):
                _scatter(self.beside, rows + (SEATS + tie), with_ties[:, tie])
            if group.seats is not None:
                for a, b in np.ndindex(bends.shape[:2]):
                    _scatter(self.beside, rows[a] + group.seats[b], bends[min(a, b), max(a, b)])

    def _pairs(self, first: Ints, second: Ints) -> Ints:
        """Return where two nodes stand in the upper triangle of the flat matrix."""
        return np.minimum(first, second) * self.size + np.maximum(first, second)

    def hessian(self) -> Floats:
        """Return minus the second derivatives; their upper triangle."""
        matrix = self.node_node.reshape(self.size, self.size)
        matrix[:, self.nodes :] = self.beside.reshape(self.size, BESIDE)
        return matrix


def _scatter(target: Floats, index: Ints, values: Floats) -> None:
    """Add each value to the target's element that its index names."""
    if index.size > len(target) / 8:
        target += np.bincount(index.ravel(), values.ravel(), len(target))
    else:
        np.add.at(target, index, values)


def _shares(sets: _Sets, at_table: Floats, ties: Floats, chosen: int) -> tuple[Floats, Floats]:
    """Return how likely each set was, shape (sets, pairings), and the logarithm for the one chosen, (pairings,)."""
    size = len(at_table)
    # Only differences matter; this keeps the exponentials in range.
    exponents = sets.design[:, :size] @ (at_table - at_table.max(axis=0))
    exponents += (sets.design[:, size:] @ ties)[:, None]
    log = exponents[chosen].copy()
    shares = np.exp(exponents, out=exponents)
    total = shares.sum(axis=0)
    shares /= total
    return shares, log - np.log(total)


def _share(difference: Floats, tie: float) -> Floats:
    """Return what share of the point a difference in Elo makes one of two expect."""
    half = np.exp(-np.abs(difference) / (2 * UNIT))
    behind = half * (half + tie / 2) / (1 + half * (half + tie))
    return np.where(difference < 0, behind, 1 - behind)


def _begin(prior: _Prior, start: Start | None) -> Floats:
    """Return the point at which to begin, of shape (nodes + BESIDE,)."""
    begin = [prior.begin(), np.zeros(SEATS), np.full(TIES, TIE_MEAN)]
    if start is not None:
        given = np.asarray(start.strengths, dtype=np.float64) / UNIT
        if given.ndim != 1 or len(given) > len(prior):
            raise ValueError(f"expected at most {len(prior)} strengths to start from: shape {given.shape}")
        begin[0] = prior.begin(given)
        for part, (values, scale) in enumerate([(start.seats, UNIT), (start.ties, 1.0)], start=1):
            if len(values):
                begin[part] = np.asarray(values, dtype=np.float64) / scale
    point = np.concatenate(begin)
    if len(point) != len(prior) + BESIDE or not np.isfinite(point).all():
        raise ValueError(f"expected finite strengths, {SEATS} seat effects and {TIES} ties to start from: {start}")
    return point


def _patterns(log: Log, nodes: int) -> _Patterns:
    """Count the different pairings."""
    if len(log) and log.nodes.max() >= nodes:
        raise ValueError(f"expected nodes below {nodes} in the log: {log.nodes.max()}")
    there = log.nodes != NOBODY
    # Only the order of places counts: each becomes how many stand before it.
    ahead = (log.places[:, None, :] < log.places[:, :, None]) & there[:, None, :]
    place, seat = ahead.sum(axis=2), log.seats + 1
    codes = np.where(there, log.nodes << 5 | place << 3 | seat, MOST_CODE)
    codes.sort(axis=1)
    keys = codes[:, 0] << 31 | codes[:, 1], codes[:, 2] << 31 | codes[:, 3]
    order = np.lexsort(keys)
    codes = codes[order]
    is_new = np.append(True, (codes[1:] != codes[:-1]).any(axis=1))[: len(codes)]
    counts = np.diff(np.append(np.flatnonzero(is_new), len(codes)))
    codes = codes[is_new]
    is_there = codes != MOST_CODE
    return _Patterns(
        np.where(is_there, codes >> 5, NOBODY),
        np.where(is_there, codes >> 3 & 3, MAX_ENTRIES),
        np.where(is_there, (codes & 7) - 1, NO_SEAT),
        counts.astype(np.float64),
    )


def _groups(patterns: _Patterns) -> Iterator[_Group]:
    """Yield the pairings by their shape, at most CHUNK of them at once."""
    entries = (patterns.nodes != NOBODY).sum(axis=1)
    order = np.argsort(patterns.places, axis=1, kind="stable")
    nodes, places, seats = (np.take_along_axis(column, order, axis=1) for column in patterns[:3])
    is_seated = seats[:, 0] != NO_SEAT
    # A place is how many stand ahead, so the places in order tell the shape; 4 stands for nobody.
    shapes = (is_seated << 12) + places @ (1 << np.array([9, 6, 3, 0]))
    for shape in np.unique(shapes):
        rows = np.flatnonzero(shapes == shape)
        size = entries[rows[0]]
        levels = tuple(int(level) for level in np.unique(places[rows[0], :size], return_counts=True)[1])
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            effects = SEAT_STARTS[size] + _columns(seats, part, size) if is_seated[rows[0]] else None
            yield _Group(levels, _columns(nodes, part, size), effects, patterns.counts[part])


def _columns(table: Ints, rows: Ints, size: int) -> Ints:
    return np.ascontiguousarray(table[rows, :size].T)


def _bands(strengths: Floats, spread: Floats) -> Ints:
    """Return each one's band; `spread` are the standard errors of differences, shape (n, n)."""
    order = np.argsort(-strengths, kind="stable")
    bands = np.empty(len(order), dtype=np.int64)
    band, first = 0, None
    for one in order:
        if first is None or strengths[first] - strengths[one] > -float(ndtri(BAND_ERROR)) * spread[first, one]:
            band, first = band + 1, one
        bands[one] = band
    return bands


def _whole(name: str, values: object) -> Ints:
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"expected whole numbers as {name}: {array.dtype}")
    return array.astype(np.int64)


def _check_log(nodes: Ints, places: Ints, seats: Ints) -> None:
    shapes = {array.shape for array in (nodes, places, seats)}
    if shapes != {(len(nodes), MAX_ENTRIES)}:
        raise ValueError(f"expected nodes, places and seats of shape (pairings, {MAX_ENTRIES}): {sorted(shapes)}")
    there = nodes != NOBODY
    entries = there.sum(axis=1)
    in_order, seats_in_order = np.sort(nodes, axis=1), np.sort(seats, axis=1)
    seated = np.arange(MAX_ENTRIES) - (MAX_ENTRIES - entries[:, None])
    for is_wrong, expected in (
        ((nodes < NOBODY) | (nodes >= MOST_NODES), f"nodes from 0 to {MOST_NODES - 1}"),
        (entries < MIN_ENTRIES, "2 entries at least"),
        ((in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != NOBODY), "each node once"),
        (there & (places < 1), "places from 1"),
        (~there & ((places != NOBODY) | (seats != NOBODY)), "places and seats only of entries"),
        (
            (seats_in_order != np.maximum(seated, NO_SEAT)) & (seats != NO_SEAT).any(axis=1, keepdims=True),
            "each seat of its size once, or none",
        ),
    ):
        wrong = is_wrong if is_wrong.ndim == 1 else is_wrong.any(axis=1)
        if wrong.any():
            row = int(wrong.argmax())
            found = f"{nodes[row].tolist()}, {places[row].tolist()}, {seats[row].tolist()}"
            raise ValueError(f"expected {expected} in pairing {row}: {found}")


def _check_nodes(nodes: Sequence[Node]) -> None:
    for index, node in enumerate(nodes):
        if not (math.isfinite(node.mean) and math.isfinite(node.sd)):
            raise ValueError(f"expected a finite mean and deviation of node {index}: {node}")
        if node.sd < 0 or (node.sd == 0 and node.parent is not None):
            raise ValueError(f"expected a deviation above 0, or 0 for an anchor, of node {index}: {node}")
        if node.parent is not None and not 0 <= node.parent < index:
            raise ValueError(f"expected a parent that stands before node {index}: {node}")
