"""Pages of strengths: one entry's history, every version, and who fared how against whom."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.views.decorators.http import conditional_page, require_safe

from ladder import fits
from ladder.models import Entry, Ladder, Meeting, RatingChange, Strength, StrengthPoint
from ladder.standings import SHOWN, average_place, lost, standings, version_standings

MATRIX = 16
CHANGES = 50
CHART_POINTS = 200
OPPONENTS = 50


@require_safe
@conditional_page
def versions(request: HttpRequest, slug: str) -> HttpResponse:
    """Every version that has played in the ladder, strongest first."""
    ladder = get_object_or_404(Ladder, slug=slug)
    page = Paginator(version_standings(ladder), SHOWN).get_page(request.GET.get("page"))
    rows: list[dict[str, Any]] = [
        {
            "strength": one,
            "is_own": one.entry.is_owned_by(request.user),
            "low": one.strength - one.half_width,
            "high": one.strength + one.half_width,
        }
        for one in page
    ]
    scale = (min((row["low"] for row in rows), default=0.0), max((row["high"] for row in rows), default=1.0))
    context = {"ladder": ladder, "page": page, "rows": rows, "scale": scale, "fit": ladder.fits.first()}
    return render(request, "ladder/versions.html", context)


@require_safe
@conditional_page
def matrix(request: HttpRequest, slug: str) -> HttpResponse:
    """How the entries of one part of the standings fared against each other, and what the fit expects."""
    ladder = get_object_or_404(Ladder, slug=slug)
    count = ladder.entries.exclude(state__in=Entry.GONE).filter(pairings__gt=0).count()
    page = Paginator(range(count), MATRIX).get_page(request.GET.get("page"))
    ranked = standings(ladder, page=page.number, shown=MATRIX)
    entries = [entry for entry in ranked if entry.pairings]
    ids = [entry.pk for entry in entries]
    met = meetings(ladder, Q(entry__in=ids, other__in=ids))
    chances = fits.chances(ladder, ids)
    rows = [
        {
            "entry": entry,
            "is_own": entry.is_owned_by(request.user),
            "cells": [_cell(entry, other, met, chances) for other in entries],
        }
        for entry in entries
    ]
    return render(request, "ladder/matrix.html", {"ladder": ladder, "page": page, "entries": entries, "rows": rows})


@require_safe
@conditional_page
def entry(request: HttpRequest, slug: str, pk: str) -> HttpResponse:
    """One entry of a ladder: where it stands, how that came about, and how it fared against whom."""
    entries = Entry.objects.select_related("ladder", "bot__owner", "user")
    found = get_object_or_404(entries, pk=pk, ladder__slug=slug)
    ladder = found.ladder
    changes = Paginator(
        found.changes.select_related("version").annotate(gain=F("after") - F("before")).order_by("-number"), CHANGES
    ).get_page(request.GET.get("page"))
    by_version = Strength.objects.filter(entry=found, pairings__gt=0).select_related("version").defer("covariances")
    context = {
        "ladder": ladder,
        "entry": found,
        "is_own": found.is_owned_by(request.user),
        "low": found.interval[0],
        "high": found.interval[1],
        "lost": lost(found),
        "average_place": average_place(found),
        "strengths": strength_points(found),
        "ratings": rating_points(found),
        "versions": list(by_version.order_by("pk")),
        "page": changes,
        "changes": changes,
        "opponents": _opponents(found),
    }
    return render(request, "ladder/entry.html", context)


class Met(NamedTuple):
    """How an entry fared against another: pairings in which it was ahead, level and behind."""

    ahead: int
    level: int
    behind: int

    @property
    def pairings(self) -> int:
        return self.ahead + self.level + self.behind

    @property
    def share(self) -> float:
        """The share of the points, a tie counting half."""
        return (self.ahead + self.level / 2) / self.pairings


def meetings(ladder: Ladder, which: Q) -> dict[tuple[int, int], Met]:
    """Return by (entry, other), both ways, how the ones that `which` names fared. One query."""
    found = {}
    for one in Meeting.objects.filter(which, ladder=ladder, pairings__gt=0):
        behind = one.pairings - one.ahead - one.level
        found[one.entry_id, one.other_id] = Met(one.ahead, one.level, behind)
        found[one.other_id, one.entry_id] = Met(behind, one.level, one.ahead)
    return found


def _cell(
    entry: Entry, other: Entry, met: Mapping[tuple[int, int], Met], chances: Mapping[tuple[int, int], float]
) -> dict[str, Any]:
    key = entry.pk, other.pk
    return {"other": other, "is_self": entry == other, "met": met.get(key), "chance": chances.get(key)}


def _opponents(found: Entry) -> list[dict[str, Any]]:
    """Return whom the entry met most, with how it fared and what the fit expects."""
    met = meetings(found.ladder, Q(entry=found) | Q(other=found))
    most = sorted((key for key in met if key[0] == found.pk), key=lambda key: (-met[key].pairings, key))[:OPPONENTS]
    others = Entry.objects.select_related("bot", "user").in_bulk([other for _, other in most])
    chance = fits.chances_against(found.ladder, found.pk, list(others))
    return [
        {
            "entry": others[other],
            "met": met[found.pk, other],
            "chance": None if other not in chance else 1 - chance[other],
        }
        for _, other in most
    ]


def strength_points(found: Entry) -> list[dict[str, Any]]:
    """Return the chart of the entry's strength with its interval and a mark where another version came. One query."""
    rows = thinned(list(StrengthPoint.objects.filter(entry=found).select_related("version").order_by("pk")))
    points: list[dict[str, Any]] = []
    before = None
    for row in rows:
        point = {
            "value": row.strength,
            "low": row.strength - row.half_width,
            "high": row.strength + row.half_width,
            "label": date_format(localtime(row.made_at), "j M, H:i"),
        }
        if row.version is not None and before is not None and row.version_id != before:
            point["mark"] = _("version %(number)d") % {"number": row.version.number}
        before = row.version_id
        points.append(point)
    return points


def thinned(rows: Sequence[StrengthPoint]) -> list[StrengthPoint]:
    """Return so many of the points as a chart can show, the last and the first of each version among them."""
    step = max(1, len(rows) // CHART_POINTS)
    firsts = {index for index, row in enumerate(rows) if not index or rows[index - 1].version_id != row.version_id}
    return [row for index, row in enumerate(rows) if index % step == 0 or index == len(rows) - 1 or index in firsts]


def rating_points(found: Entry) -> list[dict[str, Any]]:
    """Return the chart of the entry's Elo rating, at even distances. One query."""
    if not found.pairings:
        return []
    step = max(1, found.pairings // CHART_POINTS)
    rows = RatingChange.objects.filter(entry=found).annotate(rest=F("nth") % step)
    rows = rows.filter(Q(rest=0) | Q(nth=found.pairings)).order_by("nth")
    return [_rated_point(after, rated_at) for after, rated_at in rows.values_list("after", "rated_at")]


def _rated_point(after: float, rated_at: Any) -> dict[str, Any]:
    return {"value": after, "label": date_format(localtime(rated_at), "j M, H:i")}
