"""The points of entries' charts, as the tag `chart` takes them: the Elo rating, and the strength with its interval."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import F, Q
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _

from ladder.models import Entry, RatingChange, StrengthPoint

MOST = 150


def rating_points(entries: Sequence[Entry]) -> dict[int, list[dict[str, Any]]]:
    """Return by entry its rating after pairings at even distances, the last among them, oldest first. One query."""
    points: dict[int, list[dict[str, Any]]] = {entry.pk: [] for entry in entries}
    for entry_id, after, rated_at in _thinned(entries):
        points[entry_id].append({"value": after, "label": _label(rated_at)})
    return points


def strength_points(found: Entry) -> list[dict[str, Any]]:
    """Return the entry's fitted strengths, oldest first, with a mark where another version came. One query."""
    rows = list(StrengthPoint.objects.filter(entry=found).select_related("version").order_by("pk"))
    step, points, before = max(1, len(rows) // MOST), [], None
    for index, row in enumerate(rows):
        is_new = row.version is not None and before is not None and row.version_id != before
        if index % step and index < len(rows) - 1 and row.version_id == before:
            continue
        mark = {"mark": _("version %(number)d") % {"number": row.version.number}} if is_new and row.version else {}
        points.append({"value": row.strength, "low": row.low, "high": row.high, "label": _label(row.made_at), **mark})
        before = row.version_id
    return points


def _label(moment: datetime) -> str:
    return date_format(localtime(moment), "j M, H:i")


def _thinned(entries: Sequence[Entry]) -> list[tuple[int, float, datetime]]:
    """Return (entry, rating after, when) of each entry's history at even distances and its last, oldest first."""
    played = [entry for entry in entries if entry.pairings]
    if not played:
        return []
    parts = [
        RatingChange.objects.filter(entry=entry)
        .annotate(rest=F("nth") % max(1, entry.pairings // MOST))
        .filter(Q(rest=0) | Q(nth=entry.pairings))
        .order_by()
        .values_list("entry_id", "after", "rated_at", "nth")
        for entry in played
    ]
    rows = parts[0].union(*parts[1:], all=True) if len(parts) > 1 else parts[0]
    return [(entry_id, after, when) for entry_id, after, when, _nth in sorted(rows, key=lambda row: row[3])]
