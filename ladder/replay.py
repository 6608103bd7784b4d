"""Replay a ladder's log, say where the stored figures differ, and mend them.

The log is what matches and entries say: results, versions, who is disqualified. All that `ratings` has written of it
must follow from it to the last bit: numbers, the ledger, the entries' figures, meetings and balances. A replay holds
the ladder's row locked, so that nothing is rated meanwhile, and takes memory for the entries and the pairs
of them that met, not for the log.
"""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from django.db import models, transaction
from django.db.models import F

from ladder import log, ratings
from ladder.ledger import Balance, Books, Figures, Line, Met
from ladder.log import PARKED, Logged
from ladder.models import Balance as BalanceRow
from ladder.models import Ladder, LadderEvent, Meeting, Pairing, RatingChange
from ladder.notices import announce

logger = logging.getLogger(__name__)

KEPT = 20  # differences that a report tells one by one
MANY = 2000
_Sums = TypeVar("_Sums", Met, Balance)

LINE = ("number", "version_id", "seat", *Line._fields)
_Key = tuple[int, int]  # a pairing and an entry
_Values = tuple[Any, ...]  # of the columns in LINE


class Difference(NamedTuple):
    """A stored figure that the replayed log does not bear out. `row` may be one that is missing or too many."""

    row: models.Model
    field: str  # "" for a whole row
    stored: Any  # None where the row is missing
    replayed: Any  # None where the row should not be

    def __str__(self) -> str:
        name = self.field or "row"
        return f"{_named(self.row)}: {name} is {self.stored!r}, the log gives {self.replayed!r}"


@dataclass
class Report:
    """What a replay found; `first` are the first few of its `differences`."""

    pairings: int = 0  # in the log
    differences: int = 0
    uncounted: int = 0  # pairings that count now and did not, or the other way round
    first: list[Difference] = field(default_factory=list)

    def note(self, one: Difference) -> None:
        """Count a difference, and keep it if it is among the first."""
        self.differences += 1
        self.uncounted += isinstance(one.row, Pairing) and one.field == "state"
        if len(self.first) < KEPT:
            self.first.append(one)


def rerate(ladder: Ladder, *, check: bool = False) -> Report:
    """Replay a ladder's log from its first pairing and set every figure to what it gives.

    With `check` nothing is written, and the replay stops at the first difference. A pairing with a match that
    became void since it was rated no longer counts, and everything after it is rated anew. What was mended
    stands among the ladder's events.
    """
    with transaction.atomic():
        replay = Replay(Ladder.objects.select_for_update(no_key=True).get(pk=ladder.pk), mends=not check)
        report = replay.run(stops=check)
        if report.differences and not check:
            rewritten(replay.ladder)
            LadderEvent.objects.create(ladder=replay.ladder, what="rerated", effect={"differences": report.differences})
            transaction.on_commit(lambda: announce(ladder.slug), robust=True)
    logger.info("rerated ladder=%s check=%s differences=%d", ladder.slug, check, report.differences)
    return report


def rewritten(ladder: Ladder) -> None:
    """Note that the ledger is not what it was: fits made of it start anew."""
    Ladder.objects.filter(pk=ladder.pk).update(replays=F("replays") + 1)


