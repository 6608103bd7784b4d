"""Pages for the author of a bot alone: a match's reproducers, and what to do with a version that was set aside.

To everybody else, operators too, none of it is there.
"""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from bots.downloads import attachment
from bots.models import BotVersion
from bots.rates import HOUR_S, may, too_often
from bots.views import own_version
from games import asides as set_asides
from games import debrief, trials
from games.models import Match, Seat, SetAside

REPRODUCERS_PER_HOUR = 120
RETRIES_PER_HOUR = 20


@login_required
@require_safe
def reproducer(request: HttpRequest, code: str, seat: int) -> HttpResponse:
    """Hand an owner the zip that replays the `decision` in the address, one of his bot's, at home."""
    found = own_seat(request.user, code, seat)
    turn = decision_number(request.GET.get("decision", ""))
    if not may_reproduce(request.user.pk):
        return too_often(request, within_s=HOUR_S)
    try:
        return packed_case(found, turn)
    except LookupError:
        text = _("Decision %(number)s is none that this bot was asked for in this match.")
        messages.error(request, text % {"number": turn})
        return redirect(f"{reverse('match', args=[code])}#own")


def decision_number(text: str) -> int:
    """Return the number of a decision out of an address. Http404."""
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        raise Http404("expected the number of a decision")
    return int(text)


def may_reproduce(user_id: int | None) -> bool:
    """Count a reproducer of a person's, by page or API; False if he has the site make more than anybody needs."""
    return may("reproducers", user_id, most=REPRODUCERS_PER_HOUR, within_s=HOUR_S)


def own_seat(user: Any, code: str, seat: int) -> Seat:
    """Return a seat of a finished match at which a bot of this user's sat, with its log and record. Http404."""
    seats = Seat.objects.select_related("match__record", "version", "log")
    return get_object_or_404(seats, match__code=code, match__state=Match.State.FINISHED, seat=seat, bot__owner=user)


def packed_case(seat: Seat, turn: int) -> HttpResponse:
    """Return the download of one reproducer. LookupError if there is none of that decision."""
    packed = debrief.reproducer(seat.match, seat, getattr(seat, "log", None), turn)
    name = f"{debrief.reproducer_name(seat.match, turn)}.zip"
    response = attachment(packed, name=name, content_type="application/zip")
    add_never_cache_headers(response)
    return response


@login_required
@never_cache
@require_safe
def asides(request: HttpRequest) -> HttpResponse:
    """Which of the reader's versions were set aside, and why; what he can do about each."""
    found = set_asides.open_for(request.user)
    context = {"asides": [aside_row(aside.version, aside) for aside in found], **faults_allowed()}
    return render(request, "games/asides.html", context)


def faults_allowed() -> dict[str, int]:
    """Return in how many of its last matches a version may not fault, as pages name them."""
    return {"faults_max": set_asides.FAULTS_MAX, "of_last": set_asides.OF_LAST}


def aside_row(version: BotVersion, aside: SetAside | None) -> dict[str, Any]:
    """Return what `games/_aside.html` shows of one version that was set aside."""
    return {
        "version": version,
        "reason": set_asides.reason(aside) if aside else version.state_note,
        "match": aside.match if aside else None,
        "set_at": aside.set_at if aside else None,
        "is_open": aside is not None and aside.is_open,
        "can_retry": set_asides.can_retry(version, aside),
    }


@login_required
@require_POST
def retry(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Let one of the reader's versions play a new trial."""
    version = own_version(request.user, slug, number)
    if not may_retry(request.user.pk):
        return too_often(request, within_s=HOUR_S)
    if trials.retry(version):
        text = _("Version %(number)s of %(bot)s plays a new trial; the count of its faults begins anew.")
        messages.success(request, text % {"number": number, "bot": version.bot})
    else:
        version.refresh_from_db(fields=["state"])
        text = _("Version %(number)s of %(bot)s was not retried: it is “%(state)s”.")
        state = version.get_state_display()
        messages.error(request, text % {"number": number, "bot": version.bot, "state": state})
    return redirect("version", slug, number)


def may_retry(user_id: int | None) -> bool:
    """Count a retry of a person's, by page or API; False if he has workers play more trials than anybody needs."""
    return may("retries", user_id, most=RETRIES_PER_HOUR, within_s=HOUR_S)


@login_required
@require_POST
def leave(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Take it as read that one of the reader's versions was set aside."""
    version = own_version(request.user, slug, number)
    set_asides.close(Q(version=version))
    return redirect("bots_aside")
