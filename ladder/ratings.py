"""The ledger: the one writer of ratings.

A pairing is rated once, under its ladder's row lock; the ledger numbers pairings itself, in the order in which it
rates them. `replay` goes through the log in that order and must reach every figure to the last bit. Figures are
full-precision floats; nothing here rounds.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime

from django.db import transaction
from django.utils import timezone

from ladder import log
from ladder.ledger import Balance, Books, Figures, Line, Met, Sitter, Terms
from ladder.log import Logged
from ladder.models import Balance as BalanceRow
from ladder.models import Entry, Ladder, Meeting, Pairing, RatingChange
from ladder.notices import announce

logger = logging.getLogger(__name__)


def rate(pairing_id: int) -> bool:
    """Rate a pairing whose matches have all ended, or say why it counts for nothing; False if there is nothing to do.

    May be called by anybody at any time and any number of times: only the first call that finds
    all matches ended changes anything.
    """
    waiting = Pairing.objects.filter(pk=pairing_id, state=Pairing.State.PLAYING)
    ladder_id = waiting.values_list("ladder_id", flat=True).first()
    if ladder_id is None:
        return False
    with transaction.atomic():
        # One ledger, one writer: whoever holds the ladder's row (SQLite: the database) rates.
        ladder = Ladder.objects.select_for_update(no_key=True).get(pk=ladder_id)
        pairing = next(iter(log.read(waiting)), None)
        if pairing is None or not pairing.has_ended:
            return False
        entries = _entries_of(pairing)
        why = why_uncounted(pairing, entries) or _shared_owner(entries)
        if why in ("void", "one_owner"):
            _leave_unrated(pairing, why)
        else:
            number = _number(ladder, pairing, why)
            if not why:
                _book(ladder, pairing, number, entries)
        transaction.on_commit(lambda: announce(ladder.slug), robust=True)
    return True


def move_beginners(ladder: Ladder, *, was: float) -> int:
    """Have entries that began at a ladder's initial rating begin at the present one; return how many. Before any round.

    Or who changes it between two registrations could give one entry a better start than another. What fits hold there
    goes with it, so that nobody begins above or below the scale.
    """
    now = ladder.initial_rating
    ladder.entries.filter(anchor=was).update(anchor=now)
    return ladder.entries.filter(seed_rating=was, pairings=0).update(seed_rating=now, rating=now)


def why_uncounted(pairing: Logged, entries: Mapping[int, Entry]) -> str:
    """Return why a pairing counts for nothing by what may still change once it is in the log, or an empty string.

    A match may be declared void later, an entry be disqualified and reinstated.
    """
    if pairing.is_void:
        return "void"
    gone = Entry.State.DISQUALIFIED
    return "disqualified" if any(entries[pk].state == gone for pk in pairing.entries) else ""


def terms_of(ladder: Ladder) -> Terms:
    """Return how a ladder counts."""
    return Terms(ladder.k_new, ladder.k_settled, ladder.settled_after, ladder.daily_cap)


def sitters(pairing: Logged, entries: Mapping[int, Entry]) -> list[Sitter]:
    """Return who sits at a pairing, by entrant."""
    return [Sitter(pk, entries[pk].owner_id) for pk in pairing.entries]


def day_of(moment: datetime) -> date:
    """Return the day (UTC) by which the daily cap counts."""
    return moment.astimezone(UTC).date()


def figures_of(entry: Entry) -> Figures:
    """Return what an entry's row says of it."""
    return Figures(*(getattr(entry, name) for name in Figures._fields))._replace(
        recent_ratings=tuple(entry.recent_ratings)
    )


def when_rated(pairing: Logged) -> datetime:
    """Return when a numbered pairing was rated. ValueError if its row does not say."""
    if pairing.rated_at is None:
        raise ValueError(f"expected the time at which a pairing was rated: pairing {pairing.pk} has none")
    return pairing.rated_at


def make_change(ladder: Ladder, pairing: Logged, entrant: int, number: int, line: Line) -> RatingChange:
    """Return the ledger's row for one entry of a pairing; it is not saved."""
    return RatingChange(
        ladder_id=ladder.pk,
        entry_id=pairing.entries[entrant],
        pairing_id=pairing.pk,
        version_id=pairing.version(entrant),
        seat=pairing.seat(entrant),
        number=number,
        rated_at=when_rated(pairing),
        **line._asdict(),
    )


