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

VERSION_SD = 80.0
"""How far a version lies from the one before it: 95 % within 160 Elo. Twice what most changes of a bot bring, so that
a leap or a blunder shows after some dozen pairings, and a version that changed nothing keeps most of what was known."""

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
    def anchor(cls, strength: float, *, sd: float = 0.0) -> Node:
        """Return a node that is held at a strength, or close to it: it holds the scale in place."""
        return cls(strength, sd)


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
    is fixed has an error of 0. Where nothing is fixed only differences can be known: strengths are then counted from
    the mean of what was assumed of nodes without parents (weighted by 1 / sd²), and so are their errors.

    `pairings` says how many pairings each node has. `dispersion` is how much more the places vary than the model
    says, 1 where it holds; errors and covariance have been multiplied accordingly.
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
        covariance = self.covariance_of(nodes)
        variance = np.diag(covariance)
        # A difference of what is almost the same number may come out below 0.
        return np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2 * covariance, 0.0))

    def probability_ahead(self, node: int, other: int) -> float:
        """Return how likely `node` is to end ahead of `other` in their next pairing, a tie counting half.

        It allows for what is not known of the difference, so it is nearer to ½ than at the strengths themselves.
        """
        return float(self.probabilities_ahead([node, other])[0, 1])

    def probabilities_ahead(self, nodes: Sequence[int] | Ints) -> Floats:
        """Return how likely each node is to end ahead of each other, shape (n, n); ½ on the diagonal."""
        strengths = self.strengths[np.asarray(nodes, dtype=np.int64)]
        differences = strengths[:, None] - strengths[None, :]
        spread = self.se_of_differences(nodes)
        points, weights = np.polynomial.hermite_e.hermegauss(QUADRATURE)
        share = np.zeros_like(differences)
        for point, weight in zip(points, weights / weights.sum(), strict=True):
            share += weight * _share(differences + point * spread, self.ties[2])
        return share

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
    problem = _Problem(_patterns(log, len(nodes)), prior)
    values, iterations = problem.solve(_begin(prior, start.start if isinstance(start, Fit) else start))
    return problem.tell(values, iterations)


# From here on strengths are in natural units, where a difference of 1 makes the odds e to one.
UNIT = SCALE / math.log(10)
SIZES = range(MIN_ENTRIES, MAX_ENTRIES + 1)
ORDERS = SIZES
SEATS = sum(SIZES)
SEAT_STARTS = np.array([sum(range(MIN_ENTRIES, size)) for size in range(MAX_ENTRIES + 1)])
"""Where the effects of a table's seats stand among the nine, by its size; a tenth is that of no seat, always 0."""
TIES = len(ORDERS)

QUADRATURE = 21
CHUNK = 1 << 15  # choices that are worked on at once: their tables stay in the processor's cache
MOST_NODES = 1 << 25
MOST_CODE = (1 << 31) - 1
"""What stands for nobody where an entry of a pairing is a number: node, place and seat in 25, 2 and 3 bits; two such
numbers fit into one of 64 bits."""
PRECISE = 1e-5 / UNIT
"""A step this small is the last: Newton's next one would be its square, far below 1e-6 Elo."""
MOST_STEPS = 100


class _Patterns(NamedTuple):
    """The different pairings of a log with how often each occurs, in one order whatever that of the log.

    Arrays of shape (patterns, 4): nodes in ascending order, NOBODY last.
    """

    nodes: Ints
    places: Ints
    seats: Ints
    counts: Floats


class _Choices(NamedTuple):
    """Steps at which from `size` entries the best were chosen. Shapes (choices,) and (choices, size)."""

    size: int
    pattern: Ints
    position: Ints  # in the pattern's row
    nodes: Ints
    seats: Ints  # among the ten effects
    chosen: Ints  # the set, as an index of the sets of this size
    weights: Floats

    def part(self, rows: slice) -> _Choices:
        return _Choices(
            self.size,
            self.pattern[rows],
            self.position[rows],
            self.nodes[rows],
            self.seats[rows],
            self.chosen[rows],
            self.weights[rows],
        )


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

    @cached_property
    def roots(self) -> Floats:
        """The precisions of nodes without a parent, 0 for the others."""
        return np.where(self.parents == NOBODY, self.precisions, 0.0)

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

    def add_to(self, matrix: Floats) -> None:
        """Add the precision matrix to one of shape (>= nodes, >= nodes)."""
        own = np.arange(len(self))
        matrix[own, own] += self.precisions
        children, parents = self.children, self.parents[self.children]
        precisions = self.precisions[children]
        np.add.at(matrix, (parents, parents), precisions)
        matrix[children, parents] -= precisions
        matrix[parents, children] -= precisions


