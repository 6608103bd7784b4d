"""Pages of strengths: one entry's history, every version, and who fared how against whom."""

from collections.abc import Mapping
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
    """How the entries of one part of the standings fared against each other, and what the fit expects."""
    ladder = get_object_or_404(Ladder, slug=slug)
    page = Paginator(Standings(ladder, among=Q(pairings__gt=0)), MATRIX).get_page(request.GET.get("page"))
    entries: list[Entry] = list(page.object_list)
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


def meetings(ladder: Ladder, which: Q) -> dict[tuple[int, int], HeadToHead]:
    """Return by (entry, other), both ways, how the ones that `which` names fared. One query."""
    found = {}
    for one in Meeting.objects.filter(which, ladder=ladder, pairings__gt=0):
        behind = one.pairings - one.ahead - one.level
        found[one.entry_id, one.other_id] = HeadToHead(one.ahead, one.level, behind)
        found[one.other_id, one.entry_id] = HeadToHead(behind, one.level, one.ahead)
    return found


def _cell(
    entry: Entry, other: Entry, met: Mapping[tuple[int, int], HeadToHead], chances: Mapping[tuple[int, int], float]
) -> dict[str, Any]:
    key = entry.pk, other.pk
    return {"other": other, "is_self": entry == other, "met": met.get(key), "chance": chances.get(key)}


def _compared(found: Entry, user: Any) -> dict[str, Any]:
    """Return whom the entry met most, how it fared and what the fit expects; and what it expects against `_against`."""
    met = meetings(found.ladder, Q(entry=found) | Q(other=found))
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
