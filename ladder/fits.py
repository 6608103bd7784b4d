"""Fit a ladder's strengths to its whole ledger, and keep what the fit says where pages find it.

The ledger is what is fitted: every row that counts, and nothing else. Each version of a bot is a node whose prior is
the version before it; a person is one node. `fit` has the arithmetic; nothing here rates or ranks by itself.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from django.db import transaction
from django.db.models import F, Max, OuterRef, Q, Subquery
from django.utils import timezone

from bots.versions import playable_versions
from ladder import fit
from ladder.models import Entry, Fit, Ladder, RatingChange, Strength, StrengthPoint
from ladder.notices import announce

logger = logging.getLogger(__name__)

# A fit is made when something has been rated since the last one, at most so often, and for no more than a fiftieth
# of the time.
EVERY_S = 20
REST = 50
REST_ASKED = 5  # where somebody asked for it
# An entry's chart gets a point when its pairings have grown by a hundredth.
POINTS = 100
BATCH = 500
ROWS = 20_000
KEPT = 20


class Key(NamedTuple):
    """What a node stands for: an entry, and which version of its bot (None: a person, or a version deleted since)."""

    entry: int
    version: int | None


@dataclass(frozen=True)
class Nodes:
    """The nodes of a ladder's fit: those that were fitted before first, in the order in which they came about."""

    keys: list[Key]
    nodes: list[fit.Node]
    current: dict[int, int]
    """By entry: the index of the node that it plays with now."""


def due_ladders() -> list[int]:
    """Return the ladders in which something was rated, or the ledger rewritten, since a fit that is old enough."""
    latest = Fit.objects.filter(ladder=OuterRef("pk")).order_by("-id")
    ladders = Ladder.objects.exclude(rated=0).annotate(
        fitted=Subquery(latest.values("number")[:1]),
        fitted_replays=Subquery(latest.values("replays")[:1]),
        fitted_at=Subquery(latest.values("made_at")[:1]),
        took_ms=Subquery(latest.values("elapsed_ms")[:1]),
    )
    changed = ladders.filter(Q(fitted=None) | ~Q(fitted=F("rated")) | ~Q(fitted_replays=F("replays")))
    return [one.pk for one in changed if one.fitted_at is None or _is_old(one.fitted_at, one.took_ms)]


def is_rested(ladder_id: int) -> bool:
    """Tell whether a ladder's last fit is old enough for one that its organiser asks for."""
    last = Fit.objects.filter(ladder=ladder_id).order_by("-id").values_list("made_at", "elapsed_ms").first()
    return last is None or _is_old(*last, rest=REST_ASKED)


def _is_old(made_at: datetime, took_ms: int, *, rest: int = REST) -> bool:
    return timezone.now() - made_at >= timedelta(seconds=max(EVERY_S, rest * took_ms / 1000))


def fit_ladder(ladder_id: int) -> Fit | None:
    """Fit a ladder to its ledger as it stands now; None if there is nothing in it, or a newer fit was faster.

    May be called by anybody at any time and any number of times.
    """
    began = time.monotonic()
    ladder = Ladder.objects.get(pk=ladder_id)
    rows = _read_log(ladder)
    if not rows:
        return None
    entries = {entry.pk: entry for entry in ladder.entries.select_related("bot")}
    strengths = ladder.strengths.order_by("pk").values_list("entry_id", "version_id", "strength")
    before = {Key(entry, version): strength for entry, version, strength in strengths}
    found = make_nodes(entries, rows, list(before))
    last = ladder.fits.defer("packed").first()
    fitted = fit.fit(_log_of(rows, found.keys), found.nodes, _start(before, found, last))
    return _store(ladder, entries, found, fitted, elapsed_ms=round((time.monotonic() - began) * 1000))


class LogRow(NamedTuple):
    """What a fit reads of one row of the ledger."""

    number: int
    entry: int
    version: int | None
    place: int
    seat: int | None


def _read_log(ladder: Ladder) -> list[LogRow]:
    changes = RatingChange.objects.filter(ladder=ladder, number__lte=ladder.rated).order_by("number", "entry")
    rows = changes.values_list("number", "entry_id", "version_id", "place", "seat")
    return [LogRow(*row) for row in rows.iterator(ROWS)]


def make_nodes(entries: Mapping[int, Entry], rows: Iterable[LogRow], known: Sequence[Key]) -> Nodes:
    """Return the nodes of a log: `known` ones first, then new ones as they come in it, then what plays next.

    A bot's versions follow on one another in the order in which they first played.
    """
    keys: dict[Key, int] = {}
    playing = _playing(entries.values())
    order = [*known, *dict.fromkeys(Key(row.entry, row.version) for row in rows), *playing]
    nodes: list[fit.Node] = []
    last: dict[int, int] = {}
    for key in order:
        if key in keys or key.entry not in entries:
            continue
        index = keys[key] = len(nodes)
        nodes.append(_node(entries[key.entry], last.get(key.entry)))
        last[key.entry] = index
    return Nodes(list(keys), nodes, {**last, **{key.entry: keys[key] for key in playing}})


