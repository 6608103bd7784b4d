"""The ledger: the one writer of ratings, and the replay that checks it.

A pairing is rated once, under its ladder's row lock; the ledger numbers pairings itself, in the
order in which it rates them. `rerate` replays the log in that order and must reach every figure
to the last bit. Figures are full-precision floats; nothing here rounds.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import models, transaction
from django.utils import timezone

from games.duplicates import seat_in_set
from games.models import Match, Seat
from ladder import elo
from ladder.models import Entry, Ladder, PairedEntry, Pairing, RatingChange
from ladder.notices import announce

logger = logging.getLogger(__name__)

ENDED = (Match.State.FINISHED, Match.State.VOID)
FIGURES = ("rating", "pairings", "won", "drawn", "place_sum")
LINE = ("number", "nth", "place", "k", "before", "after")


@dataclass(frozen=True)
class Figures:
    """What the ledger says of one entry; the fields are named as in Entry."""

    rating: float
    pairings: int = 0
    won: int = 0
    drawn: int = 0
    place_sum: int = 0


@dataclass(frozen=True)
class Line:
    """What one pairing does to one entry, and where that leaves it; fields as in RatingChange."""

    place: int
    k: float
    before: float
    after: float
    nth: int
    figures: Figures


@dataclass(frozen=True)
class Difference:
    """A stored figure that the replayed log does not bear out. `row` may be one that is missing or too many."""

    row: models.Model
    field: str  # "" for a whole row
    stored: Any  # None where the row is missing
    replayed: Any  # None where the row should not be

    def __str__(self) -> str:
        name = self.field or "row"
        return f"{_named(self.row)}: {name} is {self.stored!r}, the log gives {self.replayed!r}"


def rate(pairing_id: int) -> bool:
    """Rate a pairing whose matches have all ended, or say why it counts for nothing; False if there is nothing to do.

    May be called by anybody at any time and any number of times: only the first call that finds
    all matches ended changes anything.
    """
    with transaction.atomic():
        # One ledger, one writer: whoever holds the ladder's row (SQLite: the database) rates.
        ladder_id = Pairing.objects.values_list("ladder_id", flat=True).get(pk=pairing_id)
        ladder = Ladder.objects.select_for_update().get(pk=ladder_id)
        pairing = Pairing.objects.get(pk=pairing_id)
        matches = list(
            Match.objects.filter(paired__pairing=pairing).select_related("paired").prefetch_related("players")
        )
        if pairing.state != Pairing.State.PLAYING or not matches or any(one.state not in ENDED for one in matches):
            return False
        paired = list(pairing.paired_entries.select_related("entry__bot"))
        if why := _why_unrated(matches, [one.entry for one in paired]):
            _leave_unrated(pairing, why)
        else:
            _book(ladder, pairing, paired, places_of(matches))
        transaction.on_commit(lambda: announce(ladder.slug), robust=True)
    return True


def rerate(ladder: Ladder, *, check: bool = False) -> list[Difference]:
    """Replay a ladder's log from its first pairing and return where the stored figures differ.

    With `check` nothing is written and the first difference is all that is returned; otherwise
    every figure is set to what the log gives. A pairing with a match that has become void since
    it was rated no longer counts, and everything after it is rated anew.
    """
    with transaction.atomic():
        held = Ladder.objects.select_for_update().get(pk=ladder.pk)
        found = _differences(held)
        if check:
            return [first] if (first := next(found, None)) else []
        differences = list(found)
        _correct(differences)
    logger.info("rerated ladder=%s differences=%d", held.slug, len(differences))
    return differences


def places_of(matches: Sequence[Match]) -> list[int]:
    """Return the pairing's places by entrant: of its one match, or by the points of a duplicate set.

    In a set the lowest sum of totals is best; whoever faulted in fewer of its matches stands before
    the others, as in a single match. Equal sums share a place. All matches must be finished, their
    players and their `paired` loaded.
    """
    if len(matches) == 1:
        return [_known(seat.place, seat) for seat in _by_entrant(matches[0])]
    sums = [(0, 0)] * matches[0].seats
    for match in matches:
        players = _by_entrant(match)
        for entrant, (faults, total) in enumerate(sums):
            seat = players[seat_in_set(entrant, rotation=match.paired.rotation, seats=match.seats)]
            sums[entrant] = (faults + bool(seat.fault), total + _known(seat.total, seat))
    return [1 + sum(other < own for other in sums) for own in sums]


def lines(ladder: Ladder, figures: Sequence[Figures], places: Sequence[int]) -> list[Line]:
    """Return what a pairing does to entries that stand at `figures`. Pure; all by entrant."""
    k = [ladder.k_new if one.pairings < ladder.settled_after else ladder.k_settled for one in figures]
    changes = elo.change([one.rating for one in figures], places, k)
    firsts = sum(place == 1 for place in places)
    return [
        Line(
            place=place,
            k=k[i],
            before=one.rating,
            after=one.rating + changes[i],
            nth=one.pairings + 1,
            figures=Figures(
                rating=one.rating + changes[i],
                pairings=one.pairings + 1,
                won=one.won + (place == 1 and firsts == 1),
                drawn=one.drawn + (place == 1 and firsts > 1),
                place_sum=one.place_sum + place,
            ),
        )
        for i, (one, place) in enumerate(zip(figures, places, strict=True))
    ]


def _by_entrant(match: Match) -> list[Seat]:
    return sorted(match.players.all(), key=lambda seat: seat.entrant)


def _known(figure: int | None, seat: Seat) -> int:
    if figure is None:
        raise ValueError(f"expected the result of every seat of a finished match: seat {seat.pk} has none")
    return figure


def _why_unrated(matches: Iterable[Match], entries: Sequence[Entry]) -> str:
    """Return why the pairing counts for nothing, or an empty string."""
    if any(match.state == Match.State.VOID for match in matches):
        return "void"
    owners = [entry.owner_id for entry in entries if entry.owner_id is not None]
    return "one_owner" if len(set(owners)) < len(owners) else ""


def _leave_unrated(pairing: Pairing, why: str) -> None:
    Pairing.objects.filter(pk=pairing.pk, state=Pairing.State.PLAYING).update(
        state=Pairing.State.UNRATED, why_unrated=why, rated_at=timezone.now()
    )
    logger.info("unrated pairing=%d why=%s", pairing.pk, why)


def _book(ladder: Ladder, pairing: Pairing, paired: Sequence[PairedEntry], places: Sequence[int]) -> None:
    """Write one pairing into the ledger. The ladder's row is locked."""
    now = timezone.now()
    number = ladder.rated + 1
    Pairing.objects.filter(pk=pairing.pk, state=Pairing.State.PLAYING).update(
        state=Pairing.State.RATED, number=number, rated_at=now
    )
    Ladder.objects.filter(pk=ladder.pk).update(rated=number)
    for one, line in zip(paired, lines(ladder, [_figures(one.entry) for one in paired], places), strict=True):
        _change(one.entry, pairing, number, line).save(force_insert=True)
        Entry.objects.filter(pk=one.entry_id).update(**{name: getattr(line.figures, name) for name in FIGURES})
    logger.info("rated ladder=%s pairing=%d number=%d", ladder.slug, pairing.pk, number)


