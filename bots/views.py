"""The pages on which an owner minds his bots: upload, my bots, a bot's text, its versions, his own sources."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from bots.diff import compare
from bots.downloads import attachment
from bots.forms import AboutForm, CompareForm, UploadForm
from bots.models import Bot, BotVersion, Switch
from bots.rates import MINUTE_S, may, too_often
from bots.switches import pause_note
from bots.upload_rules import KIB, MAX_BYTES, SOURCE_MAX
from bots.uploads import is_archive, unpack
from bots.versions import (
    PUBLIC_STATES,
    NotActivated,
    activate,
    limit_sentences,
    newest_versions,
    playable_versions,
    with_active,
)

FIRST_BOT = (settings.BASE_DIR / "docs" / "example_bot.py").read_text(encoding="utf-8")
BOTS_SHOWN, VERSIONS_SHOWN = 24, 24
COMPARISONS_PER_MINUTE = 30


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: HttpRequest) -> HttpResponse:
    """Upload a new bot, or a new version of one of mine; then its trial can be followed."""
    if request.method != "POST":
        form = UploadForm(owner=request.user, initial={"bot": request.GET.get("bot", "")})
        return _upload_page(request, form)
    form = UploadForm(request.POST, request.FILES, owner=request.user)
    version = form.store() if form.is_valid() else None
    if version is None:
        return _upload_page(request, form)
    messages.success(
        request, _("Version %(number)s is stored. Its trial match comes next.") % {"number": version.number}
    )
    return redirect("version", version.bot.slug, version.number)


def _upload_page(request: HttpRequest, form: UploadForm) -> HttpResponse:
    context = {
        "form": form,
        "pause_note": pause_note(Switch.Name.UPLOADS),
        "first_bot": FIRST_BOT,
        "limits": limit_sentences(),
        "source_max_kib": SOURCE_MAX // KIB,
        "archive_max_kib": MAX_BYTES // KIB,
    }
    return render(request, "bots/bot_upload.html", context, status=429 if form.is_too_often else 200)


@login_required
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    """Show the reader's own bots page by page, each with its newest version."""
    own = Bot.objects.filter(owner_id=request.user.pk).annotate(version_count=Count("versions")).order_by("name", "pk")
    page = Paginator(own, BOTS_SHOWN).get_page(request.GET.get("page"))
    newest, active = (find(bot.pk for bot in page) for find in (newest_versions, playable_versions))
    rows = [{"bot": bot, "version": newest.get(bot.pk), "active": active.get(bot.pk)} for bot in page]
    return render(request, "bots/bot_mine.html", {"rows": rows, "page": page, "first_bot": FIRST_BOT})


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    """Change what one of the reader's bots says about itself."""
    bot = get_object_or_404(Bot, slug=slug, owner=request.user)
    form = AboutForm(request.POST or None, instance=bot)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, _("Saved."))
        return redirect("my_bots")
    return render(request, "bots/bot_edit.html", {"bot": bot, "form": form})


@require_safe
def versions(request: HttpRequest, slug: str) -> HttpResponse:
    """List a bot's versions, newest first; its owner sees those that have not passed too, and what he can do."""
    bot = get_object_or_404(Bot.objects.select_related("owner", "chosen"), slug=slug)
    is_own = bot.is_owned_by(request.user)
    known = bot.versions.all() if is_own else bot.versions.filter(state__in=PUBLIC_STATES)
    page = Paginator(with_active(known.order_by("-number")), VERSIONS_SHOWN).get_page(request.GET.get("page"))
    context = {
        "bot": bot,
        "is_own": is_own,
        "page": page,
        "active": playable_versions([bot.pk]).get(bot.pk),
        "form": CompareForm(bot=bot, initial=_last_two(page)) if is_own and page.paginator.count > 1 else None,
    }
    return render(request, "bots/version_list.html", context)


def _last_two(page: Any) -> dict[str, int]:
    numbers = [version.number for version in page]
    return {"new": numbers[0], "old": numbers[1]} if len(numbers) > 1 else {}


@login_required
@require_POST
def version_activate(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Let one of the reader's versions be the one that plays."""
    version = own_version(request.user, slug, number)
    try:
        activate(request.user, version)
    except NotActivated as refusal:
        messages.error(request, str(refusal))
    else:
        text = _("Version %(number)s plays from the next match on.")
        messages.success(request, text % {"number": version.number})
    return redirect("bot_versions", slug)


@login_required
@require_safe
@never_cache
def version_compare(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how one of the reader's versions became another, file by file and line by line."""
    bot = get_object_or_404(Bot, slug=slug, owner=request.user)
    form = CompareForm(request.GET or None, bot=bot)
    context: dict[str, Any] = {"bot": bot, "form": form}
    if form.is_valid():
        if not may("compare", request.user.pk, most=COMPARISONS_PER_MINUTE, within_s=MINUTE_S):
            return too_often(request, within_s=MINUTE_S)
        old, new = form.cleaned_data["old"], form.cleaned_data["new"]
        context |= {"old": old, "new": new, "comparison": compare(*(unpack(_data(version)) for version in (old, new)))}
    return render(request, "bots/version_compare.html", context, status=422 if form.errors else 200)


def _data(version: BotVersion) -> bytes:
    return bytes(version.source.data)


def own_version(user: Any, slug: str, number: int) -> BotVersion:
    """Return one of the user's own versions, with `is_active`. Http404."""
    versions = with_active(BotVersion.objects.select_related("bot"))
    return get_object_or_404(versions, bot__slug=slug, bot__owner=user, number=number)


@login_required
@require_safe
@never_cache
def source(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Hand an owner the source of one of his versions, as a download. Nobody else gets it, staff neither."""
    return download(own_version(request.user, slug, number))


def download(version: BotVersion) -> HttpResponse:
    """Return the very bytes that were uploaded."""
    data = _data(version)
    kind, suffix = ("application/zip", "zip") if is_archive(data) else ("text/plain; charset=utf-8", "py")
    return attachment(data, name=f"{version.bot.slug}-{version.number}.{suffix}", content_type=kind)
