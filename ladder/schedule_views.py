"""When a ladder's rounds are: a page, and a feed for calendars."""

from datetime import UTC, datetime, time
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dates import WEEKDAYS
from django.utils.formats import time_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from bots.switches import pause_note
from ladder.ical import feed, has_dates
from ladder.models import Ladder
from ladder.registration import why_shut
from ladder.schedule import COMING, coming_rounds, parse_times, parse_zone


@require_safe
def schedule(request: HttpRequest, slug: str) -> HttpResponse:
    """How often rounds are held, the next ones, and the season's dates; in UTC and on the ladder's own clock."""
    found = get_object_or_404(Ladder, slug=slug)
    now = timezone.now()
    zone = parse_zone(found.time_zone)
    has_own_clock = found.schedule == Ladder.Schedule.WEEKLY and zone.key != "UTC"
    context = {
        "ladder": found,
        "how_often": _how_often(found),
        "has_own_clock": has_own_clock,
        "rounds": [_row(moment, zone if has_own_clock else None) for moment in coming_rounds(found, COMING, now=now)],
        "dates": [(label, _row(moment)) for label, moment in _dates(found) if moment is not None],
        "why_shut": why_shut(found, now),
        "paused": pause_note("rounds"),
        "feed_url": has_dates(found, now=now)
        and request.build_absolute_uri(reverse("ladder_calendar", args=[found.slug])),
    }
    return render(request, "ladder/schedule.html", context)


@require_safe
def calendar(request: HttpRequest, slug: str) -> HttpResponse:
    """Return the ladder's dates as a calendar that other programs subscribe to."""
    found = get_object_or_404(Ladder, slug=slug)
    address = request.build_absolute_uri(found.get_absolute_url())
    body = feed(found, address=address, host=request.get_host(), now=timezone.now())
    headers = {"Content-Disposition": f'inline; filename="{found.slug}.ics"'}
    return HttpResponse(body, content_type="text/calendar; charset=utf-8", headers=headers)


def _row(moment: datetime, zone: Any = None) -> dict[str, Any]:
    """Return a moment as the page shows it: in UTC, and on the clock of `zone` if there is one."""
    return {"moment": moment.astimezone(UTC), "there": moment.astimezone(zone) if zone else None}


def _dates(found: Ladder) -> list[tuple[str, datetime | None]]:
    return [
        (_("Registration opens"), found.registration_from),
        (_("Registration ends"), found.registration_until),
        (_("The season starts"), found.starts_at),
        (_("The season ends"), found.ends_at),
    ]


def _how_often(found: Ladder) -> str:
    """Say in a sentence when rounds are held."""
    if found.schedule == Ladder.Schedule.EVERY:
        return _("A round is held every %(time)s.") % {"time": _distance(found.round_s)}
    times = [f"{WEEKDAYS[one.day]} {_clock(one.at)}" for one in parse_times(found.times)]
    if not times:
        return _("No times are set for its rounds yet.")
    return _("Rounds are held every week: %(times)s (%(zone)s).") % {
        "times": ", ".join(times),
        "zone": found.time_zone,
    }


def _clock(at: time) -> str:
    return time_format(at, "H:i")


def _distance(seconds: int) -> str:
    """Return a distance in the largest unit that it is whole in."""
    if seconds % 86400 == 0:
        return ngettext("day", "%(count)d days", seconds // 86400) % {"count": seconds // 86400}
    if seconds % 3600 == 0:
        return ngettext("hour", "%(count)d hours", seconds // 3600) % {"count": seconds // 3600}
    if seconds % 60 == 0:
        return ngettext("minute", "%(count)d minutes", seconds // 60) % {"count": seconds // 60}
    return ngettext("second", "%(count)d seconds", seconds) % {"count": seconds}
