"""Pages of the games room: tables of people, a version's trial, records and frames, and the operators' health page."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from bots.models import BotVersion
from bots.rates import MINUTE_S, too_often
from bots.views import own_version
from games import asides, author_views, live, replay, tables
from games import health as health_facts
from games.clocks import clock_rows, clocks_of
from games.debrief import Debrief, debrief
from games.dispatch import place_in_queue
from games.forms import DealForm, MoveForm, TableForm
from games.models import Match, Seat, SeatLog, SetAside
from games.plain_rules import plain_rules
from games.sight import visible_matches
from games.status import why_bots_wait
from games.tables import TableRefused
from games.wording import describe_choice

State = Match.State
LOG_SHOWN = 30


# Tables of people


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def table_new(request: HttpRequest) -> HttpResponse:
    """Choose opponents and rules, and open a table."""
    form = TableForm(request.POST or None, house=tables.house_bots())
    if request.method == "POST" and form.is_valid():
        try:
            match = tables.open_table(request.user, opponents=form.opponents(), rules=form.rules())
        except TableRefused as refusal:
            form.add_error(None, str(refusal))
        else:
            return redirect("table", match.code)
    context = {"form": form, "running": tables.running_table(request.user)}
    return render(request, "games/table_new.html", context, status=422 if form.errors else 200)


@never_cache
@require_safe
def table(request: HttpRequest, code: str) -> HttpResponse:
    """A table of people as the reader may see it now; he plays here if he sits at it."""
    match = get_object_or_404(visible_matches(request.user), code=code)
    if match.kind != Match.Kind.TABLE or match.state == State.FINISHED:
        return redirect("match", code)
    players = list(match.players.select_related("bot", "user").order_by("seat", "entrant"))
    reader = request.user.pk if request.user.is_authenticated else -1
    own = next((player for player in players if player.user_id == reader), None)
    context: dict[str, Any] = {"match": match, "players": players, "own": own, "socket": f"/ws/tables/{code}/"}
    context["rules"] = plain_rules(match.rules, match.seats)
    if match.state == State.OPEN:
        context["form"] = DealForm(initial={"player_seed": match.player_seeds[own.entrant] if own else ""})
    elif match.state == State.PLAYING:
        context |= _table_context(match, players, own)
    return render(request, "games/table.html", context)


def _table_context(match: Match, players: list[Seat], own: Seat | None) -> dict[str, Any]:
    """Return what `games/_table.html` takes, and the legal moves in words if it is the reader's turn."""
    seat = own.seat if own else None
    game = live.game_now(match)
    if game is None:
        raise Http404("expected a table at which cards are dealt")
    view, log = game.view(seat), game.log_for(seat)
    names = [player.name for player in players]
    is_own_turn = seat is not None and view["to_act"] == seat and seat not in view["faulted"]
    ms = tables.elapsed_ms(match) if clocks_of(match) else []
    people = [player.seat for player in players if player.user_id]
    clocks = dict(enumerate(clock_rows(match, game, people, ms)))
    return {
        "view": view,
        "seats": [_named(player, own) | {"clock": clocks.get(player.seat or 0)} for player in players],
        "deadline": match.deadline_at if is_own_turn else None,
        "target": None if match.rules["end"] == "hands" else match.rules["target"],
        "last": next((event for event in reversed(log) if "move" in event), None),
        "log": log[: -LOG_SHOWN - 1 : -1],
        "after_url": reverse("match", args=[match.code]),
        "after_label": _("See the result"),
        "choices": [(move, describe_choice(move, view, names)) for move in game.legal()] if is_own_turn else [],
        "can_resign": seat is not None and seat not in view["faulted"],
    }


def _named(player: Seat, own: Seat | None) -> dict[str, Any]:
    url = reverse("bot", args=[player.bot.slug]) if player.bot else ""
    if player.user:
        url = reverse("person", args=[player.user.username])
    kind = "bot" if player.bot_id else "human"
    return {"name": player.name, "url": url, "kind": kind, "you": own is not None and player.pk == own.pk}


@login_required
@require_POST
def table_deal(request: HttpRequest, code: str) -> HttpResponse:
    """Take the person's seed and have the seats drawn and the cards dealt."""
    match = _own_table(request, code)
    form = DealForm(request.POST)
    if match.state == State.OPEN and not form.is_valid():
        for text in form.errors.get("player_seed", ()):
            messages.error(request, str(text))
    elif match.state == State.OPEN:
        try:
            if form.cleaned_data["player_seed"]:
                tables.set_player_seed(match, request.user, form.cleaned_data["player_seed"])
        except TableRefused as refusal:
            messages.error(request, str(refusal))
        else:
            tables.deal(match)
    return redirect("table", code)