def _figures(entry: Entry) -> Figures:
    return Figures(**{name: getattr(entry, name) for name in FIGURES})


def _change(entry: Entry, pairing: Pairing, number: int, line: Line) -> RatingChange:
    return RatingChange(
        ladder_id=pairing.ladder_id,
        entry=entry,
        pairing=pairing,
        number=number,
        nth=line.nth,
        place=line.place,
        k=line.k,
        before=line.before,
        after=line.after,
    )


def _differences(ladder: Ladder) -> Iterator[Difference]:
    """Replay the log of a locked ladder and yield what does not hold, in the order of the log."""
    entries = {entry.pk: entry for entry in ladder.entries.select_related("bot", "user")}
    standing = {pk: Figures(rating=entry.seed_rating) for pk, entry in entries.items()}
    number = 0
    for pairing in _log(ladder):
        number += 1
        if pairing.number != number:
            yield Difference(pairing, "number", pairing.number, number)
        yield from _replayed(ladder, pairing, number, entries, standing)
    yield from _stray(ladder)
    for entry_id, figures in standing.items():
        yield from _unequal(entries[entry_id], FIGURES, figures)
    if ladder.rated != number:
        yield Difference(ladder, "rated", ladder.rated, number)


def _log(ladder: Ladder) -> Iterator[Pairing]:
    """Return every pairing that the ledger has numbered, in that order, with all that its rating needs."""
    numbered = Pairing.objects.filter(ladder=ladder, number__isnull=False).order_by("number")
    return numbered.prefetch_related("paired_entries", "paired_matches__match__players", "changes").iterator(500)