def _playing(entries: Iterable[Entry]) -> list[Key]:
    """Return the key of every entry's version that plays now; entries without one are left out."""
    everybody = list(entries)
    versions = playable_versions([entry.bot_id for entry in everybody if entry.bot_id])
    keys = []
    for entry in everybody:
        if entry.bot_id is None:
            keys.append(Key(entry.pk, None))
        elif version := versions.get(entry.bot_id):
            keys.append(Key(entry.pk, version.pk))
    return keys


def _node(entry: Entry, parent: int | None) -> fit.Node:
    if entry.anchor is not None:
        return fit.Node.anchor(entry.anchor)
    if parent is not None:
        return fit.Node.version_of(parent)
    return fit.Node(mean=entry.seed_rating)


def _log_of(rows: Sequence[LogRow], keys: Sequence[Key]) -> fit.Log:
    """Return the log as the arithmetic takes it. `rows` are in the order of their pairings."""
    index = {key: number for number, key in enumerate(keys)}
    numbers = np.fromiter((row.number for row in rows), np.int64, len(rows))
    _, lengths = np.unique(numbers, return_counts=True)
    return fit.Log.ragged(
        lengths,
        np.fromiter((index[Key(row.entry, row.version)] for row in rows), np.int64, len(rows)),
        np.fromiter((row.place for row in rows), np.int64, len(rows)),
        np.fromiter((fit.NO_SEAT if row.seat is None else row.seat for row in rows), np.int64, len(rows)),
    )


def _start(before: Mapping[Key, float], found: Nodes, last: Fit | None) -> fit.Start | None:
    """Return where the last fit ended, if it knew the first nodes; what is wrong in it costs time and nothing else."""
    strengths = [before[key] for key in found.keys if key in before]
    if last is None or not strengths:
        return None
    effects, ties = last.facts["seat_effects"], last.facts["ties"]
    seats = [effect for size in fit.SIZES for effect in effects[str(size)]]
    return fit.Start(strengths, seats, [math.log(ties[str(order)]) for order in fit.ORDERS])


def _store(
    ladder: Ladder, entries: Mapping[int, Entry], found: Nodes, fitted: fit.Fit, *, elapsed_ms: int
) -> Fit | None:
    """Write what a fit says; None if a newer one stands there already."""
    with transaction.atomic():
        held = Ladder.objects.select_for_update(no_key=True).get(pk=ladder.pk)
        newer = held.fits.filter(Q(replays__gt=ladder.replays) | Q(replays=ladder.replays, number__gt=ladder.rated))
        if newer.exists():
            return None
        made = Fit.objects.create(
            ladder=ladder,
            number=ladder.rated,
            replays=ladder.replays,
            elapsed_ms=elapsed_ms,
            facts=_facts(fitted),
            packed=_write_strengths(ladder, found, fitted),
        )
        held.hold_entries()
        _write_entries(entries, found, fitted)
        _write_points(ladder, found, fitted, made)
        Fit.objects.filter(ladder=ladder, pk__lt=made.pk).exclude(packed=b"").update(packed=b"")
        kept = ladder.fits.values("pk")[KEPT : KEPT + 1]
        Fit.objects.filter(ladder=ladder, pk__lte=Subquery(kept)).delete()
        transaction.on_commit(lambda: announce(ladder.slug), robust=True)
    logger.info("fitted ladder=%s number=%d nodes=%d ms=%d", ladder.slug, made.number, len(fitted), elapsed_ms)
    return made


def _facts(fitted: fit.Fit) -> dict[str, Any]:
    return {
        "seat_effects": {str(size): list(map(float, effects)) for size, effects in fitted.seat_effects.items()},
        "ties": {str(order): float(tie) for order, tie in fitted.ties.items()},
        "dispersion": float(fitted.dispersion),
        "iterations": fitted.iterations,
        "nodes": len(fitted),
    }


def _write_strengths(ladder: Ladder, found: Nodes, fitted: fit.Fit) -> bytes:
    """Write every node's row, and with the current ones their row of covariances; return whose they are, in order."""
    columns = sorted(found.current.items())
    nodes = [node for _entry, node in columns]
    covariance = fitted.covariance_of(nodes).astype(np.float32)
    at = {node: column for column, node in enumerate(nodes)}
    rows = [
        Strength(
            ladder=ladder,
            entry_id=key.entry,
            version_id=key.version,
            strength=float(fitted.strengths[node]),
            half_width=float(fitted.half_widths[node]),
            pairings=int(fitted.pairings[node]),
            is_current=node in at,
            covariances=covariance[at[node]].tobytes() if node in at else b"",
        )
        for node, key in enumerate(found.keys)
    ]
    ladder.strengths.all().delete()
    Strength.objects.bulk_create(rows, batch_size=BATCH)
    return np.array([entry for entry, _node in columns], dtype=np.int64).tobytes()


