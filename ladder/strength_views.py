"""Pages of strengths: one entry's history, every version, and who fared how against whom."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import conditional_page, require_safe

from ladder import fits
from ladder.charts import rating_points, strength_points
from ladder.models import Entry, Ladder, Meeting, Strength
from ladder.standings import SHOWN, Standings, average_place, lost, scale_of, version_standings

MATRIX = 16
CHANGES = 50
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
        }
        for one in page
    ]
    context = {
        "ladder": ladder,
        "page": page,
        "rows": rows,
        "scale": scale_of(page),
        "fit": ladder.fits.defer("packed").first(),
    }
    return render(request, "ladder/versions.html", context)


@require_safe
@conditional_page
def matrix(request: HttpRequest, slug: str) -> HttpResponse:
    """How the entries of one part of the standings fared against those of any other, and what the fit expects.

    `page` tells the rows and `against` the columns; without it they are the same entries as the rows.
    """
    ladder = get_object_or_404(Ladder, slug=slug)
    pages = Paginator(Standings(ladder, among=Q(pairings__gt=0)), MATRIX)
    page = pages.get_page(asked_number(request, "page", least=1, otherwise=1))
    against = pages.get_page(asked_number(request, "against", least=1, otherwise=page.number))
    entries, others = list(page), list(against)
    met, chances = compared(ladder, {one.pk for one in (*entries, *others)})
    rows = [
        {
            "entry": entry,
            "is_own": entry.is_owned_by(request.user),
            "cells": [_cell(entry, other, met, chances) for other in others],
        }
        for entry in entries
    ]
    parts = [(number, (number - 1) * MATRIX + 1, min(number * MATRIX, pages.count)) for number in pages.page_range]
    columns = [{"entry": other, "is_own": other.is_owned_by(request.user)} for other in others]
    context = {"ladder": ladder, "page": page, "against": against, "columns": columns, "rows": rows, "parts": parts}
    kept = {"kept_rows": f"page={page.number}&", "kept_columns": f"against={against.number}&"}
    return render(request, "ladder/matrix.html", context | kept)


def asked_number(request: Any, name: str, *, least: int, otherwise: int) -> int:
    """Return a whole number of the address's query: `least` if it is less, `otherwise` if there is none."""
    try:
        return max(least, int(request.GET.get(name, "")))
    except ValueError:
        return otherwise


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
        "lost": lost(found),
        "average_place": average_place(found),
        "strengths": strength_points(found),
        "ratings": rating_points([found])[found.pk],
        "versions": list(by_version.order_by("pk")),
        "page": changes,
    } | _compared(found, request.user)
    return render(request, "ladder/entry.html", context)


class HeadToHead(NamedTuple):
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


def meetings(which: Q) -> dict[tuple[int, int], HeadToHead]:
    """Return by (entry, other), both ways, how the ones that `which` names fared. One query."""
    found = {}
    # Not of the ladder too: its index leads to all pairs of thousands of entries, those of the entries to a few.
    for one in Meeting.objects.filter(which, pairings__gt=0):
        behind = one.pairings - one.ahead - one.level
        found[one.entry_id, one.other_id] = HeadToHead(one.ahead, one.level, behind)
        found[one.other_id, one.entry_id] = HeadToHead(behind, one.level, one.ahead)
    return found


def compared(
    ladder: Ladder, ids: Collection[int]
) -> tuple[dict[tuple[int, int], HeadToHead], dict[tuple[int, int], float]]:
    """Return by (entry, other) how these entries fared against each other, and what the fit expects. Three queries."""
    return meetings(Q(entry__in=ids, other__in=ids)), fits.chances(ladder, list(ids))


def _cell(
    entry: Entry, other: Entry, met: Mapping[tuple[int, int], HeadToHead], chances: Mapping[tuple[int, int], float]
) -> dict[str, Any]:
    key = entry.pk, other.pk
    return {"other": other, "is_self": entry == other, "met": met.get(key), "chance": chances.get(key)}


def _compared(found: Entry, user: Any) -> dict[str, Any]:
    """Return whom the entry met most, how it fared and what the fit expects; and what it expects against `_against`."""
    met = meetings(Q(entry=found) | Q(other=found))
    most = sorted((key for key in met if key[0] == found.pk), key=lambda key: (-met[key].pairings, key))[:OPPONENTS]
    others = Entry.objects.select_related("bot", "user").in_bulk([other for _, other in most])
    against = _against(found, user)
    known = fits.chances_against(found.ladder, found, {*others.values(), *against})
    chance = {pk: 1 - theirs for pk, theirs in known.items()}
    return {
        "opponents": [
            {"entry": others[other], "met": met[found.pk, other], "chance": chance.get(other)} for _, other in most
        ],
        "against": [{"entry": one, "chance": chance[one.pk]} for one in against if one.pk in chance],
    }


def _against(found: Entry, user: Any) -> list[Entry]:
    """Return whom a reader compares an entry with: his own, and who is first.

    The standings tell it on hover; on the entry's page it is to be had without a mouse.
    """
    known = found.ladder.entries.exclude(state__in=Entry.GONE).filter(strength__isnull=False).exclude(pk=found.pk)
    if (owner := found.owner_id) is not None:
        # Those of one owner never meet.
        known = known.exclude(Q(user=owner) | Q(bot__owner=owner))
    which = Q(pk__in=known.order_by("-strength", "pk").values("pk")[:1])
    if user.is_authenticated:
        which |= Q(user=user) | Q(bot__owner=user)
    return list(known.filter(which).select_related("bot", "user").order_by("-strength", "pk"))
