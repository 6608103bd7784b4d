"""Who stands where in a ladder. Reads the entries' own figures; adds up no history.

A ladder ranks by the fitted strength, where entries that cannot be told apart share a rank and those of which too
little is known have none yet, or by the Elo rating.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import Case, F, FloatField, OuterRef, Q, QuerySet, Subquery, Value, When, Window
from django.db.models.functions import Coalesce, Greatest, Lower, Rank, RowNumber

from ladder.models import Entry, Ladder, Measured, RatingChange, Strength

SHOWN = 100
LAST = 10
TREND = 20
LOWEST = -1e9

NAME = Lower(Coalesce("bot__name", "user__username"))
# What does not tell two apart is followed by what does, so that every page holds the same at every look.
SORTS: dict[str, tuple[Any, ...]] = {
    "strength": (F("strength").desc(nulls_last=True), F("rating").desc()),
    "rating": (F("rating").desc(),),
    "pairings": (F("pairings").desc(), F("rating").desc()),
    "name": (NAME.asc(),),
}


def default_sort(ladder: Ladder) -> str:
    """Return the name of the sort in which a ladder ranks."""
    return "strength" if ladder.ranked_by == Ladder.RankedBy.FIT else "rating"


def standings(
    ladder: Ladder, *, viewer: Any = None, page: int = 1, shown: int | None = SHOWN, sort: str = ""
) -> QuerySet[Entry]:
    """Return the entries that stand in the ladder, in the order of `sort` (of SORTS; "": as it ranks), in one query.

    Each has `rank` (who cannot be told apart shares one; None while too little is known), `recent_change` (of the
    rating over its last ten pairings, None before the first), `position` in this order from 1, and what Entry has.
    `shown` entries of page `page`, from 1, and besides them the viewer's own; all of them if `shown` is None.
    """
    order = (*SORTS[sort or default_sort(ladder)], F("entered_at").asc(), F("pk").asc())
    then = RatingChange.objects.filter(entry=OuterRef("pk"), nth=Greatest(OuterRef("pairings") - (LAST - 1), Value(1)))
    entries = (
        ladder.entries.exclude(state__in=Entry.GONE)
        .select_related("bot__owner", "user")
        .annotate(
            rank=_rank(ladder),
            recent_change=F("rating") - Subquery(then.values("before")[:1]),
            position=Window(RowNumber(), order_by=order),
        )
        .order_by("position")
    )
    if shown is None:
        return entries
    own = Q(bot__owner=viewer) | Q(user=viewer) if viewer is not None and viewer.is_authenticated else Q()
    last = page * shown
    return entries.filter(Q(position__gt=last - shown, position__lte=last) | own)


def _rank(ladder: Ladder) -> Any:
    """Return what ranks an entry: by its band, None without one, or by its rating."""
    if ladder.ranked_by == Ladder.RankedBy.ELO:
        return Window(Rank(), order_by=F("rating").desc())
    return Case(When(band=None, then=None), default=Window(Rank(), order_by=F("band").asc(nulls_last=True)))


def leaders(count: int = 3) -> dict[int, list[Entry]]:
    """Return by ladder its first entries with at least one rated pairing, each with its `place`. One query."""
    entries = Entry.objects.filter(ladder__state__in=Ladder.GOING_ON, pairings__gt=0).exclude(state__in=Entry.GONE)
    figure = Case(
        When(ladder__ranked_by=Ladder.RankedBy.ELO, then=F("rating")),
        default=Coalesce("strength", Value(LOWEST)),
        output_field=FloatField(),
    )
    order = (figure.desc(), F("rating").desc(), F("entered_at").asc(), F("pk").asc())
    ranked = entries.annotate(place=Window(RowNumber(), partition_by=F("ladder"), order_by=order))
    found: dict[int, list[Entry]] = defaultdict(list)
    for entry in ranked.filter(place__lte=count).select_related("bot", "user", "ladder").order_by("ladder", "place"):
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


def version_standings(ladder: Ladder) -> QuerySet[Strength]:
    """Return every version that has played in the ladder, strongest first, people among them."""
    played = ladder.strengths.filter(pairings__gt=0).exclude(entry__state__in=Entry.GONE)
    related = played.select_related("entry__bot__owner", "entry__user", "version")
    # Of thousands of entries the covariances are megabytes, which no table shows.
    return related.defer("covariances").order_by("-strength", "pk")


def scale_of(measured: Iterable[Measured]) -> tuple[float, float]:
    """Return the ends of the scale on which the intervals of one table are drawn, Elo."""
    ends = [(one.low, one.high) for one in measured]
    low = min((low for low, _ in ends if low is not None), default=0.0)
    return low, max((high for _, high in ends if high is not None), default=1.0)


def average_place(entry: Entry) -> float | None:
    """Return the entry's mean place over its rated pairings; None before the first."""
    return entry.place_sum / entry.pairings if entry.pairings else None


def lost(entry: Entry) -> int:
    """Return how many rated pairings the entry neither won nor shared the first place of."""
    return entry.pairings - entry.won - entry.drawn
