"""Hand out what bot authors need: the kit, the download with a referee of their own, the guide and the reference."""

import hashlib

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe
from django.views.decorators.cache import cache_control
from django.views.decorators.http import condition, conditional_page, require_safe

from bots.downloads import attachment
from games.guide import read_page
from games.home.bundle import NAME, bundle
from games.referee import KIT


@require_safe
@cache_control(public=True, max_age=3600)
def kit(request: HttpRequest) -> HttpResponse:
    """Return `soureh_bot.py` as a download, the very file that lies beside a bot when it plays."""
    return attachment(KIT.read_bytes(), name=KIT.name, content_type="text/x-python; charset=utf-8")


def _etag(request: HttpRequest) -> str:
    return f'"{hashlib.sha256(bundle()).hexdigest()}"'


@require_safe
@cache_control(public=True, max_age=3600)
@condition(etag_func=_etag)
def kit_zip(request: HttpRequest) -> HttpResponse:
    """Return the authors' download; it is made once a process and named by its content."""
    return attachment(bundle(), name=NAME, content_type="application/zip")


@require_safe
@conditional_page
def guide(request: HttpRequest) -> HttpResponse:
    """The guide for bot authors, from nothing to a bot that beats `careful`."""
    return _document(request, "guide")


@require_safe
@conditional_page
def reference(request: HttpRequest) -> HttpResponse:
    """All that a bot is told and may answer."""
    return _document(request, "bots")


def _document(request: HttpRequest, name: str) -> HttpResponse:
    page = read_page(name)
    # The files are ours, and HTML in them is not let through.
    context = {"page": page, "html": mark_safe(page.html), "is_guide": name == "guide"}
    return render(request, "games/guide.html", context)
