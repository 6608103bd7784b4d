"""Pages of rounds and of the pairings in them; a set's page is its crosstable."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import conditional_page, require_safe
from django.views.decorators.vary import vary_on_headers

from ladder.crosstable import Row, crosstable, pairing_row, with_matches
from ladder.history import PAGE, badge_of, capped_note, key_page, player_url
from ladder.models import Ladder, Pairing, Round
from ladder.updates import is_update


@require_safe
@conditional_page
@vary_on_headers("HX-Request")
def pairing(request: HttpRequest, slug: str, pairing: str) -> HttpResponse:
    """A set as one crosstable, sealed until its last match has ended; a single match has a page of its own."""
    found = get_object_or_404(with_matches(Pairing.objects.filter(ladder__slug=slug)), pk=int(pairing))
    shown = crosstable(found)
    if not shown.is_set:
        return redirect("match", shown.matches[0].code)
    badge, label = shown.badge()
    context = {
        "ladder": found.ladder,
        "pairing": found,
        "shown": shown,
        "badge": badge,
        "badge_label": label,
        "rows": [_row(row, found.ladder, request.user) for row in shown.rows],
        "columns": [(match, *badge_of(match, found)) for match in shown.matches],
        "commitment": found.commitment or shown.matches[0].commitment,
    }
    return render(request, "ladder/_pairing.html" if is_update(request) else "ladder/pairing.html", context)


def _row(row: Row, ladder: Ladder, reader: Any) -> dict[str, Any]:
    capped = capped_note(row.change, ladder) if row.change else ""
    return {"row": row, "url": player_url(row.entry), "is_own": row.entry.is_owned_by(reader), "capped": capped}


@require_safe
@conditional_page
@vary_on_headers("HX-Request")
def rounds(request: HttpRequest, slug: str) -> HttpResponse:
    """A ladder's rounds, newest first, and how much of each is done."""
    found = get_object_or_404(Ladder, slug=slug)
    held = Round.objects.filter(ladder=found)
    rows, newer_url, older_url = key_page(held, "number", request.GET, key=lambda row: row.number)
    context = {
        "ladder": found,
        "rounds": _counted(rows),
        "newer_url": newer_url,
        "older_url": older_url,
    }
    return render(request, "ladder/_rounds.html" if is_update(request) else "ladder/rounds.html", context)


def _counted(rows: list[Round]) -> list[dict[str, Any]]:
    """Return rounds with how many of their pairings are in which state. One query."""
    state = Pairing.State
    counts = Pairing.objects.filter(round__in=rows).order_by().values("round")
    counts = counts.annotate(
        all=Count("pk"),
        rated=Count("pk", filter=Q(state=state.RATED)),
        unrated=Count("pk", filter=Q(state=state.UNRATED)),
        playing=Count("pk", filter=Q(state=state.PLAYING)),
    )
    by_round = {row["round"]: row for row in counts}
    nothing = {"all": 0, "rated": 0, "unrated": 0, "playing": 0}
    return [{"round": row, "counts": by_round.get(row.pk, nothing)} for row in rows]


@require_safe
@conditional_page
@vary_on_headers("HX-Request")
def ladder_round(request: HttpRequest, slug: str, number: str) -> HttpResponse:
    """One round of a ladder: its pairings, with what has come of them."""
    found = get_object_or_404(Round.objects.select_related("ladder"), ladder__slug=slug, number=int(number))
    (counted,) = _counted([found])
    page = Paginator(range(counted["counts"]["all"]), PAGE).get_page(request.GET.get("page"))
    pairings = with_matches(Pairing.objects.filter(round=found)).order_by("pk")
    first = page.start_index() - 1
    context = {
        "ladder": found.ladder,
        "page": page,
        "ended": counted["counts"]["all"] - counted["counts"]["playing"],
        "rows": [pairing_row(crosstable(row)) for row in pairings[max(0, first) : page.end_index()]],
        "previous": found.number - 1,
        "next": found.number + 1 if found.number < found.ladder.rounds else 0,
    } | counted
    return render(request, "ladder/_round.html" if is_update(request) else "ladder/round.html", context)
