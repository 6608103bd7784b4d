"""The pages on which an owner minds his bots: upload, my bots, a bot's text, his own sources."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from bots.forms import AboutForm, UploadForm
from bots.models import Bot, BotVersion, Switch
from bots.switches import pause_note
from bots.uploads import SOURCE_MAX
from bots.versions import newest_versions

FIRST_BOT = (settings.BASE_DIR / "docs" / "example_bot.py").read_text(encoding="utf-8")
BOTS_SHOWN = 24


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
        "max_kib": SOURCE_MAX // 1024,
        "uploads_per_day": settings.UPLOADS_PER_DAY,
    }
    return render(request, "bots/bot_upload.html", context, status=429 if form.is_too_often else 200)


@login_required
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    """Show the reader's own bots page by page, each with its newest version."""
    own = Bot.objects.filter(owner_id=request.user.pk).annotate(version_count=Count("versions")).order_by("name", "pk")
    page = Paginator(own, BOTS_SHOWN).get_page(request.GET.get("page"))
    newest = newest_versions(bot.pk for bot in page)
    rows = [{"bot": bot, "version": newest.get(bot.pk)} for bot in page]
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


@login_required
@require_safe
@never_cache
def source(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Hand an owner the source of one of his versions, as a download. Nobody else gets it, staff neither."""
    version = get_object_or_404(
        BotVersion.objects.select_related("source"), bot__slug=slug, bot__owner=request.user, number=number
    )
    response = HttpResponse(bytes(version.source.data), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{slug}-{number}.py"'
    response["X-Content-Type-Options"] = "nosniff"
    return response
