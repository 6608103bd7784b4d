"""Pages of bots and of the people behind them."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Prefetch, QuerySet, Subquery
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from bots.models import Bot, BotVersion
from bots.versions import PUBLIC_STATES, playing, with_active
from games.asides import open_for
from games.author_views import aside_row
from ladder.charts import rating_points
from ladder.history import Listing, is_owner
from ladder.models import Entry, Ladder
from ladder.standings import average_place, lost

BOTS_SHOWN = 50
VERSIONS_SHOWN = 20
PLAYS = Subquery(playing("pk").values("number")[:1])


@require_safe
def bot(request: HttpRequest, slug: str) -> HttpResponse:
    """One bot: where it stands, how its rating went, its versions and matches; forms for its owner."""
    found = get_object_or_404(Bot.objects.select_related("owner"), slug=slug)
    entries = list(found.entries.select_related("ladder").order_by("ladder"))
    is_own = is_owner(request.user, found)
    known = found.versions.all() if is_own else found.versions.filter(state__in=PUBLIC_STATES)
    versions = with_active(known).order_by("-number")[:VERSIONS_SHOWN]
    context = {
        "bot": found,
        "is_own": is_own,
        "entries": _entry_rows(entries),
        "free_ladders": _free_ladders(found, entries) if is_own else [],
        "is_playable": any(version.state == BotVersion.State.READY for version in versions),
        "versions": versions,
        "asides": [aside_row(aside.version, aside) for aside in open_for(request.user, found)] if is_own else [],
        "matches": Listing(viewer=request.user, bot=found).page(request.GET),
    }
    return render(request, "ladder/bot.html", context)


@require_safe
def bot_list(request: HttpRequest) -> HttpResponse:
    """Every bot by name, page by page; `q` looks for a name."""
    wanted = request.GET.get("q", "").strip()[:32]
    after = request.GET.get("after", "")[:32]
    bots = Bot.objects.select_related("owner").prefetch_related(_standing_entries())
    # No two names differ in case alone (Bot.name_key), so the folded name is a key.
    bots = bots.annotate(folded=Lower("name")).order_by("folded")
    if wanted:
        bots = bots.filter(name__icontains=wanted)
    if after:
        bots = bots.filter(folded__gt=after.lower())
    found = list(bots.annotate(plays=PLAYS)[: BOTS_SHOWN + 1])
    context = {
        "bots": found[:BOTS_SHOWN],
        "wanted": wanted,
        "after": after,
        "next_after": found[BOTS_SHOWN - 1].name if len(found) > BOTS_SHOWN else "",
    }
    return render(request, "ladder/bot_list.html", context)


@require_safe
def person(request: HttpRequest, username: str) -> HttpResponse:
    """One person by public name: bots, where they stand, matches at tables. Never an address."""
    people = get_user_model().objects.filter(is_active=True).only("pk", "username", "date_joined")
    found = get_object_or_404(people, username=username)
    bots = found.bots.prefetch_related(_standing_entries()).annotate(plays=PLAYS).order_by("name")
    context = {
        "person": found,
        "is_self": request.user.pk == found.pk,
        "bots": list(bots[:BOTS_SHOWN]),
        "matches": Listing(viewer=request.user, person=found).page(request.GET),
    }
    return render(request, "ladder/person.html", context)


def _standing_entries() -> Prefetch[str, QuerySet[Entry], str]:
    """Return what fetches each bot's entries as `standing`, best first, with their ladders."""
    entries = Entry.objects.exclude(state=Entry.State.WITHDRAWN).select_related("ladder").order_by("-rating")
    return Prefetch("entries", entries, to_attr="standing")


def _free_ladders(found: Bot, entries: Sequence[Entry]) -> list[Ladder]:
    """Return the open ladders that the bot could enter, or come back to."""
    taken = [entry.ladder_id for entry in entries if entry.state != Entry.State.WITHDRAWN]
    return list(Ladder.objects.filter(state__in=Ladder.GOING_ON).exclude(pk__in=taken))


def _entry_rows(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the bot's entries, each with the points of its chart. One query."""
    points = rating_points(entries)
    return [
        {
            "entry": entry,
            "points": points[entry.pk],
            "lost": lost(entry),
            "average_place": average_place(entry),
        }
        for entry in entries
    ]
