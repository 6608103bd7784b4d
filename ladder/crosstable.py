"""Pairings as people and programs see them: who sat where in which match, the points, their sum, what it counted.

Before a match has finished nothing is told of it but who sits where; a set's matches finish together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Prefetch, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from bots.models import BotVersion
from games.duplicates import seat_in_set
from games.models import Match, Seat
from ladder.history import PAGE, MatchRow, Page, SeatCell, key_page, player_url, why_unrated
from ladder.log import Sat, places
from ladder.models import Entry, PairedEntry, PairedMatch, Pairing, RatingChange

State = Match.State
# What of a match is not told here: it is large, or secret.
UNSHOWN = ("rules", "server_seed", "player_seeds", "faults")


@dataclass(frozen=True)
class Cell:
    """One entry in one match; of a match that has not finished `points`, `place` and `fault` are unknown."""

    match: Match
    seat: int | None  # from 0
    points: int | None = None
    place: int | None = None
    fault: str = ""


@dataclass(frozen=True)
class Row:
    """One entry of a pairing; `points` and `place` are of the whole, None before its end and where it has no result."""

    entrant: int
    entry: Entry
    version: BotVersion | None
    cells: list[Cell]
    points: int | None
    place: int | None
    change: RatingChange | None

    @property
    def delta(self) -> float | None:
        """What the pairing did to the entry's rating."""
        return self.change.after - self.change.before if self.change else None


@dataclass(frozen=True)
class Crosstable:
    """A pairing: a row for each entry, best first, and a column for each match."""

    pairing: Pairing
    matches: list[Match]
    rows: list[Row]

    @property
    def is_set(self) -> bool:
        """Whether it is a duplicate set, not one match."""
        return len(self.matches) > 1

    @property
    def played(self) -> int:
        """How many of its matches are not to be played any more."""
        return sum(match.state not in Match.UNPLAYED for match in self.matches)

    @property
    def is_sealed(self) -> bool:
        """Whether something of it was played that nobody may see yet."""
        return any(match.state == State.SEALED for match in self.matches)

    @property
    def is_finished(self) -> bool:
        """Whether everybody may see how every match of it went."""
        return all(match.state == State.FINISHED for match in self.matches)

    @property
    def showing(self) -> Match | None:
        """The match that is being shown, or None."""
        return next((match for match in self.matches if match.state == State.SHOWING), None)

    @property
    def why_unrated(self) -> str:
        """A sentence that says why it counts for nothing, or an empty string."""
        if self.pairing.state != Pairing.State.UNRATED:
            return ""
        if self.is_set and self.pairing.why_unrated == "void":
            return _("Not rated: a match of the set has no result, and without it the others are no comparison.")
        return why_unrated(self.pairing.why_unrated)

    def badge(self) -> tuple[str, str]:
        """Return the name of a badge and what it says."""
        if self.pairing.state != Pairing.State.PLAYING:
            return self.pairing.state, self.pairing.get_state_display()
        if self.showing:
            return "showing", _("on show")
        if all(match.is_over for match in self.matches):
            return "finished", _("being rated")
        if all(match.state in (State.WAITING, State.QUEUED) for match in self.matches):
            return "waiting", _("waiting")
        return "live", _("playing")

    def progress(self) -> str:
        """Say how far a set is that is being played."""
        text = ngettext("%(played)d of %(count)d match played", "%(played)d of %(count)d matches played", self.count)
        return text % {"played": self.played, "count": self.count}

    @property
    def count(self) -> int:
        """How many matches it has."""
        return len(self.matches)


def with_matches(pairings: QuerySet[Pairing]) -> QuerySet[Pairing]:
    """Fetch with each pairing all that `crosstable` takes. Four queries more."""
    entries = PairedEntry.objects.select_related("entry__bot", "entry__user", "version").order_by("entrant")
    matches = PairedMatch.objects.select_related("match").defer(*(f"match__{name}" for name in UNSHOWN))
    return pairings.select_related("round", "ladder").prefetch_related(
        Prefetch("paired_entries", entries),
        Prefetch("paired_matches", matches.order_by("rotation", "pk")),
        Prefetch("paired_matches__match__players", Seat.objects.order_by("entrant")),
        "changes",
    )


