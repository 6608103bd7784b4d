"""Pages of the site as a whole and of its ladders; entering a bot and taking it out again."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Case, Count, F, Q, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import conditional_page, require_safe
from django.views.decorators.vary import vary_on_headers

from bots.switches import pause_note
from games.models import Match
from games.plain_rules import plain_rules
from ladder.entry_views import own_part
from ladder.history import latest_rows, rows_of_lists, running
from ladder.judging import may_run
from ladder.models import Entry, Ladder
from ladder.own_entries import why_no_rounds, why_too_few
from ladder.scheduling import able_now
from ladder.standing_rows import own_elsewhere, standing_rows
from ladder.standings import SHOWN, SORTS, Standings, default_sort, leaders
from ladder.table_context import table_context
from ladder.updates import is_update

LATEST = 10
HOME_LATEST = 6


@require_safe
@conditional_page
@vary_on_headers("HX-Request")
def home(request: HttpRequest) -> HttpResponse:
    """What is going on now, who leads, and three ways in."""
    shown = _on_show()
    context = {
        "shown": shown,
        "table": table_context(shown) if shown else None,
        "ladders": _ladder_cards(),
        "latest": latest_rows(HOME_LATEST),
        "paused": pause_note("rounds"),
    }
    return render(request, "ladder/_home.html" if is_update(request) else "ladder/home.html", context)


@require_safe
@conditional_page
def ladder_list(request: HttpRequest) -> HttpResponse:
    """Every ladder, the open ones first."""
    return render(
        request,
        "ladder/ladder_list.html",
        {
            "ladders": _ladder_cards(only_open=False),
            "paused": pause_note("rounds"),
            "can_create": request.user.has_perm("ladder.add_ladder"),
        },
    )


@require_safe
@conditional_page
@vary_on_headers("HX-Request")
def ladder(request: HttpRequest, slug: str) -> HttpResponse:
    """Standings, the next round, what is being played and what has been; the reader's own bots."""
    ladders = Ladder.objects.annotate(slug_before=F("previous__slug"), slug_after=F("following__slug"))
    found: Any = get_object_or_404(ladders, slug=slug)
    own = own_part(found, request.user)
    asked = request.GET.get("sort", "")
    sort = asked if asked in SORTS else default_sort(found)
    standing = Standings(found, sort)
    page = Paginator(range(len(standing)), SHOWN).get_page(request.GET.get("page"))
    own_places = standing.places([one.entry.pk for one in own.get("own_entries", ())])
    entries = standing.at([*page.object_list, *own_places])
    rows = standing_rows(found, entries, request.user, sort=sort)
    context = {
        "ladder": found,
        "page": page,
        "sort": sort,
        "kept_query": f"sort={sort}&" if sort != default_sort(found) else "",
        "by_fit": found.ranked_by == Ladder.RankedBy.FIT,
        "rows": rows,
        "has_anchor": any(row.half_width == 0 for row in rows),
        "own_elsewhere": own_elsewhere(entries, page.number, request.user),
        "why_waiting": _why_waiting(found, len(standing)),
    } | _matches(found)
    if is_update(request):
        return render(request, "ladder/_ladder.html", context)
    context |= {"rules": plain_rules(found.rules, found.seats), "can_run": may_run(request.user, found)} | own
    return render(request, "ladder/ladder.html", context)


def _on_show() -> Match | None:
    """Return the match to watch: the one put on show last, else the table at which people moved last, or None."""
    on_show, at_table = Q(state=Match.State.SHOWING), Q(state=Match.State.PLAYING, kind=Match.Kind.TABLE)
    matches = Match.objects.filter(on_show | at_table).select_related("paired__pairing", "paired__ladder")
    # Only a show has `show_from`.
    return matches.order_by(F("show_from").desc(nulls_last=True), "-moved_at", "-pk").first()


def _ladder_cards(*, only_open: bool = True) -> list[dict[str, Any]]:
    """Return the ladders, each with its leaders and how many stand in it. Two queries."""
    shown = Ladder.objects.filter(state__in=Ladder.GOING_ON) if only_open else Ladder.objects.all()
    first = leaders(shown)
    standing = ~Q(entries__state__in=Entry.GONE)
    ladders = shown.annotate(entry_count=Count("entries", filter=standing)).order_by(
        Case(When(state__in=Ladder.GOING_ON, then=0), default=1), "pk"
    )
    return [{"ladder": one, "leaders": first.get(one.pk, [])} for one in ladders]


def _matches(found: Ladder) -> dict[str, Any]:
    """Return the rows of what is being played and of what has ended, fetched together."""
    now = Match.objects.filter(running(found)).order_by("-state", "-pk")[:LATEST]
    ended = Match.objects.filter(paired__ladder=found, state__in=(Match.State.FINISHED, Match.State.VOID))
    # By the pairing's column, which an index has with the ladder.
    latest = ended.order_by("-paired__match_id")[:LATEST]
    rows = rows_of_lists([now, latest], name_ladder=False)
    return {"running": rows[0], "latest": rows[1]}


def _why_waiting(found: Ladder, standing: int) -> str:
    """Say why no round may come, or an empty string; `standing` is how many stand in the ladder."""
    if why := why_no_rounds(found) or pause_note("rounds"):
        return why
    # Where more stand than a page shows somebody can play; to count them all would cost as much as the page.
    return why_too_few(found, able_now(found)) if standing <= SHOWN else ""