class Replay:
    """One pass over the log of a ladder whose row is locked. `books` is where it has come to.

    With `mends` what differs is written as the log gives it, piece by piece.
    """

    def __init__(self, ladder: Ladder, *, mends: bool) -> None:
        self.ladder, self.mends = ladder, mends
        self.terms = ratings.terms_of(ladder)
        self.entries = {entry.pk: entry for entry in ladder.entries.select_related("bot", "user").order_by("pk")}
        self.books = Books({pk: Figures(entry.seed_rating) for pk, entry in self.entries.items()})
        self.report = Report()

    def run(self, *, stops: bool = False, tell: Callable[[int], None] | None = None) -> Report:
        """Replay the whole log, or up to the first difference; `tell` now and then how many pairings of it are done."""
        for difference in self._differences(tell or (lambda _replayed: None)):
            self.report.note(difference)
            if stops:
                break
        return self.report

    def _differences(self, tell: Callable[[int], None]) -> Iterator[Difference]:
        """Yield what does not hold, in the order of the log."""
        yield from self._stray()
        for piece in log.pieces(self.ladder.pk):
            tell(self.report.pairings)
            yield from self._piece(piece)
        tell(self.report.pairings)
        if self.mends:
            _unpark(self.ladder)
        yield from self._figures()
        yield from self._meetings()
        yield from self._balances()
        if self.ladder.rated != self.report.pairings:
            yield Difference(self.ladder, "rated", self.ladder.rated, self.report.pairings)
            if self.mends:
                Ladder.objects.filter(pk=self.ladder.pk).update(rated=self.report.pairings)

    def _stray(self) -> Iterator[Difference]:
        """Yield rows of pairings that the ledger has not numbered."""
        stray = RatingChange.objects.filter(ladder=self.ladder, pairing__number__isnull=True)
        for change in stray:
            yield Difference(change, "", change.after, None)
        if self.mends:
            stray.delete()

    def _piece(self, piece: list[Logged]) -> Iterator[Difference]:
        """Replay some pairings, yield where their rows differ, and mend those."""
        stored = self._stored(piece)
        wrong: list[RatingChange] = []
        for pairing in piece:
            self.report.pairings += 1
            number = self.report.pairings
            why = ratings.why_uncounted(pairing, self.entries)
            yield from self._numbered(pairing, number, why)
            if not why:
                wrong += yield from self._lines(pairing, number, stored)
        for (pairing_id, entry_id), (pk, values) in stored.items():
            row = RatingChange(
                pk=pk, entry=self.entries.get(entry_id), pairing_id=pairing_id, **dict(zip(LINE, values, strict=True))
            )
            yield Difference(row, "", row.after, None)
        if self.mends:
            RatingChange.objects.filter(pk__in=[pk for pk, _ in stored.values()]).delete()
            _write(wrong)

    def _lines(
        self, pairing: Logged, number: int, stored: dict[_Key, tuple[int, _Values]]
    ) -> Generator[Difference, None, list[RatingChange]]:
        """Book a pairing, take its rows out of `stored`, yield where they differ; return those to be written."""
        wrong = []
        for entrant, line in enumerate(self._book(pairing)):
            values = (number, pairing.version(entrant), pairing.seat(entrant), *line)
            found = stored.pop((pairing.pk, pairing.entries[entrant]), None)
            if found is not None and found[1] == values:
                continue
            # Making a row takes longer than rating it, and most differ in nothing.
            expected = ratings.make_change(self.ladder, pairing, entrant, number, line)
            if found is None:
                yield Difference(expected, "", None, expected.after)
            else:
                yield from _unequal(expected, LINE, found[1], values)
            if found is None or found[1][LINE.index("nth")] != expected.nth:
                expected.nth += PARKED
            wrong.append(expected)
        return wrong

    def _stored(self, piece: list[Logged]) -> dict[_Key, tuple[int, _Values]]:
        """Return the ledger's rows of these pairings: key and figures, by pairing and entry."""
        rows = RatingChange.objects.filter(pairing__in=[one.pk for one in piece]).order_by("pk")
        values = rows.values_list("pairing_id", "entry_id", "pk", *LINE)
        return {(row[0], row[1]): (row[2], row[3:]) for row in values.iterator(MANY)}

    def _numbered(self, pairing: Logged, number: int, why: str) -> Iterator[Difference]:
        """Yield where a pairing's own row differs, and mend it."""
        names = ("number", "state", "why_unrated")
        stored = (pairing.number, pairing.state, pairing.why_unrated)
        values = (number, Pairing.State.UNRATED if why else Pairing.State.RATED, why)
        if stored == values:
            return
        yield from _unequal(Pairing(pk=pairing.pk), names, stored, values)
        if self.mends:
            row = dict(zip(names, values, strict=True)) | {"number": number + PARKED * (number != pairing.number)}
            Pairing.objects.filter(pk=pairing.pk).update(**row)

    def _book(self, pairing: Logged) -> list[Line]:
        """Enter a pairing into the books and return what it does, by entrant."""
        table, day = ratings.sitters(pairing, self.entries), ratings.day_of(ratings.when_rated(pairing))
        return self.books.book(self.terms, table, pairing.places(), day)

    def _figures(self) -> Iterator[Difference]:
        wrong = []
        for pk, entry in self.entries.items():
            stored = ratings.figures_of(entry)
            if stored != self.books.figures[pk]:
                yield from _unequal(entry, Figures._fields, stored, self.books.figures[pk])
                wrong.append(entry)
        if self.mends:
            ratings.write_figures(wrong, self.books.figures)

    def _meetings(self) -> Iterator[Difference]:
        found = yield from self._sums(Meeting, "other_id", Met, self.books.meetings)
        if self.mends:
            ratings.write_meetings(self.ladder, found)

    def _balances(self) -> Iterator[Difference]:
        found = yield from self._sums(BalanceRow, "owner_id", Balance, self.books.balances)
        if self.mends:
            ratings.write_balances(self.ladder, found)

    def _sums(
        self,
        model: type[models.Model],
        other: str,
        kind: type[_Sums],
        expected: Mapping[tuple[int, int], _Sums],
    ) -> Generator[Difference, None, dict[tuple[int, int], _Sums]]:
        """Yield where rows that an entry and another have in common differ; return those to be written.

        With `mends` rows that should not be are deleted.
        """
        rows = model._default_manager.filter(ladder=self.ladder).order_by("pk")
        left, wrong, surplus = dict(expected), {}, []
        for pk, one, two, *values in rows.values_list("pk", "entry_id", other, *kind._fields).iterator(MANY):
            stored, due = kind(*values), left.pop((one, two), None)
            if stored == due:
                continue
            row = model(entry=self.entries.get(one), **{other: two})
            if due is None:
                yield Difference(row, "", tuple(stored), None)
                surplus.append(pk)
            else:
                yield from _unequal(row, kind._fields, stored, due)
                wrong[one, two] = due
        for (one, two), due in left.items():
            yield Difference(model(entry=self.entries[one], **{other: two}), "", None, tuple(due))
        if self.mends:
            model._default_manager.filter(pk__in=surplus).delete()
        return wrong | left


