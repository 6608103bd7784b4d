"""A ladder's dates as an iCalendar feed (RFC 5545), which calendars fetch again and again."""

from datetime import datetime, timedelta

from django.utils.translation import gettext as _
from icalendar import Calendar, Event, Timezone, TimezoneStandard, vDuration, vText

from ladder.models import Ladder
from ladder.schedule import coming_rounds

ROUNDS = 60
# Rounds that come closer on each other than this are no dates for a calendar.
CLOSEST = timedelta(hours=1)
FETCH_EVERY = timedelta(hours=1)


def feed(ladder: Ladder, *, address: str, host: str, now: datetime) -> bytes:
    """Return the calendar of a ladder: its season, its registration, and its coming rounds if an hour apart or more.

    `address` is that of the ladder's page, `host` the site's name, of which the names of the dates are made: what
    has moved is moved in the reader's calendar, not doubled. Without a date it holds its time zone alone, since a
    calendar of nothing is refused: RFC 5545, 3.4 and 3.6, asks for one component at least.
    """
    calendar = Calendar()
    calendar.add("prodid", "-//Soureh//Ladders//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", vText(ladder.name))
    calendar.add("refresh-interval", FETCH_EVERY, parameters={"value": "DURATION"})
    calendar.add("x-published-ttl", vDuration(FETCH_EVERY))
    dates = _dates(ladder, now)
    if not dates:
        calendar.add_component(_utc())
    for name, moment, summary in dates:
        event = Event()
        event.add("uid", f"{name}-{ladder.pk}@{host}")
        event.add("dtstamp", now)
        event.add("dtstart", moment)
        event.add("summary", summary)
        event.add("url", address)
        # Nobody is busy because bots play.
        event.add("transp", "TRANSPARENT")
        calendar.add_component(event)
    body: bytes = calendar.to_ical()
    return body


def has_dates(ladder: Ladder, *, now: datetime) -> bool:
    """Tell whether the feed of a ladder has anything to show in a calendar."""
    return bool(_dates(ladder, now))


def _utc() -> Timezone:
    """Return UTC as a component."""
    zone, standard = Timezone(), TimezoneStandard()
    zone.add("tzid", "UTC")
    standard.add("dtstart", datetime(1970, 1, 1))
    standard.add("tzoffsetfrom", timedelta(0))
    standard.add("tzoffsetto", timedelta(0))
    zone.add_component(standard)
    return zone


def _dates(ladder: Ladder, now: datetime) -> list[tuple[str, datetime, str]]:
    """Return the dates: a name that stays theirs, when, and what it is."""
    name = {"ladder": ladder.name}
    known = [
        ("registration-from", ladder.registration_from, _("%(ladder)s: registration opens") % name),
        ("registration-until", ladder.registration_until, _("%(ladder)s: registration ends") % name),
        ("start", ladder.starts_at, _("%(ladder)s: the season starts") % name),
        ("end", ladder.ends_at, _("%(ladder)s: the season ends") % name),
    ]
    dates = [(key, moment, text) for key, moment, text in known if moment is not None]
    if ladder.schedule == Ladder.Schedule.EVERY and timedelta(seconds=ladder.round_s) < CLOSEST:
        return dates
    rounds = coming_rounds(ladder, ROUNDS, now=now)
    return dates + [(f"round-{one:%Y%m%dT%H%M%SZ}", one, _("%(ladder)s: round") % name) for one in rounds]
