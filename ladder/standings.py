"""Who stands where in a ladder. Reads the entries' own figures; adds up no history."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery, Value, Window
from django.db.models.functions import Greatest, Rank, RowNumber

from ladder.models import Entry, Ladder, RatingChange

SHOWN = 100
LAST = 10
TREND = 20


def standings(ladder: Ladder, *, viewer: Any = None, page: int = 1, shown: int | None = SHOWN) -> QuerySet[Entry]:
    """Return the entries that stand in the ladder, best first, in one query.

    Each has `rank` (equal ratings share one), `recent_change` (over its last ten pairings, None
    before the first) and what Entry has: rating, pairings, won, drawn, place_sum. `shown` entries
    of page `page`, from 1, and besides them the viewer's own; all of them if `shown` is None.
    """
    then = RatingChange.objects.filter(entry=OuterRef("pk"), nth=Greatest(OuterRef("pairings") - (LAST - 1), Value(1)))
    entries = (
        ladder.entries.exclude(state__in=Entry.GONE)
        .select_related("bot__owner", "user")
        .annotate(
            rank=Window(Rank(), order_by=F("rating").desc()),
            recent_change=F("rating") - Subquery(then.values("before")[:1]),
        )
        .order_by("rank", "entered_at", "pk")
    )
    if shown is None:
        return entries
    own = Q(bot__owner=viewer) | Q(user=viewer) if viewer is not None and viewer.is_authenticated else Q()
    order = F("rating").desc(), "entered_at", "pk"
    last = page * shown
    entries = entries.annotate(position=Window(RowNumber(), order_by=order))
    return entries.filter(Q(position__gt=last - shown, position__lte=last) | own)


def leaders(count: int = 3) -> dict[int, list[Entry]]:
    """Return by ladder its first entries with at least one rated pairing. One query."""
    entries = Entry.objects.filter(ladder__state__in=Ladder.GOING_ON, pairings__gt=0).exclude(state__in=Entry.GONE)
    ranked = entries.annotate(
        rank=Window(Rank(), partition_by=F("ladder"), order_by=F("rating").desc()),
    )
    found: dict[int, list[Entry]] = defaultdict(list)
    for entry in ranked.filter(rank__lte=count).select_related("bot", "user").order_by("ladder", "rank", "entered_at"):
        found[entry.ladder_id].append(entry)
    return found


def trends(entries: Iterable[Entry]) -> dict[int, list[float]]:
    """Return by entry its ratings after its last twenty pairings, oldest first. One query."""
    ids = [entry.pk for entry in entries]
    rows = RatingChange.objects.filter(entry__in=ids, nth__gt=F("entry__pairings") - TREND).order_by("entry", "nth")
    found: dict[int, list[float]] = defaultdict(list)
    for entry_id, after in rows.values_list("entry_id", "after"):
        found[entry_id].append(after)
    return found


def average_place(entry: Entry) -> float | None:
    """Return the entry's mean place over its rated pairings; None before the first."""
    return entry.place_sum / entry.pairings if entry.pairings else None


def lost(entry: Entry) -> int:
    """Return how many rated pairings the entry neither won nor shared the first place of."""
    return entry.pairings - entry.won - entry.drawn
