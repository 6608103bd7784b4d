"""All of one's own entries on one page; entering a ladder, leaving it, and saying that one is ready."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from bots.models import Bot
from ladder import registration
from ladder.fairplay import note_address
from ladder.models import Entry, Ladder
from ladder.own_entries import own_entries
from ladder.registration import NotRegistered
from ladder.updates import is_update

CHANGES = {
    "pause": registration.pause,
    "resume": registration.resume,
    "withdraw": registration.withdraw,
    "return": registration.come_back,
    "ready": registration.get_ready,
    "unready": registration.stand_down,
}


@login_required
@never_cache
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    """All that the reader has entered: what it plays, why it waits, what was not rated and why."""
    page = "ladder/_entries.html" if is_update(request) else "ladder/entries.html"
    return render(request, page, {"rows": own_entries(request.user)})


def own_part(ladder: Ladder, user: Any) -> dict[str, Any]:
    """Return what `ladder/_own_entries.html` takes: who of the reader's is in the ladder, and who could be."""
    if not user.is_authenticated:
        return {}
    found = registration.candidates(user, ladder)
    outside = [one for one in found if one.entry is None or one.entry.state == Entry.State.WITHDRAWN]
    return {
        "shut": registration.why_shut(ladder),
        "own_entries": [one for one in found if one not in outside],
        "may_enter": [one for one in outside if not one.why_not],
        "may_enter_bots": [one for one in outside if not one.why_not and not one.is_person],
        "has_bots": any(not one.is_person for one in found),
        # What keeps out several is said once; what keeps out one bot names it.
        "why_not_enter": list(dict.fromkeys(one.why_not for one in outside if one.why_not)),
    }


@require_POST
@login_required
def register(request: HttpRequest, slug: str) -> HttpResponse:
    """Enter one of the reader's bots into the ladder, or the reader himself."""
    found = get_object_or_404(Ladder, slug=slug)
    entrant: Any = request.user
    if "person" not in request.POST:
        # PostgreSQL takes no NUL, and no slug holds a space.
        slug_of_bot = request.POST.get("bot", "").replace("\0", " ")
        entrant = get_object_or_404(Bot, slug=slug_of_bot, owner=request.user)
    try:
        entry = registration.register(request.user, entrant, found)
    except NotRegistered as reason:
        messages.error(request, str(reason))
    else:
        messages.success(request, _welcome(entry))
        note_where(request, entry)
    return _back(request, found.get_absolute_url())


def _welcome(entry: Entry) -> str:
    name = {"bot": entry.name, "ladder": entry.ladder}
    if entry.user_id is not None:
        return _("You are in %(ladder)s. Say that you are ready when you have time for a game.") % name
    if entry.ladder.state != Ladder.State.RUNNING:
        return _("%(bot)s is in %(ladder)s and plays as soon as rounds are held.") % name
    return _("%(bot)s is in %(ladder)s and plays in the next round.") % name


@require_POST
@login_required
def change_entry(request: HttpRequest, pk: int, change: str) -> HttpResponse:
    """Change the state of an entry of the reader's."""
    own = Entry.objects.filter(Q(bot__owner=request.user) | Q(user=request.user))
    entry = get_object_or_404(own.select_related("bot", "user", "ladder"), pk=pk)
    try:
        CHANGES[change](request.user, entry)
    except NotRegistered as reason:
        messages.error(request, str(reason))
    else:
        said = _said_of_person() if entry.user_id is not None else _said_of_bot()
        messages.success(request, said[change] % {"bot": entry.name, "ladder": entry.ladder})
        if change in ("ready", "return"):
            note_where(request, entry)
    return _back(request, entry.ladder.get_absolute_url())


def _said_of_bot() -> dict[str, str]:
    back = _("%(bot)s is back in %(ladder)s and plays in the next round.")
    return {
        "pause": _("%(bot)s is paused in %(ladder)s: it sits out until you resume it."),
        "resume": back,
        "withdraw": _("%(bot)s has left %(ladder)s. Its rating and history are kept, should it come back."),
        "return": back,
    }


def _said_of_person() -> dict[str, str]:
    back = _("You are back in %(ladder)s. Say that you are ready when you have time for a game.")
    return {
        "pause": _("You are paused in %(ladder)s: you sit out until you resume."),
        "resume": back,
        "withdraw": _("You have left %(ladder)s. Your rating and history are kept, should you come back."),
        "return": back,
        "ready": _("You are ready in %(ladder)s. Keep a page of this site open: it calls you to your table."),
        "unready": _("You are not paired in %(ladder)s until you are ready again."),
    }


@require_POST
@login_required
@never_cache
def ready(request: HttpRequest) -> JsonResponse:
    """Keep a person ready who has a page open, and tell him of the table that waits for him."""
    user: Any = request.user
    until = registration.renew(user)
    table = reverse("table", args=[user.table]) if user.table else None
    return JsonResponse({"ready_until": until and until.isoformat(), "table": table})


def note_where(request: HttpRequest, entry: Entry) -> None:
    """Keep a digest of the address from which an entry is registered or played, if it has one."""
    # Behind a socket file without a proxy's word there is none.
    if address := request.META.get("REMOTE_ADDR"):
        note_address(entry, address)


def _back(request: HttpRequest, default: str) -> HttpResponse:
    """Return to where the form stood, if that is a page of ours."""
    there = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        there, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return HttpResponseRedirect(there if is_ours else default)
