"""When rounds are due: on a beat, and at times of the week through every change of the clock; the page and the feed."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import icalendar
import pytest
from django.test import Client

from ladder.ical import feed
from ladder.models import Ladder
from ladder.schedule import BadTimes, WeekTime, coming_rounds, next_due, parse_times, parse_zone, week_times
from tests.ladder.rows import make_ladder

T0 = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)  # a Monday


def every(seen: datetime | None = None, **fields) -> Ladder:
    return Ladder(slug="l", schedule="every", round_s=60, next_round_at=seen, **fields)


def weekly(*times: list[object], zone: str = "UTC", **fields) -> Ladder:
    return Ladder(slug="l", schedule="weekly", times=list(times), time_zone=zone, **fields)


@pytest.mark.parametrize(
    ("seen", "now", "due"),
    [
        pytest.param(None, T0, T0 + timedelta(seconds=60), id="first"),
        pytest.param(T0, T0, T0 + timedelta(seconds=60), id="punctual"),
        pytest.param(T0, T0 + timedelta(seconds=2.5), T0 + timedelta(seconds=60), id="late-tick-does-not-drift"),
        pytest.param(T0, T0 + timedelta(seconds=60), T0 + timedelta(seconds=120), id="exactly-one-late"),
        pytest.param(T0, T0 + timedelta(hours=3, seconds=7), T0 + timedelta(hours=3, minutes=1), id="missed-skipped"),
    ],
)
def test_next_due_keeps_the_beat(seen, now, due) -> None:
    assert next_due(every(seen), now) == due


@pytest.mark.parametrize(
    ("now", "due"),
    [
        pytest.param("2026-11-30 08:59", "2026-11-30 09:00", id="today"),
        pytest.param("2026-11-30 09:00", "2026-12-02 19:30", id="now-is-past"),
        pytest.param("2026-12-02 19:29", "2026-12-02 19:30", id="second-of-the-week"),
        pytest.param("2026-12-02 19:31", "2026-12-07 09:00", id="next-week"),
    ],
)
def test_next_due_of_a_week(now: str, due: str) -> None:
    ladder = weekly([2, "19:30"], [0, "09:00"])
    assert next_due(ladder, datetime.fromisoformat(f"{now}+00:00")) == datetime.fromisoformat(f"{due}+00:00")


def test_week_without_times_is_never_due() -> None:
    assert next_due(weekly(), T0) is None
    assert coming_rounds(weekly(state="running"), 5, now=T0) == []


# By UTC what the clock of the place says, on the days around each change of 2026 and 2027.
BERLIN, LORD_HOWE, APIA = "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"


@pytest.mark.parametrize(
    ("zone", "at", "after", "due"),
    [
        # Berlin goes from 02:00 to 03:00 on 28 March 2027, and back from 03:00 to 02:00 on 25 October 2026.
        pytest.param(BERLIN, "02:30", "2027-03-27 00:00", ["2027-03-27 01:30", "2027-03-28 01:30", "2027-03-29 00:30"],
                     id="berlin-gap"),
        pytest.param(BERLIN, "02:30", "2026-10-24 00:00", ["2026-10-24 00:30", "2026-10-25 00:30", "2026-10-26 01:30"],
                     id="berlin-twice"),
        pytest.param(BERLIN, "03:00", "2027-03-27 00:00", ["2027-03-27 02:00", "2027-03-28 01:00", "2027-03-29 01:00"],
                     id="berlin-right-after-the-gap"),
        # Lord Howe goes from 02:00 to 02:30 on 4 October 2026, and back from 02:00 to 01:30 on 4 April 2027.
        pytest.param(LORD_HOWE, "02:15", "2026-10-02 12:00",
                     ["2026-10-02 15:45", "2026-10-03 15:45", "2026-10-04 15:15"], id="lord-howe-gap"),
        pytest.param(LORD_HOWE, "01:45", "2027-04-02 12:00",
                     ["2027-04-02 14:45", "2027-04-03 14:45", "2027-04-04 15:15"], id="lord-howe-twice"),
    ],
)  # fmt: skip
def test_times_of_day_hold_when_clocks_change(zone: str, at: str, after: str, due: list[str]) -> None:
    daily = [WeekTime(day, time.fromisoformat(at)) for day in range(7)]
    found = week_times(daily, ZoneInfo(zone), after=datetime.fromisoformat(f"{after}+00:00"))
    assert [f"{next(found):%Y-%m-%d %H:%M}" for _ in due] == due


@pytest.mark.parametrize(("zone", "year"), [(BERLIN, 2026), (LORD_HOWE, 2026), (APIA, 2011), ("UTC", 2027)])
def test_every_day_of_a_year_has_each_of_its_times_once(zone: str, year: int) -> None:
    """Those in a gap come after it; those that a clock shows twice are taken once. Apia skipped a day in 2011."""
    times = [WeekTime(day, time(hour, minute)) for day in range(7) for hour in (1, 2, 3) for minute in (0, 20, 45)]
    local = ZoneInfo(zone)
    start, end = datetime(year, 1, 1, tzinfo=local), datetime(year + 1, 1, 1, tzinfo=local)
    found = []
    for moment in week_times(times, local, after=start.astimezone(UTC)):
        if moment >= end.astimezone(UTC):
            break
        found.append(moment)
    assert found == sorted(set(found))
    shown = [moment.astimezone(local) for moment in found]
    asked = {(one.at.hour, one.at.minute) for one in times}
    odd = [moment for moment in shown if (moment.hour, moment.minute) not in asked]
    # What comes from a gap to where another time is already is one with it.
    assert 365 * 9 - 9 <= len(found) <= 365 * 9 and len(odd) <= 9


def test_time_in_a_gap_that_comes_to_another_time_is_one_round() -> None:
    times = [WeekTime(6, time(2, 30)), WeekTime(6, time(3, 30))]
    found = week_times(times, ZoneInfo(BERLIN), after=datetime(2027, 3, 27, tzinfo=UTC))
    assert [next(found), next(found)] == [
        datetime(2027, 3, 28, 1, 30, tzinfo=UTC),
        datetime(2027, 4, 4, 0, 30, tzinfo=UTC),
    ]


# What is to come


@pytest.mark.parametrize(
    ("ladder", "first"),
    [
        pytest.param(every(T0 + timedelta(seconds=7), state="running"), T0 + timedelta(seconds=7), id="on-its-beat"),
        pytest.param(every(T0 - timedelta(seconds=1), state="running"), T0, id="due-now"),
        pytest.param(every(state="running"), T0, id="the-first"),
        pytest.param(every(state="open", starts_at=T0 + timedelta(days=3)), T0 + timedelta(days=3), id="at-its-start"),
        pytest.param(weekly([0, "09:00"], state="running"), T0, id="now-of-a-week"),
        pytest.param(weekly([1, "09:00"], state="announced", starts_at=T0 + timedelta(days=2)), T0 + timedelta(days=8),
                     id="of-the-week-after-the-start"),
    ],
)  # fmt: skip
def test_coming_rounds_begin(ladder: Ladder, first: datetime) -> None:
    rounds = coming_rounds(ladder, 3, now=T0)
    assert rounds[0] == first and len(rounds) == 3 and rounds == sorted(set(rounds))


def test_coming_rounds_end_with_the_season() -> None:
    ladder = every(T0, state="running", ends_at=T0 + timedelta(seconds=120))
    assert coming_rounds(ladder, 9, now=T0) == [T0, T0 + timedelta(seconds=60)]


@pytest.mark.parametrize(
    "ladder", [every(state="open"), every(T0, state="frozen"), every(T0, state="closed", starts_at=T0)]
)
def test_nobody_knows_of_rounds_to_come(ladder: Ladder) -> None:
    assert coming_rounds(ladder, 9, now=T0) == []


# What is refused


@pytest.mark.parametrize(
    "times",
    [None, {}, "monday", [1], [[0]], [[7, "09:00"]], [[-1, "09:00"]], [[True, "09:00"]], [["0", "09:00"]], [[0, "9"]],
     [[0, "24:00"]], [[0, None]], [[0, 900]]],
)  # fmt: skip
def test_times_that_are_none_are_refused(times: object) -> None:
    with pytest.raises(BadTimes):
        parse_times(times)


@pytest.mark.parametrize(
    "name", ["", "Mars/Olympus", "../../etc/passwd", "/etc/localtime", "Europe", "a\0b", "UTC" * 200]
)
def test_zones_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(BadTimes):
        parse_zone(name)


# The page and the feed


def events_of(body: bytes) -> dict[str, datetime]:
    """Return by UID when each event of a calendar is; the library refuses what is no calendar."""
    calendar = icalendar.Calendar.from_ical(body)
    assert calendar["version"] == "2.0" and calendar["prodid"]
    events = {str(event["uid"]): event["dtstart"].dt for event in calendar.walk("VEVENT")}
    assert len(events) == len(calendar.walk("VEVENT"))
    return events


def feed_of(ladder: Ladder, now: datetime = T0) -> bytes:
    return feed(ladder, address="https://soureh.example/ladders/l/", host="soureh.example", now=now)


def test_feed_has_the_season_the_registration_and_the_rounds() -> None:
    dates = {
        "registration_from": T0 + timedelta(days=1), "registration_until": T0 + timedelta(days=5),
        "starts_at": T0 + timedelta(days=7), "ends_at": T0 + timedelta(days=21),
    }  # fmt: skip
    found = events_of(feed_of(weekly([2, "19:00"], zone=BERLIN, pk=9, name="Open", state="announced", **dates)))
    assert found == {
        "registration-from-9@soureh.example": dates["registration_from"],
        "registration-until-9@soureh.example": dates["registration_until"],
        "start-9@soureh.example": dates["starts_at"],
        "end-9@soureh.example": dates["ends_at"],
        "round-20261209T180000Z-9@soureh.example": datetime(2026, 12, 9, 18, tzinfo=UTC),
        "round-20261216T180000Z-9@soureh.example": datetime(2026, 12, 16, 18, tzinfo=UTC),
    }


def test_feed_names_a_date_that_moved_as_before() -> None:
    ladder = every(pk=9, name="Open", state="open", starts_at=T0)
    before = events_of(feed_of(ladder))
    ladder.starts_at = T0 + timedelta(days=1)
    after = events_of(feed_of(ladder, T0 + timedelta(hours=1)))
    assert set(before) == set(after) == {"start-9@soureh.example"} and before != after


@pytest.mark.parametrize(("round_s", "count"), [(60, 0), (3599, 0), (3600, 60), (86400, 60)])
def test_feed_has_rounds_that_come_an_hour_apart_or_more(round_s: int, count: int) -> None:
    ladder = every(T0, pk=9, name="Open", state="running")
    ladder.round_s = round_s
    assert len(events_of(feed_of(ladder))) == count


@pytest.mark.parametrize(
    "ladder",
    [
        pytest.param(every(T0, pk=9, name="Open", state="running"), id="rounds-too-close"),
        pytest.param(every(pk=9, name="Open", state="open"), id="no-start"),
        pytest.param(weekly(pk=9, name="Open", state="running"), id="no-times"),
        pytest.param(every(pk=9, name="Open", state="closed"), id="closed"),
    ],
)
def test_feed_without_dates_has_the_component_that_a_calendar_must_have(ladder: Ladder) -> None:
    """RFC 5545, 3.4: `icalbody = calprops component`; 3.6.5 says what a time zone must have."""
    body = feed_of(ladder)
    assert events_of(body) == {}
    [zone] = icalendar.Calendar.from_ical(body).subcomponents
    assert zone.name == "VTIMEZONE" and zone["tzid"] == "UTC"
    assert zone.to_tz().utcoffset(T0.replace(tzinfo=None)) == timedelta(0)
    [standard] = zone.subcomponents
    assert standard.name == "STANDARD" and standard["dtstart"].dt.tzinfo is None
    assert b"TZOFFSETFROM:+0000\r\n" in body and b"TZOFFSETTO:+0000\r\n" in body


def test_feed_with_dates_has_these_alone() -> None:
    calendar = icalendar.Calendar.from_ical(feed_of(every(pk=9, name="Open", state="open", starts_at=T0)))
    assert {one.name for one in calendar.subcomponents} == {"VEVENT"}


def test_feed_holds_to_its_format_whatever_a_ladder_is_called() -> None:
    """Lines end in CRLF and have 75 octets at most; commas, semicolons and breaks in a text are escaped."""
    name = "Ünlü, the; best\\ \nEND:VCALENDAR " * 3
    body = feed_of(every(pk=9, name=name, state="open", starts_at=T0))
    lines = body.split(b"\r\n")
    assert lines[-1] == b"" and all(len(line) <= 75 and b"\n" not in line for line in lines)
    assert lines.count(b"END:VCALENDAR") == 1
    assert lines.count(b"X-PUBLISHED-TTL:PT1H") == 1
    calendar = icalendar.Calendar.from_ical(body)
    assert str(calendar.walk("VEVENT")[0]["summary"]).startswith(name[:5])


@pytest.mark.django_db
def test_calendar_is_to_be_had_by_anybody() -> None:
    ladder = make_ladder(name="Open", ends_at=T0)
    response = Client().get(f"/ladders/{ladder.slug}/calendar.ics")
    assert response.status_code == 200 and response["Content-Type"] == "text/calendar; charset=utf-8"
    assert events_of(response.content) == {f"end-{ladder.pk}@testserver": T0}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({}, "A round is held every minute.", id="minute"),
        pytest.param({"round_s": 90}, "A round is held every 90 seconds.", id="seconds"),
        pytest.param({"round_s": 7200}, "A round is held every 2 hours.", id="hours"),
        pytest.param({"schedule": "weekly", "times": [[0, "19:30"], [5, "09:00"]], "time_zone": BERLIN},
                     "Rounds are held every week: Monday 19:30, Saturday 09:00 (Europe/Berlin).", id="week"),
        pytest.param({"schedule": "weekly"}, "No times are set for its rounds yet.", id="none"),
        pytest.param({"state": "closed"}, "This ladder holds no more rounds.", id="closed"),
        pytest.param({"state": "open"}, "It has no date to start at yet", id="no-date"),
    ],
)  # fmt: skip
def test_page_says_when_rounds_are(fields: dict, says: str) -> None:
    ladder = make_ladder(**fields)
    page = Client().get(f"/ladders/{ladder.slug}/schedule/").content.decode()
    assert says in page


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("fields", "is_offered"),
    [
        pytest.param({}, False, id="every-minute"),
        pytest.param({"state": "open"}, False, id="no-start"),
        pytest.param({"round_s": 7200}, True, id="every-two-hours"),
        pytest.param({"schedule": "weekly", "times": [[0, "19:30"]]}, True, id="week"),
        pytest.param({"state": "closed", "ends_at": T0}, True, id="past-season"),
    ],
)
def test_page_offers_a_feed_that_has_something_in_it(fields: dict, is_offered: bool) -> None:
    ladder = make_ladder(**fields)
    address = f"http://testserver/ladders/{ladder.slug}/calendar.ics"
    page = Client().get(f"/ladders/{ladder.slug}/schedule/").content.decode()
    assert page.count(address) == (3 if is_offered else 0), "in the head, as a link and in words"
    assert ("In your calendar" in page) is is_offered
    body = Client().get(f"/ladders/{ladder.slug}/calendar.ics").content
    assert bool(events_of(body)) is is_offered and icalendar.Calendar.from_ical(body).subcomponents


@pytest.mark.django_db
def test_page_shows_rounds_in_utc_and_on_the_ladders_clock() -> None:
    ladder = make_ladder(
        schedule="weekly", times=[[2, "19:00"]], time_zone=BERLIN, state="open",
        starts_at=datetime(2036, 6, 2, tzinfo=UTC), ends_at=datetime(2036, 6, 9, tzinfo=UTC),
    )  # fmt: skip
    page = Client().get(f"/ladders/{ladder.slug}/schedule/").content.decode()
    assert '<time datetime="2036-06-04T17:00:00+00:00">Wed 4 Jun, 17:00</time>' in page
    assert "Wed 4 Jun, 19:00" in page