def crosstable(pairing: Pairing) -> Crosstable:
    """Return a pairing that was loaded by `with_matches`. Asks the database nothing."""
    paired = list(pairing.paired_entries.all())
    columns = list(pairing.paired_matches.all())
    changes = {change.entry_id: change for change in pairing.changes.all()}
    cells = {one.entrant: [_cell(column, one.entrant) for column in columns] for one in paired}
    is_known = all(column.match.state == State.FINISHED for column in columns)
    won = dict(zip(cells, places([_sat(own) for own in cells.values()]), strict=True)) if is_known and cells else {}
    rows = [
        Row(
            entrant=one.entrant,
            entry=one.entry,
            version=one.version,
            cells=cells[one.entrant],
            points=sum(cell.points or 0 for cell in cells[one.entrant]) if is_known else None,
            place=won.get(one.entrant),
            change=changes.get(one.entry_id),
        )
        for one in paired
    ]
    return Crosstable(
        pairing=pairing,
        matches=[column.match for column in columns],
        rows=sorted(rows, key=lambda row: (row.place or 0, row.entrant)),
    )


def _cell(column: PairedMatch, entrant: int) -> Cell:
    match = column.match
    seats = {seat.entrant: seat for seat in match.players.all()}
    seat = seats[seat_in_set(entrant, rotation=column.rotation, seats=match.seats)]
    if match.state != State.FINISHED:
        return Cell(match, _known_seat(match, seat))
    return Cell(match, seat.seat, seat.total, seat.place, seat.fault)


def _known_seat(match: Match, seat: Seat) -> int | None:
    """Return where somebody sits: in a set that is fixed beforehand, otherwise it is drawn when play starts."""
    return seat.entrant if match.seating == "fixed" else seat.seat


def _sat(cells: Iterable[Cell]) -> list[Sat]:
    return [Sat(cell.match.pk, cell.seat, cell.place, cell.points, bool(cell.fault), None) for cell in cells]


def pairing_row(shown: Crosstable) -> MatchRow:
    """Return a pairing as a list of matches shows it: of a set the sums, and the whole's places."""
    badge, label = shown.badge()
    is_going_on = shown.pairing.state == Pairing.State.PLAYING
    return MatchRow(
        id=f"pairing-{shown.pairing.pk}",
        url=reverse("ladder_pairing", args=[shown.pairing.ladder.slug, shown.pairing.pk]),
        state=badge,
        state_label=label,
        seats=tuple(
            SeatCell(
                name=row.entry.name,
                url=player_url(row.entry),
                place=row.place,
                total=row.points,
                rating_change=None if row.delta is None else round(row.delta),
            )
            for row in shown.rows
        ),
        when=shown.pairing.rated_at or shown.pairing.round.started_at,
        note=shown.progress() if shown.is_set and is_going_on else shown.why_unrated,
    )


def met_page(one: Entry, other: Entry, query: Mapping[str, str], *, kept: Mapping[str, str], size: int = PAGE) -> Page:
    """Return a page of the rated pairings in which two entries met, last first, as `key_page` does; six queries.

    `before` and `after` are numbers of the ledger. The history that is gone through is the shorter one's.
    """
    fewer, more = sorted((one, other), key=lambda entry: entry.pairings)
    rows = RatingChange.objects.filter(entry=fewer, pairing__changes__entry=more).values_list("number", "pairing_id")
    page, newer_url, older_url = key_page(rows, "number", query, size=size, kept=kept, key=lambda row: row[0])
    found = with_matches(Pairing.objects.filter(pk__in=[pk for _, pk in page])).order_by("-number")
    return Page([pairing_row(crosstable(pairing)) for pairing in found], newer_url, older_url)