def _write_entries(entries: Mapping[int, Entry], found: Nodes, fitted: fit.Fit) -> None:
    """Write into the entries what the fit says of the node that each plays with."""
    changed = []
    for entry_id, node in found.current.items():
        entry = entries[entry_id]
        entry.is_provisional = bool(fitted.is_provisional[node]) or not entry.pairings
        is_known = entry.pairings > 0 or entry.anchor is not None
        entry.strength = float(fitted.strengths[node]) if is_known else None
        entry.half_width = float(fitted.half_widths[node]) if is_known else None
        entry.band = None
        changed.append(entry)
    standing = [one for one in changed if one.state not in Entry.GONE and not one.is_provisional]
    standing.sort(key=lambda one: (-(one.strength or 0.0), one.pk))
    bands: list[int] = fitted.bands([found.current[one.pk] for one in standing]).tolist() if standing else []
    for entry, band in zip(standing, bands, strict=True):
        entry.band = band
    Entry.objects.bulk_update(changed, ["strength", "half_width", "is_provisional", "band"], batch_size=BATCH)


def _write_points(ladder: Ladder, found: Nodes, fitted: fit.Fit, made: Fit) -> None:
    """Add a point to the charts of entries that have played enough since their last one, or play another version."""
    played = dict(ladder.entries.filter(pairings__gt=0).values_list("pk", "pairings"))
    newest = StrengthPoint.objects.filter(entry__ladder=ladder).order_by().values("entry").annotate(last=Max("pk"))
    last = {point.entry_id: point for point in StrengthPoint.objects.filter(pk__in=newest.values("last"))}
    points = []
    for entry_id, nth in played.items():
        node = found.current.get(entry_id)
        if node is None:
            continue
        version = found.keys[node].version
        then = last.get(entry_id)
        if then is not None and nth - then.nth < max(1, nth // POINTS) and then.version_id == version:
            continue
        points.append(
            StrengthPoint(
                entry_id=entry_id,
                version_id=version,
                made_at=made.made_at,
                nth=nth,
                strength=float(fitted.strengths[node]),
                half_width=float(fitted.half_widths[node]),
            )
        )
    StrengthPoint.objects.bulk_create(points, batch_size=BATCH)


# What pages ask


def chances(ladder: Ladder, entry_ids: Sequence[int]) -> dict[tuple[int, int], float]:
    """Return by (entry, other) how likely the one is to end ahead of the other, a tie counting half; two queries.

    Entries that the last fit did not know are left out.
    """
    latest = ladder.fits.first()
    if latest is None:
        return {}
    columns = _columns(latest.packed)
    rows = ladder.strengths.filter(entry__in=entry_ids, is_current=True)
    found = [row for row in rows if row.entry_id in columns]
    if not found:
        return {}
    at = [columns[row.entry_id] for row in found]
    covariance = np.array([_floats(row.covariances)[at] for row in found])
    strengths = np.array([row.strength for row in found])
    shares = fit.shares_ahead(strengths, covariance, latest.facts["ties"]["2"])
    return {
        (one.entry_id, other.entry_id): float(shares[i, j])
        for i, one in enumerate(found)
        for j, other in enumerate(found)
        if i != j
    }


def chances_against(ladder: Ladder, against: Entry, entries: Iterable[Entry]) -> dict[int, float]:
    """Return by entry how likely it is to end ahead of the entry `against`, a tie counting half; one query.

    Cheaper than `chances`, since one row of covariances is read. Entries that the last fit did not know are left out.
    """
    latest = Fit.objects.filter(ladder=ladder).order_by("-id")
    row = ladder.strengths.filter(entry=against, is_current=True).annotate(
        packed=Subquery(latest.values("packed")[:1]), facts=Subquery(latest.values("facts")[:1])
    )
    reference = row.values_list("covariances", "packed", "facts").first()
    if reference is None or against.strength is None or against.half_width is None or not reference[1]:
        return {}
    columns = _columns(reference[1])
    known = [one for one in entries if one != against and one.pk in columns and one.strength is not None]
    covariances = _floats(reference[0])
    strengths = np.array([one.strength for one in known], dtype=np.float64)
    half_widths = np.array([one.half_width for one in known], dtype=np.float64)
    between = covariances[[columns[one.pk] for one in known]]
    variance = (half_widths / fit.Z) ** 2 + covariances[columns[against.pk]] - 2 * between
    shares = fit.share_ahead(
        strengths - against.strength, np.sqrt(np.maximum(variance, 0.0)), reference[2]["ties"]["2"]
    )
    return {one.pk: float(share) for one, share in zip(known, shares, strict=True)}


def _columns(packed: bytes | memoryview) -> dict[int, int]:
    """Return by entry its column in the rows of covariances, of what a fit has packed."""
    entries = np.frombuffer(bytes(packed), dtype=np.int64)
    return {int(entry): column for column, entry in enumerate(entries)}


def _floats(packed: bytes | memoryview) -> fit.Floats:
    return np.frombuffer(bytes(packed), dtype=np.float32).astype(np.float64)
