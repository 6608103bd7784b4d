"""Hand out the kit, so that a bot can be written and tried at home."""

from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

KIT = Path(__file__).parent / "kit" / "soureh_bot.py"


@require_safe
@cache_control(public=True, max_age=3600)
def kit(request: HttpRequest) -> HttpResponse:
    """Return `soureh_bot.py` as a download, the very file that lies beside a bot when it plays."""
    headers = {"Content-Disposition": f'attachment; filename="{KIT.name}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(KIT.read_bytes(), content_type="text/x-python; charset=utf-8", headers=headers)