@login_required
@require_POST
def table_move(request: HttpRequest, code: str) -> HttpResponse:
    """Send one decision, from a page without its module."""
    match, form = _own_table(request, code), MoveForm(request.POST)
    if not tables.may_act(request.user.pk):
        return too_often(request, within_s=MINUTE_S)
    seat = tables.seat_of(match, request.user)
    if seat is None or match.state != State.PLAYING or not form.is_valid():
        messages.error(request, _("That move was not taken. Nothing was lost; choose again."))
    else:
        try:
            if not tables.decide(match, seat, **form.cleaned_data):
                messages.error(request, _("The table could not be reached. Nothing was lost; please try again."))
        except tables.TooLate as refusal:
            messages.error(request, str(refusal))
    return redirect("table", code)


@login_required
@require_POST
def table_resign(request: HttpRequest, code: str) -> HttpResponse:
    """Resign, or give up a table whose cards have not been dealt."""
    match = _own_table(request, code)
    if not tables.may_act(request.user.pk):
        return too_often(request, within_s=MINUTE_S)
    seat = tables.seat_of(match, request.user)
    if match.state == State.OPEN:
        tables.give_up(match)
        return redirect("table_new")
    if seat is not None and match.state == State.PLAYING:
        tables.resign(match, seat)
    return redirect("table", code)


def _own_table(request: HttpRequest, code: str) -> Match:
    return get_object_or_404(Match, code=code, kind=Match.Kind.TABLE, players__user=request.user)


# A version's trial


@login_required
@never_cache
@require_safe
def version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """How the trial of one of the reader's own versions goes or went, with the log."""
    found = own_version(request.user, slug, number)
    trials = Seat.objects.filter(version=found, entrant=0, match__kind=Match.Kind.TRIAL)
    seats = trials.select_related("match__record", "version", "bot")
    seat = seats.order_by("-match").first()
    match = seat.match if seat else None
    aside = SetAside.objects.select_related("match").filter(version=found).first()
    queue_place = place_in_queue(match) if match else None
    is_out = found.state in (BotVersion.State.FAILED, BotVersion.State.SET_ASIDE)
    context = {
        "version": found,
        "bot": found.bot,
        "match": match,
        "told": _told(seat),
        "aside": author_views.aside_row(found, aside) if is_out else None,
        "recent": _recent(found),
        "queue_place": queue_place,
        "why_waiting": why_bots_wait() if queue_place else "",
        "is_pending": found.state == BotVersion.State.TRIAL,
        **author_views.faults_allowed(),
    }
    return render(request, "games/version.html", context)


def _told(seat: Seat | None) -> Debrief | None:
    """Return what the owner of a version is told of its trial, once that has ended."""
    if seat is None or not seat.match.is_over:
        return None
    return debrief(seat.match, seat, SeatLog.objects.filter(seat=seat).first())


def _recent(version: BotVersion) -> list[Seat]:
    """Return the version's last rated matches, newest first: as many as are looked at for faults."""
    seats = Seat.objects.filter(bot=version.bot_id, version=version, match__kind=Match.Kind.RANKED)
    return list(seats.filter(match__state=State.FINISHED).select_related("match").order_by("-match")[: asides.OF_LAST])


# Records


@require_safe
def match_record(request: HttpRequest, code: str) -> JsonResponse:
    """The whole record of a finished match, `soureh-record/1`; 404 before its end."""
    match = _finished(request, code)
    return _kept(match, JsonResponse(replay.record(match), json_dumps_params={"ensure_ascii": False}))


@require_safe
def match_frames(request: HttpRequest, code: str) -> JsonResponse:
    """What the replay steps through: for each hand, or for the one asked for, a list of frames; 404 before the end."""
    match = _finished(request, code)
    hand = request.GET.get("hand", "")
    if not hand:
        return _kept(match, JsonResponse(replay.all_frames(match), safe=False))
    if not (hand.isascii() and hand.isdigit() and len(hand) < 6):
        raise Http404("expected the number of a hand")
    try:
        return _kept(match, JsonResponse(replay.frames(match, int(hand)), safe=False))
    except IndexError as error:
        raise Http404(str(error)) from error


def _kept(match: Match, response: JsonResponse) -> JsonResponse:
    """Let caches keep what will not change; of a trial, which its owner alone may see, his own browser's only."""
    whose = "private" if match.kind == Match.Kind.TRIAL else "public"
    patch_cache_control(response, max_age=3600, **{whose: True})
    return response


def _finished(request: HttpRequest, code: str) -> Match:
    matches = visible_matches(request.user).filter(state=State.FINISHED).select_related("record")
    return get_object_or_404(matches, code=code)


# Operators


@login_required
@never_cache
@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """What operators look at: workers and their jails, queues, what the sweeps found, what was void by our fault."""
    if not request.user.is_staff:
        raise Http404("expected an operator")
    return render(request, "games/health.html", health_facts.facts())
