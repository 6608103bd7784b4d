"""The page of a judgement that takes too long for a request: how far it has come, what it would change, or did.

Whoever runs the ladder sees it; to everybody else it is not there.
"""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from kombu.exceptions import OperationalError

from ladder import judgements, judging, tasks
from ladder.forms import LABELS, REPLAYED_WITH, ReasonForm
from ladder.judging import Deed, NotJudged
from ladder.models import Judgement, Ladder


def ask(request: HttpRequest, ladder: Ladder, deed: Deed, reason: str | None) -> HttpResponse:
    """Have a deed done, or without a reason previewed, by the worker that does so; lead to where that is shown."""
    judgement = judgements.ask(ladder, deed, request.user, reason)
    if judgement is None:
        messages.error(request, _("Something else is asked of this ladder already. Ask again once it has ended."))
        other = judgements.under_way(ladder).first()
        return redirect(other) if other else redirect("ladder_manage", ladder.slug)
    try:
        tasks.judge.delay(judgement.pk)
    except OperationalError:
        messages.warning(request, _("The workers cannot be reached now; it is done once they can."))
    return redirect(judgement)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def judgement(request: HttpRequest, slug: str, judgement: int) -> HttpResponse:
    """Show a judgement; once it has ended, apply what it previewed, or ask for the same again."""
    found = _seen(request, slug, judgement)
    has_ended = found.state not in Judgement.UNDER_WAY
    form = ReasonForm(request.POST if request.method == "POST" and has_ended and found.is_ready else None)
    if request.method == "POST" and has_ended and (not found.is_ready or form.is_valid()):
        try:
            deed = judgements.unpack(found.ladder, found.deed)
        except NotJudged as refusal:
            messages.error(request, str(refusal))
            return redirect("ladder_manage", slug)
        return ask(request, found.ladder, deed, form.cleaned_data["reason"] if found.is_ready else _reason(found))
    return render(request, "ladder/judgement.html", _context(found, form))


def _seen(request: HttpRequest, slug: str, pk: int) -> Judgement:
    """Return a judgement if the reader runs its ladder. Http404."""
    found = get_object_or_404(Judgement.objects.select_related("ladder__owner"), pk=pk, ladder__slug=slug)
    if not judging.may_run(request.user, found.ladder):
        raise Http404("expected an operator, or the ladder's owner")
    return found


def _reason(found: Judgement) -> str | None:
    return None if found.is_preview else found.reason


def _context(found: Judgement, form: ReasonForm) -> dict[str, Any]:
    return {
        "judgement": found,
        "ladder": found.ladder,
        "title": judgements.heading(found.deed.get("deed", ""), found.subject),
        "terms": [(LABELS[name], found.deed[name]) for name in REPLAYED_WITH if name in found.deed],
        "replayed": judgements.replayed(found) if found.state == Judgement.State.RUNNING else None,
        "form": form,
    }