def write_meetings(ladder: Ladder, meetings: Mapping[tuple[int, int], Met]) -> None:
    """Set these sums, whether their rows are there or not."""
    rows = [
        Meeting(ladder=ladder, entry_id=one, other_id=other, **met._asdict()) for (one, other), met in meetings.items()
    ]
    Meeting.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["entry", "other"], update_fields=Met._fields, batch_size=1000
    )


def write_balances(ladder: Ladder, balances: Mapping[tuple[int, int], Balance]) -> None:
    """Set these balances, whether their rows are there or not."""
    rows = [
        BalanceRow(ladder=ladder, entry_id=one, owner_id=owner, **kept._asdict())
        for (one, owner), kept in balances.items()
    ]
    BalanceRow.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["entry", "owner"], update_fields=Balance._fields, batch_size=1000
    )


def write_figures(entries: Collection[Entry], figures: Mapping[int, Figures]) -> None:
    """Set these entries' figures."""
    for entry in entries:
        # Of a table's few this is much quicker than one statement for all.
        Entry.objects.filter(pk=entry.pk).update(**figures[entry.pk]._asdict())


def _entries_of(pairing: Logged) -> dict[int, Entry]:
    return {
        entry.pk: entry for entry in Entry.objects.filter(pk__in=pairing.entries).select_related("bot").order_by("pk")
    }


def _shared_owner(entries: Mapping[int, Entry]) -> str:
    owners = [entry.owner_id for entry in entries.values() if entry.owner_id is not None]
    return "one_owner" if len(set(owners)) < len(owners) else ""


def _leave_unrated(pairing: Logged, why: str) -> None:
    Pairing.objects.filter(pk=pairing.pk).update(state=Pairing.State.UNRATED, why_unrated=why, rated_at=timezone.now())
    logger.info("unrated pairing=%d why=%s", pairing.pk, why)


def _number(ladder: Ladder, pairing: Logged, why: str) -> int:
    """Give a pairing its number in the log, also if it counts for nothing for now: it may come to count."""
    # Clocks of several machines differ; the log's never runs back, or a day of the cap could begin twice.
    last = Pairing.objects.filter(ladder=ladder, number=ladder.rated).values_list("rated_at", flat=True).first()
    now, number = timezone.now(), ladder.rated + 1
    pairing.rated_at = max(last, now) if last else now
    state = Pairing.State.UNRATED if why else Pairing.State.RATED
    row = Pairing.objects.filter(pk=pairing.pk)
    row.update(state=state, why_unrated=why, number=number, rated_at=pairing.rated_at)
    Ladder.objects.filter(pk=ladder.pk).update(rated=number)
    return number


def _book(ladder: Ladder, pairing: Logged, number: int, entries: Mapping[int, Entry]) -> None:
    """Write a numbered pairing into the ledger. The ladder's row is locked."""
    table, places = sitters(pairing, entries), pairing.places()
    books = Books({pk: figures_of(entry) for pk, entry in entries.items()})
    books.balances = _balances(table) if ladder.daily_cap is not None else {}
    books.meetings = _meetings(table, places)
    lines = books.book(terms_of(ladder), table, places, day_of(when_rated(pairing)))
    RatingChange.objects.bulk_create(
        make_change(ladder, pairing, entrant, number, line) for entrant, line in enumerate(lines)
    )
    write_figures(entries.values(), books.figures)
    write_meetings(ladder, books.meetings)
    write_balances(ladder, books.balances)
    logger.info("rated ladder=%s pairing=%d number=%d", ladder.slug, pairing.pk, number)


def _balances(table: Sequence[Sitter]) -> dict[tuple[int, int], Balance]:
    owners = [one.owner for one in table if one.owner is not None]
    rows = BalanceRow.objects.filter(entry__in=[one.entry for one in table], owner__in=owners)
    return {
        (one, owner): Balance(day, points)
        for one, owner, day, points in rows.values_list("entry_id", "owner_id", *Balance._fields)
    }


def _meetings(table: Sequence[Sitter], places: Sequence[int]) -> dict[tuple[int, int], Met]:
    ids = [one.entry for one in table]
    rows = Meeting.objects.filter(entry__in=ids, other__in=ids).values_list("entry_id", "other_id", *Met._fields)
    return {(one, other): Met(*sums) for one, other, *sums in rows}
