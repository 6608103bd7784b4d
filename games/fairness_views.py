"""Hand out what tells how shuffles are fair, and the script that proves it: the very files of `docs/`."""

from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from bots.downloads import attachment

DOCS = Path(__file__).resolve().parent.parent / "docs"
ABOUT = DOCS / "fairness.md"
VERIFIER = DOCS / "verify_shuffles.py"


@require_safe
@cache_control(public=True, max_age=3600)
def about(request: HttpRequest) -> HttpResponse:
    """Return `fairness.md` as plain text: it reads well as it is."""
    return HttpResponse(ABOUT.read_bytes(), content_type="text/plain; charset=utf-8")


@require_safe
@cache_control(public=True, max_age=3600)
def verifier(request: HttpRequest) -> HttpResponse:
    """Return `verify_shuffles.py` as a download."""
    return attachment(VERIFIER.read_bytes(), name=VERIFIER.name, content_type="text/x-python; charset=utf-8")