def _unequal(
    row: models.Model, names: Iterable[str], stored: Iterable[Any], values: Iterable[Any]
) -> Iterator[Difference]:
    for name, is_, should in zip(names, stored, values, strict=True):
        if is_ != should:
            yield Difference(row, name, is_, should)


def _write(changes: list[RatingChange]) -> None:
    """Write rows of the ledger, whether they are there or not."""
    RatingChange.objects.bulk_create(
        changes, update_conflicts=True, unique_fields=["entry", "pairing"], update_fields=LINE, batch_size=MANY
    )


def _unpark(ladder: Ladder) -> None:
    """Give the rows that wait beyond PARKED their figures: nobody else has them any more."""
    RatingChange.objects.filter(ladder=ladder, nth__gt=PARKED).update(nth=F("nth") - PARKED)
    Pairing.objects.filter(ladder=ladder, number__gt=PARKED).update(number=F("number") - PARKED)


def _named(row: models.Model) -> str:
    """Return what a difference calls a row."""
    if isinstance(row, RatingChange):
        return f"change number={row.number} entry={row.entry} pairing={row.pairing_id}"
    if isinstance(row, Meeting):
        return f"meeting entry={row.entry} other={row.other}"
    if isinstance(row, BalanceRow):
        return f"balance entry={row.entry} owner={row.owner_id}"
    return f"pairing {row.pk}" if isinstance(row, Pairing) else f"{row._meta.model_name} {row}"
