"""The log that ratings follow from: pairings with who sat in them and how their matches ended, as plain values.

A log is read in pieces of a few queries each, whatever their length, so that replaying a long one takes bounded memory.
Nothing here decides what a pairing counts.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from django.db.models import QuerySet

from games.duplicates import seat_in_set
from games.models import Match, Seat
from ladder.models import PairedEntry, PairedMatch, Pairing

PIECE = 1000  # pairings
# While a replay moves numbers about, those that are on their way stand beyond this one.
PARKED = 1_000_000_000


class Sat(NamedTuple):
    """One entrant's result of one match."""

    match: int
    seat: int | None
    place: int | None
    total: int | None
    faulted: bool
    version: int | None


@dataclass
class Logged:
    """One pairing of the log. `entries`, `paired_versions` and `sat` are by the pairing's entrant."""

    pk: int
    number: int | None
    state: str
    why_unrated: str
    rated_at: datetime | None
    entries: list[int] = field(default_factory=list)
    paired_versions: list[int | None] = field(default_factory=list)
    match_states: list[str] = field(default_factory=list)
    sat: dict[int, list[Sat]] = field(default_factory=lambda: defaultdict(list))

    @property
    def has_ended(self) -> bool:
        """Whether every match has ended; a pairing has at least one."""
        return bool(self.match_states) and all(state in Match.OVER for state in self.match_states)

    @property
    def is_void(self) -> bool:
        """Whether one of its matches has no result; the others then count for nothing either."""
        return Match.State.VOID in self.match_states

    def version(self, entrant: int) -> int | None:
        """Return the version that played: as paired, or as it sat. None for a person, or if it was deleted."""
        sat = self.sat[entrant]
        return self.paired_versions[entrant] or (sat[0].version if sat else None)

    def seat(self, entrant: int) -> int | None:
        """Return the entrant's seat; None for a set, in which everybody took every seat."""
        return self.sat[entrant][0].seat if len(self.match_states) == 1 else None

    def places(self) -> list[int]:
        """Return the places by entrant; all matches must be finished.

        Raises:
            ValueError: a seat has no result.
        """
        return places([self.sat[entrant] for entrant in range(len(self.entries))])


def places(results: Sequence[Sequence[Sat]]) -> list[int]:
    """Return a pairing's places: those of its one match, or by the points of a duplicate set.

    `results` are by entrant, each with one Sat for each match. In a set the lowest sum of totals is best; whoever
    faulted in fewer of its matches stands before the others, as in a single match. Equal sums share a place.

    Raises:
        ValueError: a finished match lacks a seat's result.
    """
    if all(len(sat) == 1 for sat in results):
        return [_known(sat[0].place, sat[0]) for sat in results]
    sums = [(sum(one.faulted for one in sat), sum(_known(one.total, one) for one in sat)) for sat in results]
    return [1 + sum(other < own for other in sums) for own in sums]


def _known(figure: int | None, sat: Sat) -> int:
    if figure is None:
        raise ValueError(f"expected the result of every seat of a finished match: match {sat.match} lacks one")
    return figure


def read(pairings: QuerySet[Pairing]) -> list[Logged]:
    """Return these pairings with all that their rating needs, in the order of the query. Four queries."""
    rows = pairings.values_list("pk", "number", "state", "why_unrated", "rated_at")
    found = {row[0]: Logged(*row) for row in rows}
    _read_entries(found)
    _read_matches(found)
    return list(found.values())


def pieces(ladder_id: int, *, after: int = 0) -> Iterator[list[Logged]]:
    """Yield a ladder's numbered pairings beyond number `after`, in order, piece by piece."""
    numbered = Pairing.objects.filter(ladder=ladder_id, number__lt=PARKED).order_by("number")
    last = after
    while piece := read(numbered.filter(number__gt=last)[:PIECE]):
        last = piece[-1].number or last
        yield piece


def _read_entries(found: dict[int, Logged]) -> None:
    rows = PairedEntry.objects.filter(pairing__in=list(found)).order_by("pairing", "entrant")
    for pairing_id, entry_id, version_id in rows.values_list("pairing_id", "entry_id", "version_id"):
        found[pairing_id].entries.append(entry_id)
        found[pairing_id].paired_versions.append(version_id)


def _read_matches(found: dict[int, Logged]) -> None:
    matches = {}
    rows = PairedMatch.objects.filter(pairing__in=list(found)).order_by("pk")
    for match_id, pairing_id, rotation, state in rows.values_list("match", "pairing", "rotation", "match__state"):
        matches[match_id] = (found[pairing_id], rotation)
        found[pairing_id].match_states.append(state)
    seats = Seat.objects.filter(match__in=list(matches)).order_by("match", "entrant")
    columns = seats.values_list("match", "entrant", "seat", "place", "total", "fault", "version")
    for match_id, entrant, seat, place, total, fault, version in columns.iterator(4000):
        logged, rotation = matches[match_id]
        # Back from the match's entrant to the pairing's.
        own = seat_in_set(entrant, rotation=-rotation, seats=len(logged.entries))
        logged.sat[own].append(Sat(match_id, seat, place, total, bool(fault), version))
