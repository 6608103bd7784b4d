"""When a ladder's rounds are due: at equal distances, or at given times of the week on some place's clock.

Reads the ladder and changes nothing. Where clocks go forward, a time that a day does not have is taken as
if they had not (so it comes after the gap); where they go back, one that it has twice is taken the first time.
"""

import itertools
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ladder.models import Ladder

DAYS = 7
COMING = 12  # rounds that pages and programs are told of


class WeekTime(NamedTuple):
    """A time of the week: Monday is day 0."""

    day: int
    at: time


class BadTimes(ValueError):
    """Times of the week, or a time zone, that are none."""


def parse_times(times: object) -> list[WeekTime]:
    """Read a ladder's `times`, `[weekday, "HH:MM"]` each.

    Raises:
        BadTimes: it is no list of such.
    """
    if not isinstance(times, list):
        raise BadTimes(f"expected a list of [weekday, HH:MM]: {times!r}")
    return sorted({_parse_time(one) for one in times})


def _parse_time(one: object) -> WeekTime:
    if not isinstance(one, list | tuple) or len(one) != 2:
        raise BadTimes(f"expected [weekday, HH:MM]: {one!r}")
    day, at = one
    if not isinstance(day, int) or isinstance(day, bool) or not 0 <= day < DAYS:
        raise BadTimes(f"expected a weekday from 0 to 6: {day!r}")
    try:
        return WeekTime(day, datetime.strptime(at, "%H:%M").time())
    except (TypeError, ValueError):
        raise BadTimes(f"expected a time as HH:MM: {at!r}") from None


def parse_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name. Raises BadTimes if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # A name that is none may lead to a folder, or out of where zones are.
        raise BadTimes(f"expected the name of a time zone: {name!r}") from None


def week_times(times: Sequence[WeekTime], zone: ZoneInfo, *, after: datetime) -> Iterator[datetime]:
    """Yield without end when the times of the week come later than `after`, in order, in UTC; nothing without times."""
    if not times:
        return
    last = after
    # A day early: the clock there may be behind, and a time in a gap is later than it says.
    start = after.astimezone(zone).date() - timedelta(days=1)
    for number in itertools.count():
        day = start + timedelta(days=number)
        for moment in sorted(_moment(day, one.at, zone) for one in times if one.day == day.weekday()):
            if moment > last:
                yield moment
                last = moment


def _moment(day: date, at: time, zone: ZoneInfo) -> datetime:
    # fold=0: of two the first; in a gap the offset from before it.
    return datetime.combine(day, at, tzinfo=zone).astimezone(UTC)


def next_due(ladder: Ladder, now: datetime) -> datetime | None:
    """Return when the round after the one that is due at `next_round_at` is due: the first later than `now`.

    What was missed is skipped, and what is at equal distances keeps its beat. None for a week without times.
    """
    if ladder.schedule == Ladder.Schedule.WEEKLY:
        return next(week_times(parse_times(ladder.times), parse_zone(ladder.time_zone), after=now), None)
    step, seen = timedelta(seconds=ladder.round_s), ladder.next_round_at
    if seen is None or seen > now:
        return now + step
    return seen + step * ((now - seen) // step + 1)


def coming_rounds(ladder: Ladder, count: int, *, now: datetime) -> list[datetime]:
    """Return when the next `count` rounds are due, in UTC, if all goes on as it is; fewer if the season ends before.

    An empty list if it is over, or has not begun and nobody knows when it will.
    """
    if not ladder.is_open:
        return []
    coming = itertools.islice(_coming(ladder, now), count)
    return list(itertools.takewhile(lambda due: ladder.ends_at is None or due < ladder.ends_at, coming))


def _coming(ladder: Ladder, now: datetime) -> Iterator[datetime]:
    is_running = ladder.state == Ladder.State.RUNNING
    known = ladder.next_round_at or now if is_running else ladder.starts_at
    if known is None:
        return
    first = max(known, now)
    if ladder.schedule == Ladder.Schedule.WEEKLY:
        # One that is due now is among them.
        just_before = first - timedelta(microseconds=1)
        yield from week_times(parse_times(ladder.times), parse_zone(ladder.time_zone), after=just_before)
        return
    step = timedelta(seconds=ladder.round_s)
    for number in itertools.count():
        yield first + step * number
