"""Template tags of the design system: navigation, ratings, charts.

Pure presentation: they take plain values, read no database and decide nothing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, wraps
from typing import Any

from django import template
from django.template import Context
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.safestring import SafeString, mark_safe
from django.utils.timesince import timesince
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from bots.names import has_unseen

register = template.Library()

# User units. Room at the left for four figures and below for a date as large as a phone needs them.
CHART_WIDTH, CHART_HEIGHT = 600, 240
CHART_LEFT, CHART_RIGHT, CHART_TOP, CHART_BOTTOM = 62, 10, 12, 38
SPARK_WIDTH, SPARK_HEIGHT = 96, 24
REMEMBERED = 8192  # rendered figures of each kind


@register.simple_tag
@lru_cache(maxsize=256)  # paths that templates name: every page asks a dozen times
def page_exists(path: str) -> bool:
    """Tell whether the site has a page at `path`, so that nothing links to one that is not there."""
    try:
        resolve(path)
    except Resolver404:
        return False
    return True


@register.simple_tag(takes_context=True)
def current(context: Context, path: str) -> str:
    """Return `page` or `true` for aria-current if the page shown is `path` or lies below it, else an empty string."""
    here = getattr(context.get("request"), "path", "")
    if here == path:
        return "page"
    return "true" if path != "/" and here.startswith(path) else ""


@register.filter
def signed(value: float | None, digits: int = 0) -> str:
    """Format a change with its sign: `+12`, `−3` (a true minus), `±0`; a dash for None."""
    if value is None:
        return "–"
    rounded = round(value, digits)
    if not rounded:
        return "±0"
    return ("+" if rounded > 0 else "\N{MINUS SIGN}") + number_format(abs(rounded), digits)


@register.filter
def visible(text: str) -> str:
    """Return what a program wrote with all that would act instead of being seen as an escape, such as `\\x1b`."""
    return re.sub(r"[^\n\t\x20-\x7e]", _seen, text.replace("\r\n", "\n"))


def _seen(found: re.Match[str]) -> str:
    char = found[0]
    if not has_unseen(char):
        return char
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")


@register.filter
def percent(share: float | None) -> str:
    """Format a share of 1 in percent, such as `64 %`; a dash for None. Never 0 or 100 of what is only nearly so."""
    if share is None:
        return "–"
    if 0 < share < 0.01:
        return "< 1\N{NO-BREAK SPACE}%"
    if 0.99 < share < 1:
        return "> 99\N{NO-BREAK SPACE}%"
    return f"{number_format(round(100 * share))}\N{NO-BREAK SPACE}%"


@register.filter
def direction(value: float | None) -> str:
    """Return `up`, `down` or `none` for a change, as it is shown without decimals."""
    rounded = round(value or 0)
    return "up" if rounded > 0 else "down" if rounded < 0 else "none"


def remembered(template_name: str) -> Callable[[Callable[..., dict[str, Any]]], Callable[..., SafeString]]:
    """Make a tag of what gives a template its values, and remember what it rendered.

    A table of a hundred rows renders hundreds of figures that depend on their values and the language alone, and most
    are the same at the next look. For functions of values that can be keys; lists are taken as tuples.
    """

    def wrap(values_of: Callable[..., dict[str, Any]]) -> Callable[..., SafeString]:
        @lru_cache(maxsize=REMEMBERED)
        def render(_language: str | None, args: tuple[Any, ...], named: tuple[tuple[str, Any], ...]) -> SafeString:
            return mark_safe(render_to_string(template_name, values_of(*args, **dict(named))))

        @wraps(values_of)
        def tag(*args: Any, **named: Any) -> SafeString:
            keys = tuple(tuple(one) if isinstance(one, list) else one for one in args)
            return render(get_language(), keys, tuple(sorted(named.items())))

        return tag

    return wrap


@register.simple_tag
def remembered_row(template_name: str, row: Any, moment: datetime | None = None) -> SafeString:
    """Render a table's row, a named tuple of plain values, by a template, and remember it as `remembered` does.

    Of `moment` the template is told how long `ago` it was.
    """
    return _render_row(get_language(), template_name, row, ago(moment) if moment else "")


@lru_cache(maxsize=REMEMBERED)
def _render_row(_language: str | None, template_name: str, row: Any, ago: str) -> SafeString:
    return mark_safe(render_to_string(template_name, row._asdict() | {"ago": ago}))


@register.simple_tag
@remembered("_change.html")
def change(value: float | None) -> dict[str, Any]:
    """Render a rating change with sign, colour and, in words, its direction."""
    return {"value": value, "direction": direction(value)}


@register.inclusion_tag("_when.html")
def when(moment: datetime | None) -> dict[str, Any]:
    """Render a moment as how long ago (or in how long), with the full date in a `<time>`."""
    return {"moment": moment, "text": ago(moment) if moment else ""}


def ago(moment: datetime) -> str:
    """Say how long ago a moment was, or in how long it will be; after a week its date."""
    delta = timezone.now() - moment
    seconds = delta.total_seconds()
    if seconds >= 7 * 86400:
        return date_format(timezone.localtime(moment), "DATE_FORMAT")
    if abs(seconds) < 60:
        return _("just now") if seconds >= 0 else _("in a moment")
    if seconds > 0:
        return _("%(time)s ago") % {"time": timesince(moment, depth=1)}
    return _("in %(time)s") % {"time": timesince(timezone.now(), moment, depth=1)}


@register.simple_tag
@remembered("_rating.html")
def rating(
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    scale_low: float | None = None,
    scale_high: float | None = None,
    large: bool = False,
) -> dict[str, Any]:
    """Render a rating with its interval as a bar beside the figure.

    Args:
        value: the rating, on the Elo scale; None shows a dash.
        low, high: ends of the 95 % interval; without them no bar is drawn.
        scale_low, scale_high: ends of the bar's scale, the same for a whole table
            (lowest `low` and highest `high` of its rows); by default 300 either side.
    """
    shown: dict[str, Any] = {"value": value, "low": low, "high": high, "large": large, "has_interval": False}
    if value is None or low is None or high is None:
        return shown
    start = value - 300 if scale_low is None else scale_low
    end = value + 300 if scale_high is None else scale_high
    span = max(end - start, 1.0)

    def x(rating: float) -> str:
        return f"{4 + 92 * min(max((rating - start) / span, 0.0), 1.0):.1f}"

    return shown | {"has_interval": True, "x_low": x(low), "x_value": x(value), "x_high": x(high)}


@register.simple_tag
@remembered("_sparkline.html")
def sparkline(values: Sequence[float]) -> dict[str, Any]:
    """Render a trend of figures, oldest first, as a line the size of a word."""
    values = list(values)
    if len(values) < 2:
        return {"points": ""}
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    xy = [
        (
            3 + (SPARK_WIDTH - 6) * index / (len(values) - 1),
            SPARK_HEIGHT - 3 - (SPARK_HEIGHT - 6) * (value - low) / span,
        )
        for index, value in enumerate(values)
    ]
    return {
        "points": _polyline(xy),
        "last": {"x": f"{xy[-1][0]:.1f}", "y": f"{xy[-1][1]:.1f}"},
        "first_value": values[0],
        "last_value": values[-1],
        "width": SPARK_WIDTH,
        "height": SPARK_HEIGHT,
    }


@register.inclusion_tag("_chart.html")
def chart(points: Sequence[Mapping[str, Any]], title: str, x_label: str = "", y_label: str = "") -> dict[str, Any]:
    """Render a rating over time as an SVG line with axes, a band for the interval and a summary in words.

    Args:
        points: oldest first, each with `value` and optionally `low`, `high` (the interval) and
            `label` (what the x axis says, such as a date) and `mark` (what happened there). They stand at equal
            distances.
    """
    points = list(points)
    shown: dict[str, Any] = {"title": title, "x_label": x_label, "y_label": y_label, "count": len(points)}
    if not points:
        return shown
    ticks = _ticks(
        min(min(point["value"], point.get("low", point["value"])) for point in points),
        max(max(point["value"], point.get("high", point["value"])) for point in points),
    )
    place = _Scale(len(points), ticks[0], ticks[-1])
    line = [place.xy(index, point["value"]) for index, point in enumerate(points)]
    values = [point["value"] for point in points]
    return shown | {
        "width": CHART_WIDTH,
        "height": CHART_HEIGHT,
        "left": CHART_LEFT,
        "right": CHART_WIDTH - CHART_RIGHT,
        "label_y": CHART_HEIGHT - 8,
        "line": _polyline(line),
        "band": _band(points, place),
        "ticks": [{"y": f"{place.y(tick):.1f}", "value": tick} for tick in ticks],
        "x_ticks": _x_ticks(points, place),
        "last": {"x": f"{line[-1][0]:.1f}", "y": f"{line[-1][1]:.1f}"},
        "marks": [
            {"x": f"{line[index][0]:.1f}", "y": f"{line[index][1]:.1f}", "text": point["mark"]}
            for index, point in enumerate(points)
            if "mark" in point
        ],
        "top": CHART_TOP,
        "bottom": CHART_HEIGHT - CHART_BOTTOM,
        "first_value": values[0],
        "last_value": values[-1],
        "lowest": min(values),
        "highest": max(values),
    }


class _Scale:
    """Maps a point's number and value into the chart's drawing area."""

    def __init__(self, count: int, low: float, high: float) -> None:
        self.count, self.low, self.high = count, low, high

    def x(self, index: int) -> float:
        inner = CHART_WIDTH - CHART_LEFT - CHART_RIGHT
        return CHART_LEFT + (inner / 2 if self.count == 1 else inner * index / (self.count - 1))

    def y(self, value: float) -> float:
        inner = CHART_HEIGHT - CHART_TOP - CHART_BOTTOM
        return CHART_TOP + inner * (self.high - value) / (self.high - self.low)

    def xy(self, index: int, value: float) -> tuple[float, float]:
        return self.x(index), self.y(value)


def _polyline(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _band(points: Sequence[Mapping[str, Any]], place: _Scale) -> str:
    if not all("low" in point and "high" in point for point in points):
        return ""
    upper = [place.xy(index, point["high"]) for index, point in enumerate(points)]
    lower = [place.xy(index, point["low"]) for index, point in enumerate(points)]
    return _polyline(upper + lower[::-1])


def _x_ticks(points: Sequence[Mapping[str, Any]], place: _Scale) -> list[dict[str, Any]]:
    """Label the first, middle and last point."""
    indexes = sorted({0, (len(points) - 1) // 2, len(points) - 1})
    if len(points) < 5:
        indexes = sorted({0, len(points) - 1})
    anchors = {0: "start", len(points) - 1: "end"} if len(points) > 1 else {}
    return [
        {"x": f"{place.x(index):.1f}", "label": points[index]["label"], "anchor": anchors.get(index, "middle")}
        for index in indexes
        if points[index].get("label")
    ]


def _ticks(low: float, high: float) -> list[int]:
    """Return three to six round values that enclose `low` and `high`."""
    for step in (10, 20, 25, 50, 100, 200, 250, 500, 1000, 2500, 10000):
        first, last = int(low // step) * step, -int(-high // step) * step
        if last == first:
            last += step
        if (last - first) // step <= 5:
            break
    if last - first == step:
        first, last = first - step, last + step
    return list(range(first, last + 1, step))
