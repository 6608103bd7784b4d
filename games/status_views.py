"""The page for people who wonder why nothing moves."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from games import status as status_facts


@never_cache
@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """Say in plain words what works, what waits and why; the operators' own page is `views.health`."""
    return render(request, "games/status.html", status_facts.facts())