def _replayed(
    ladder: Ladder, pairing: Pairing, number: int, entries: dict[int, Entry], standing: dict[int, Figures]
) -> Iterator[Difference]:
    """Replay one pairing: yield where its rows differ, and move `standing` on."""
    stored = {change.entry_id: change for change in pairing.changes.all()}
    matches = [paired.match for paired in pairing.paired_matches.all()]
    if any(match.state == Match.State.VOID for match in matches):
        # It keeps its number, so that the log has no gap; it counts for nothing.
        yield from _unequal(pairing, ("state", "why_unrated"), _Voided())
        yield from (Difference(change, "", change.after, None) for change in stored.values())
        return
    if pairing.state != Pairing.State.RATED:
        yield Difference(pairing, "state", pairing.state, Pairing.State.RATED)
    ids = [one.entry_id for one in pairing.paired_entries.all()]
    for entry_id, line in zip(ids, lines(ladder, [standing[one] for one in ids], places_of(matches)), strict=True):
        standing[entry_id] = line.figures
        expected = _change(entries[entry_id], pairing, number, line)
        if change := stored.pop(entry_id, None):
            change.entry = entries[entry_id]
            yield from _unequal(change, LINE, expected)
        else:
            yield Difference(expected, "", None, expected.after)
    yield from (Difference(change, "", change.after, None) for change in stored.values())


@dataclass(frozen=True)
class _Voided:
    state: str = Pairing.State.UNRATED
    why_unrated: str = "void"


def _stray(ladder: Ladder) -> Iterator[Difference]:
    """Yield rows of pairings that the ledger has not numbered."""
    for change in RatingChange.objects.filter(pairing__ladder=ladder, pairing__number__isnull=True):
        yield Difference(change, "", change.after, None)


def _unequal(row: models.Model, fields: Iterable[str], replayed: object) -> Iterator[Difference]:
    for field in fields:
        is_, should = getattr(row, field), getattr(replayed, field)
        if is_ != should:
            yield Difference(row, field, is_, should)


def _correct(differences: Sequence[Difference]) -> None:
    """Make the rows what the log gives: first what is too many, then what is wrong, then what is missing."""
    wrong: dict[models.Model, list[Difference]] = defaultdict(list)
    missing = []
    for one in differences:
        if one.field:
            wrong[one.row].append(one)
        elif one.replayed is None:
            one.row.delete()
        else:
            missing.append(one.row)
    # Highest first would collide with the unique `nth` and `number` when they move up, lowest first when they
    # move down: out of the way first, then into place.
    _move_aside(wrong)
    for row, found in wrong.items():
        for one in found:
            setattr(row, one.field, one.replayed)
        row.save(update_fields=[one.field for one in found])
    for row in missing:
        row.save(force_insert=True)


def _move_aside(wrong: dict[models.Model, list[Difference]]) -> None:
    """Give rows whose unique figure is wrong one that nobody has."""
    changes = [row.pk for row, found in wrong.items() if isinstance(row, RatingChange) and _touches(found, "nth")]
    pairings = [row.pk for row, found in wrong.items() if isinstance(row, Pairing) and _touches(found, "number")]
    RatingChange.objects.filter(pk__in=changes).update(nth=models.F("nth") + 1_000_000_000)
    Pairing.objects.filter(pk__in=pairings).update(number=None)


def _touches(found: Iterable[Difference], field: str) -> bool:
    return any(one.field == field for one in found)


def _named(row: models.Model) -> str:
    """Return what a difference calls a row."""
    if isinstance(row, RatingChange):
        return f"change number={row.number} entry={row.entry} pairing={row.pairing_id}"
    if isinstance(row, Pairing):
        return f"pairing {row.pk}"
    return f"{row._meta.model_name} {row}"
