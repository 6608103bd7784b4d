"""Who stands where in a ladder. Reads the entries' own figures; adds up no history.

A ladder ranks by the fitted strength, where entries that cannot be told apart share a rank and those of which too
little is known have none yet, or by the Elo rating.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.db.models import Case, Count, F, FloatField, OuterRef, Q, QuerySet, Subquery, Value, When, Window
from django.db.models.functions import Coalesce, Lower, Rank, RowNumber

from ladder.models import Entry, Ladder, Measured, Strength

SHOWN = 100
LOWEST = -1e9

# What is told of an entry: to read all of four tables takes twice as long.
SHOWN_COLUMNS = (
    *("ladder", "bot", "user", "state", "rating", "pairings", "won", "drawn", "place_sum", "recent_ratings"),
    *("strength", "half_width", "band", "is_provisional", "final_rank", "entered_at"),
    *("bot__name", "bot__slug", "bot__owner", "user__username"),
)
NAME = Lower(Coalesce("bot__name", "user__username"))
EVERYBODY = Q()
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


def standings(ladder: Ladder, sort: str = "") -> QuerySet[Entry]:
    """Return the entries that stand in the ladder, sorted by a name of SORTS or as it ranks, in one query.

    Each has `rank` (who cannot be told apart shares one; None while too little is known), `position` from 1,
    `owner_name` (None for a house bot or a person), and what SHOWN_COLUMNS names.
    """
    return _with_names(_placed(ladder, sort or default_sort(ladder))).order_by("position")


def standing_page(
    ladder: Ladder, page: int, *, shown: int = SHOWN, sort: str = "", also: Iterable[int] = (), among: Q = EVERYBODY
) -> list[Entry]:
    """Return `shown` entries of `standings` on page `page`, from 1, and besides them those of ids `also`; two queries.

    `sort` is a name of SORTS; "": as the ladder ranks. With `among` only entries for which it holds are counted.
    """
    last = page * shown
    which = Q(position__gt=last - shown, position__lte=last) | Q(pk__in=list(also))
    # All that stand have to be put in order: that is done with as few columns as it takes.
    placed = _placed(ladder, sort or default_sort(ladder), among=among).filter(which)
    places = {pk: (position, rank) for pk, position, rank in placed.values_list("pk", "position", "rank")}
    entries: list[Any] = list(_with_names(Entry.objects.filter(pk__in=places)))
    for entry in entries:
        entry.position, entry.rank = places[entry.pk]
    return sorted(entries, key=lambda entry: int(entry.position))


def _placed(ladder: Ladder, sort: str, *, among: Q = EVERYBODY) -> QuerySet[Any]:
    """Return the entries that stand in the ladder, each with `rank` and `position`, in no order."""
    order = (*SORTS[sort], F("entered_at").asc(), F("pk").asc())
    standing = ladder.entries.filter(among).exclude(state__in=Entry.GONE)
    return standing.annotate(rank=_rank(ladder), position=Window(RowNumber(), order_by=order))


def _with_names(entries: QuerySet[Any]) -> QuerySet[Any]:
    named: QuerySet[Any] = (
        entries.select_related("bot", "user").only(*SHOWN_COLUMNS).annotate(owner_name=F("bot__owner__username"))
    )
    return named


def _rank(ladder: Ladder) -> Any:
    """Return what ranks an entry: by its band, None without one, or by its rating."""
    if ladder.ranked_by == Ladder.RankedBy.ELO:
        return Window(Rank(), order_by=F("rating").desc())
    return Case(When(band=None, then=None), default=Window(Rank(), order_by=F("band").asc(nulls_last=True)))


def entry_count(which: Q, *, ladder: str = "pk") -> Any:
    """Return what counts, in a query with a ladder in its column `ladder`, the entries there that `which` names."""
    entries = Entry.objects.filter(which, ladder=OuterRef(ladder)).order_by().values("ladder")
    return Coalesce(Subquery(entries.annotate(count=Count("pk")).values("count")), 0)


def leaders(ladders: QuerySet[Ladder], count: int = 3) -> dict[int, list[Entry]]:
    """Return by ladder its first entries with at least one rated pairing, each with its `place`. One query."""
    # Of a season that has ended only those have to be put in order who may be among them.
    may_lead = Q(final_rank=None) | Q(final_rank__lte=count)
    entries = Entry.objects.filter(may_lead, ladder__in=ladders.order_by(), pairings__gt=0)
    entries = entries.exclude(state__in=Entry.GONE)
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