class _State(NamedTuple):
    """The negative logarithm of the posterior at a point, with its derivatives."""

    value: float
    gradient: Floats
    hessian: Floats


class _Problem:
    """A log with its priors. A point is: strengths (nodes), seat effects (SEATS), logarithms of ties (TIES)."""

    def __init__(self, patterns: _Patterns, prior: _Prior) -> None:
        self.patterns, self.prior = patterns, prior
        self.choices = [part for choices in _choices(patterns) for part in _split(choices)]
        self.is_seated = bool((patterns.seats != NO_SEAT).any())
        self.nodes = len(prior)
        self.size = self.nodes + SEATS + TIES
        self.free = np.flatnonzero(np.concatenate([~prior.fixed, np.ones(SEATS + TIES, dtype=bool)]))

    def solve(self, point: Floats) -> tuple[Floats, int]:
        """Return the optimum and the number of steps to it. Newton's method, each step halved until it descends."""
        state = self._evaluate(point)
        for steps in range(1, MOST_STEPS + 1):
            step = np.zeros(self.size)
            step[self.free] = _Factor(self._of_free(state.hessian)).solve(-state.gradient[self.free])
            if np.abs(step).max() < PRECISE:
                self.hessian = state.hessian
                return point + step, steps
            point, state = self._descend(point, step, state)
        raise ArithmeticError(f"expected the fit to settle within {MOST_STEPS} steps: {np.abs(step).max()}")

    def _descend(self, point: Floats, step: Floats, state: _State) -> tuple[Floats, _State]:
        slope = float(state.gradient @ step)
        while True:
            tried = self._evaluate(point + step)
            # Near the optimum the fall is less than what rounding makes of the value.
            if tried.value <= state.value + 1e-4 * slope + 1e-12 * abs(state.value):
                return point + step, tried
            step, slope = step / 2, slope / 2

    def _of_free(self, matrix: Floats) -> Floats:
        return matrix if len(self.free) == self.size else matrix[np.ix_(self.free, self.free)]

    def _evaluate(self, point: Floats) -> _State:
        sums = _Sums(self.nodes, is_seated=self.is_seated)
        for choices in self.choices:
            sums.add(choices, *self._split_point(point))
        strengths, seats, ties = point[: self.nodes], point[self.nodes : -TIES], point[-TIES:] - TIE_MEAN
        seat_precision, tie_precision = (UNIT / SEAT_SD) ** 2, TIE_SD**-2
        gradient, hessian = sums.gradient(), sums.hessian()
        pull = self.prior.pull(strengths)
        gradient += np.concatenate([pull, seat_precision * seats, tie_precision * ties])
        self.prior.add_to(hessian)
        rest = np.arange(self.nodes, self.size)
        hessian[rest, rest] += np.repeat([seat_precision, tie_precision], [SEATS, TIES])
        squares = float(self.prior.precisions @ self.prior.residuals(strengths) ** 2)
        squares += seat_precision * float(seats @ seats) + tie_precision * float(ties @ ties)
        return _State(squares / 2 - sums.value, gradient, hessian)

    def _split_point(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Return strengths, the ten seat effects, logarithms of ties."""
        return point[: self.nodes], np.append(point[self.nodes : -TIES], 0.0), point[-TIES:]

    def tell(self, point: Floats, iterations: int) -> Fit:
        """Return what is known at the optimum."""
        covariance = np.zeros((self.size, self.size))
        covariance[np.ix_(self.free, self.free)] = _Factor(self._of_free(self.hessian)).inverse()
        covariance = covariance[: self.nodes, : self.nodes]
        dispersion = self._dispersion(point, covariance)
        if not self.prior.fixed.any():
            # Nothing tells where the scale lies: what the priors say of it is independent of all differences.
            covariance = covariance - 1 / self.prior.roots.sum()
        covariance *= max(1.0, dispersion) * UNIT**2
        strengths, seats, ties = self._split_point(point)
        return Fit(
            strengths=UNIT * strengths,
            errors=np.sqrt(np.maximum(np.diag(covariance), 0.0)),
            covariance=covariance,
            pairings=self._pairings(),
            seat_effects={size: UNIT * seats[SEAT_STARTS[size] :][:size] for size in SIZES},
            ties={order: math.exp(tie) for order, tie in zip(ORDERS, ties, strict=True)},
            dispersion=dispersion,
            iterations=iterations,
        )

    def _pairings(self) -> Ints:
        rows = np.repeat(self.patterns.counts, MAX_ENTRIES)
        nodes = self.patterns.nodes.ravel()
        there = nodes != NOBODY
        return np.bincount(nodes[there], rows[there], minlength=self.nodes).astype(np.int64)

    def _dispersion(self, point: Floats, covariance: Floats) -> float:
        """Return how much more the pairings' scores vary than the model says: tr(C J) / tr(C I)."""
        residuals = np.zeros(self.patterns.nodes.shape)
        told = 0.0
        split = self._split_point(point)
        for choices in self.choices:
            sets = SETS[choices.size]
            share = _shares(choices, *split)[0]
            expected = share @ sets.design[:, : choices.size]
            rows = choices.pattern[:, None], choices.position
            residuals[rows] += sets.design[choices.chosen, : choices.size] - expected
            blocks = covariance[choices.nodes[:, :, None], choices.nodes[:, None, :]]
            scaled = np.einsum("nab,sa,sb->ns", blocks, sets.design[:, : choices.size], sets.design[:, : choices.size])
            inner = np.einsum("nab,na,nb->n", blocks, expected, expected)
            told += float(choices.weights @ ((share * scaled).sum(axis=1) - inner))
        nodes = np.where(self.patterns.nodes == NOBODY, 0, self.patterns.nodes)
        blocks = covariance[nodes[:, :, None], nodes[:, None, :]]
        seen = float(self.patterns.counts @ np.einsum("nab,na,nb->n", blocks, residuals, residuals))
        return seen / told if told > 0 else 1.0


class _Factor:
    """A positive definite matrix, factored (Cholesky)."""

    def __init__(self, matrix: Floats) -> None:
        self.factor, info = lapack.dpotrf(matrix, lower=0, clean=0)
        if info:
            raise ArithmeticError(f"expected a positive definite matrix: row {info}")

    def solve(self, vector: Floats) -> Floats:
        solution: Floats = lapack.dpotrs(self.factor, vector, lower=0)[0]
        return solution

    def inverse(self) -> Floats:
        upper: Floats = np.triu(lapack.dpotri(self.factor, lower=0)[0])
        return upper + np.triu(upper, 1).T


class _Sums:
    """The log-likelihood with its derivatives, summed over choices."""

    def __init__(self, nodes: int, *, is_seated: bool) -> None:
        self.nodes, self.is_seated = nodes, is_seated
        self.value = 0.0
        self.of_nodes, self.of_seats, self.of_ties = np.zeros(nodes), np.zeros(SEATS + 1), np.zeros(TIES)
        self.node_node = np.zeros(nodes * nodes)  # the upper triangle
        self.node_seat, self.node_tie = np.zeros(nodes * (SEATS + 1)), np.zeros((nodes, TIES))
        self.seat_seat, self.seat_tie = np.zeros((SEATS + 1) ** 2), np.zeros((SEATS + 1, TIES))
        self.tie_tie = np.zeros((TIES, TIES))

    def add(self, choices: _Choices, strengths: Floats, seats: Floats, ties: Floats) -> None:
        size, sets = choices.size, SETS[choices.size]
        shares, value = _shares(choices, strengths, seats, ties)
        self.value += float(choices.weights @ value)
        weights = choices.weights[:, None]
        expected = shares @ sets.design
        slopes = weights * (sets.design[choices.chosen] - expected)
        bends = weights * (shares @ sets.products - expected[:, sets.first] * expected[:, sets.second])
        np.add.at(self.of_nodes, choices.nodes, slopes[:, :size])
        self.of_ties += slopes[:, size:].sum(axis=0)
        pairs = {(int(a), int(b)): bends[:, i] for i, (a, b) in enumerate(zip(sets.first, sets.second, strict=True))}
        for (a, b), bend in pairs.items():
            if b < size:
                np.add.at(self.node_node, choices.nodes[:, a] * self.nodes + choices.nodes[:, b], bend)
            elif a < size:
                np.add.at(self.node_tie[:, b - size], choices.nodes[:, a], bend)
            else:
                self.tie_tie[a - size, b - size] += bend.sum()
        if self.is_seated:
            self._add_seats(choices, slopes, pairs)

    def _add_seats(self, choices: _Choices, slopes: Floats, pairs: Mapping[tuple[int, int], Floats]) -> None:
        size = choices.size
        np.add.at(self.of_seats, choices.seats, slopes[:, :size])
        for a in range(size):
            for b in range(size):
                bend = pairs[min(a, b), max(a, b)]
                np.add.at(self.node_seat, choices.nodes[:, a] * (SEATS + 1) + choices.seats[:, b], bend)
                np.add.at(self.seat_seat, choices.seats[:, a] * (SEATS + 1) + choices.seats[:, b], bend)
            for tie in range(TIES):
                np.add.at(self.seat_tie[:, tie], choices.seats[:, a], pairs[a, size + tie])

    def gradient(self) -> Floats:
        """Return the gradient of the negative log-likelihood."""
        return -np.concatenate([self.of_nodes, self.of_seats[:-1], self.of_ties])

    def hessian(self) -> Floats:
        """Return the Hessian of the negative log-likelihood."""
        node_node = self.node_node.reshape(self.nodes, self.nodes)
        node_node = node_node + np.triu(node_node, 1).T
        node_seat = self.node_seat.reshape(self.nodes, SEATS + 1)[:, :-1]
        seat_seat = self.seat_seat.reshape(SEATS + 1, SEATS + 1)[:-1, :-1]
        seat_tie = self.seat_tie[:-1]
        tie_tie = self.tie_tie + np.triu(self.tie_tie, 1).T
        return np.block(
            [
                [node_node, node_seat, self.node_tie],
                [node_seat.T, seat_seat, seat_tie],
                [self.node_tie.T, seat_tie.T, tie_tie],
            ]
        )


def _shares(choices: _Choices, strengths: Floats, seats: Floats, ties: Floats) -> tuple[Floats, Floats]:
    """Return how likely each set was, shape (choices, sets), and the logarithm for the one chosen, (choices,)."""
    sets, size = SETS[choices.size], choices.size
    at_table = strengths[choices.nodes] + seats[choices.seats]
    # Only differences matter; this keeps the exponentials in range.
    at_table -= at_table.max(axis=1, keepdims=True)
    exponents = at_table @ sets.design[:, :size].T + sets.design[:, size:] @ ties
    rows = np.arange(len(exponents))
    chosen = exponents[rows, choices.chosen]
    shares = np.exp(exponents, out=exponents)
    total = shares.sum(axis=1, keepdims=True)
    shares /= total
    return shares, chosen - np.log(total[:, 0])


def _share(difference: Floats, tie: float) -> Floats:
    """Return what share of the point a difference in Elo makes one of two expect."""
    half = np.exp(-np.abs(difference) / (2 * UNIT))
    behind = half * (half + tie / 2) / (1 + half * (half + tie))
    return np.where(difference < 0, behind, 1 - behind)


def _begin(prior: _Prior, start: Start | None) -> Floats:
    """Return the point at which to begin, of shape (nodes + SEATS + TIES,)."""
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
    if len(point) != len(prior) + SEATS + TIES or not np.isfinite(point).all():
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


def _choices(patterns: _Patterns) -> Iterator[_Choices]:
    """Yield the choices of which the places came about, by the number of entries to choose from."""
    left = patterns.nodes != NOBODY
    entries = left.sum(axis=1)
    effects = np.where(patterns.seats == NO_SEAT, SEATS, SEAT_STARTS[entries][:, None] + patterns.seats)
    while (has_choice := left.sum(axis=1) >= MIN_ENTRIES).any():
        places = np.where(left, patterns.places, MAX_ENTRIES)
        best = left & (places == places.min(axis=1, keepdims=True))
        for size in SIZES:
            rows = np.flatnonzero(left.sum(axis=1) == size)
            if len(rows):
                position = np.nonzero(left[rows])[1].reshape(-1, size)
                at = rows[:, None], position
                chosen = (best[at] << np.arange(size)).sum(axis=1) - 1
                yield _Choices(size, rows, position, patterns.nodes[at], effects[at], chosen, patterns.counts[rows])
        left &= ~best & has_choice[:, None]


def _split(choices: _Choices) -> Iterator[_Choices]:
    for start in range(0, len(choices.pattern), CHUNK):
        yield choices.part(slice(start, start + CHUNK))


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
