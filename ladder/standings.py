"""Who stands where in a ladder. Reads the entries' own figures; adds up no history.

A ladder ranks by the fitted strength, where entries that cannot be told apart share a rank and those of which too
little is known have none yet, or by the Elo rating. One that is closed stands as it was closed, whatever is made of its
figures later: by the final ranks, in which everybody has one.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from django.db.models import Case, F, FloatField, Q, QuerySet, Value, When, Window
from django.db.models.functions import Coalesce, Lower, RowNumber

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
FINAL = F("final_rank").asc(nulls_last=True)
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


class Standings(Sequence[Any]):
    """The entries that stand in a ladder, sorted by a name of SORTS or as it ranks; with `among` only some of them.

    One query puts all in order, with as few columns as it takes; what is then asked for is one more. Each entry has
    `rank` (who cannot be told apart shares one; None while too little is known), `position` from 1, `owner_name` (None
    for a house bot or a person), and what SHOWN_COLUMNS names. With `anew` those of a closed ladder are of its figures.
    """

    def __init__(self, ladder: Ladder, sort: str = "", *, among: Q = EVERYBODY, anew: bool = False) -> None:
        self._ladder = ladder
        is_elo = ladder.ranked_by == Ladder.RankedBy.ELO
        is_closed = ladder.state == Ladder.State.CLOSED and not anew
        sort = sort or default_sort(ladder)
        order = [*SORTS[sort], F("entered_at").asc(), F("pk").asc()]
        if is_closed and sort == default_sort(ladder):
            order.insert(0, FINAL)
        standing = ladder.entries.filter(among).exclude(state__in=Entry.GONE).order_by(*order)
        columns = ("pk", "rating" if is_elo else "band", *(["final_rank"] if is_closed else []))
        rows = list(standing.values_list(*columns))
        self._ids = [row[0] for row in rows]
        # Those that were closed before final ranks were kept have none.
        is_final = is_closed and any(row[-1] is not None for row in rows)
        self._keys = [row[-1 if is_final else 1] for row in rows]
        known = {key: key for key in self._keys if key is not None}
        self._ranks = known if is_final else _ranks(self._keys, highest_first=is_elo)

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, index: Any) -> Any:
        places = range(len(self))[index]
        return self.at(places) if isinstance(index, slice) else self.at([places])[0]

    def places(self, ids: Collection[int]) -> list[int]:
        """Return where those of these entries stand that do, from 0."""
        return [place for place, pk in enumerate(self._ids) if pk in ids]

    def at(self, places: Iterable[int]) -> list[Entry]:
        """Return the entries at these places, from 0, in order; one query."""
        wanted = {self._ids[place]: place for place in sorted(set(places))}
        found: dict[int, Any] = _with_names(self._ladder.entries.all()).in_bulk(list(wanted))
        for pk, entry in found.items():
            entry.position, entry.rank = wanted[pk] + 1, self._ranks.get(self._keys[wanted[pk]])
        # Whoever was deleted in between is left out.
        return [found[pk] for pk in wanted if pk in found]


def _ranks(keys: Iterable[Any], *, highest_first: bool) -> dict[Any, int]:
    """Return by key how many have a better one, and one more; None ranks nobody."""
    found, ahead = {}, 0
    for key, count in sorted(Counter(key for key in keys if key is not None).items(), reverse=highest_first):
        found[key] = ahead + 1
        ahead += count
    return found


def _with_names(entries: QuerySet[Any]) -> QuerySet[Any]:
    named: QuerySet[Any] = (
        entries.select_related("bot", "user").only(*SHOWN_COLUMNS).annotate(owner_name=F("bot__owner__username"))
    )
    return named


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
    order = (FINAL, figure.desc(), F("rating").desc(), F("entered_at").asc(), F("pk").asc())
    ranked = entries.annotate(place=Window(RowNumber(), partition_by=F("ladder"), order_by=order))
    found: dict[int, list[Entry]] = defaultdict(list)
    for entry in ranked.filter(place__lte=count).select_related("bot", "user", "ladder").order_by("ladder", "place"):
        entry.place = entry.final_rank or entry.place
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
