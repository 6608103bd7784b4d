"""Pages of matches: the list, and one match at any moment of its life."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import conditional_page, require_safe
from django.views.decorators.vary import vary_on_headers

from bots.models import Bot
from games.debrief import Debrief, debrief
from games.dispatch import place_in_queue
from games.models import Match, Seat, SeatLog
from games.plain_rules import plain_rules
from ladder.crosstable import met_page
from ladder.history import (
    Listing,
    badge_of,
    capped_note,
    change_of,
    is_owner,
    pairing_of,
    placed,
    player_url,
    rating_changes,
    read_key,
    why_unrated,
)
from ladder.judging import may_judge
from ladder.models import Entry, Ladder, LadderEvent, Pairing, RatingChange
from ladder.table_context import replay_context, table_context
from ladder.updates import is_update

State = Match.State
PAIR = ("entry", "with")


@require_safe
@conditional_page
def match_list(request: HttpRequest) -> HttpResponse:
    """Matches, newest first; `ladder` and `bot` in the address narrow them down.

    `entry` and `with`, two entries of the ladder, ask for the rated pairings in which these met.
    """
    ladders = list(Ladder.objects.order_by("pk"))
    kept = {name: request.GET[name] for name in ("ladder", "bot", *PAIR) if request.GET.get(name)}
    ladder = next((one for one in ladders if one.slug == kept.get("ladder")), None)
    bot = Bot.objects.filter(slug=kept["bot"]).first() if "bot" in kept else None
    if ("ladder" in kept and ladder is None) or ("bot" in kept and bot is None):
        raise Http404("expected the slug of a ladder and of a bot")
    pair = _pair(ladder, kept) if kept.keys() & PAIR else None
    if pair:
        matches = met_page(*pair, request.GET, kept=kept)
    else:
        matches = Listing(viewer=request.user, ladder=ladder, bot=bot, kept=kept).page(request.GET)
    context = {"ladders": ladders, "ladder": ladder, "bot": bot, "pair": pair, "matches": matches}
    return render(request, "ladder/match_list.html", context)


def _pair(ladder: Ladder | None, kept: Mapping[str, str]) -> tuple[Entry, Entry]:
    """Return the two entries that the address names, in its order. Http404 if there are not two of one ladder."""
    one, other = (read_key(kept.get(name)) for name in PAIR)
    found: dict[Any, Entry] = {}
    if ladder and "bot" not in kept:
        found = ladder.entries.select_related("bot", "user").in_bulk([one, other])
    if len(found) != len(PAIR):
        raise Http404("expected a ladder and two entries of it, and no bot")
    return found[one], found[other]


@require_safe
@conditional_page
@vary_on_headers("HX-Request")
def match(request: HttpRequest, code: str) -> HttpResponse:
    """One match: its place in the queue, its table while it runs, its result and replay when it has ended."""
    found = get_object_or_404(Match.objects.select_related("paired__pairing", "paired__ladder"), code=code)
    players = list(found.players.select_related("bot", "user", "version").order_by("seat", "entrant"))
    own = [seat for seat in players if is_owner(request.user, seat.bot)]
    if found.kind == Match.Kind.TRIAL and not own:
        raise Http404("expected a match that this reader may see")
    context = _facts(found, players, request.user) | _present(found, players, request)
    if found.is_over:
        context["debriefs"] = _debriefs(found, own)
    return render(request, "ladder/_match_update.html" if is_update(request) else "ladder/match.html", context)


def _facts(found: Match, players: Sequence[Seat], reader: Any) -> dict[str, Any]:
    """Return what stands on the page in every state; the seed only once the match has ended."""
    pairing = pairing_of(found)
    badge, label = badge_of(found, pairing)
    return {
        "match": found,
        "ladder": found.paired.ladder if pairing else None,
        "badge": badge,
        "badge_label": label,
        "results": _results(found, players, reader),
        "why_unrated": _why_uncounted(found, pairing),
        "why_void": _why_voided(found, pairing),
        # Which match of its duplicate set it is; 0 for one that is none's.
        "set_number": found.paired.rotation + 1 if pairing and found.duplicates else 0,
        "pairing": pairing,
        "may_void": pairing is not None and found.state != State.VOID and may_judge(reader, found.paired.ladder),
        "rules": plain_rules(found.rules, found.seats),
        "revealed_seed": bytes(found.server_seed).hex() if found.state == State.FINISHED else "",
    }


def _results(found: Match, players: Sequence[Seat], reader: Any) -> list[dict[str, Any]]:
    """Return a row for each seat, best place first."""
    pairing = pairing_of(found)
    # What a set did to a rating no match of it did.
    changes = rating_changes([pairing.pk]) if pairing and not found.duplicates else {}
    faults = {fault["seat"]: fault for fault in found.faults}
    return [
        _result(found, seat, change_of(changes, pairing, seat), faults.get(seat.seat), reader)
        for seat in placed(players)
    ]


def _result(
    found: Match, seat: Seat, change: RatingChange | None, fault: dict[str, Any] | None, reader: Any
) -> dict[str, Any]:
    return {
        "seat": seat,
        "url": player_url(seat),
        "change": change,
        "delta": change.after - change.before if change else None,
        "capped": capped_note(change, found.paired.ladder) if change else "",
        "fault": fault,
        "is_own": is_owner(reader, seat.bot) or (seat.user_id is not None and seat.user_id == reader.pk),
    }


def _why_uncounted(found: Match, pairing: Pairing | None) -> str:
    """Say why no rating moved, or an empty string."""
    if found.kind == Match.Kind.TRIAL:
        return _("Not rated: a trial match shows that a version plays without faults.")
    if found.kind == Match.Kind.TABLE and pairing is None:
        return _("Not rated: a friendly match at a table.")
    if pairing is not None and pairing.state == Pairing.State.UNRATED:
        return why_unrated(pairing.why_unrated, how=found.how)
    return ""


def _why_voided(found: Match, pairing: Pairing | None) -> str:
    """Return the reason for which an organiser voided the match, or an empty string. One query, of such a match."""
    if pairing is None or (found.state, found.how) != (State.VOID, "operator"):
        return ""
    events = LadderEvent.objects.filter(ladder=pairing.ladder_id, what=LadderEvent.What.VOIDED, subject=found.code)
    return events.values_list("reason", flat=True).first() or ""


def _present(found: Match, players: Sequence[Seat], request: HttpRequest) -> dict[str, Any]:
    """Return what the match's state adds: its replay, its table, its place in the queue."""
    if found.state == State.FINISHED:
        return {"replay": replay_context(found, players, request.GET)}
    if found.state == State.SHOWING:
        return {"table": table_context(found, players)}
    if found.state == State.WAITING:
        return {"queue_place": place_in_queue(found)}
    return {}


def _debriefs(found: Match, own: Sequence[Seat]) -> list[Debrief]:
    """Return what only the reader is told, for each seat of his own."""
    logs = {log.seat_id: log for log in SeatLog.objects.filter(seat__in=own)} if own else {}
    told = []
    for seat in own:
        seat.match = found  # known already; saves a query each
        told.append(debrief(found, seat, logs.get(seat.pk)))
    return told
