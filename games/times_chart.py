"""Draw what a bot's decisions cost: a bar of CPU and a dot of wall clock for each, on a logarithmic scale."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from django.utils.formats import number_format
from django.utils.translation import gettext as _

WIDTH, HEIGHT = 640, 220
LEFT, RIGHT, TOP, BOTTOM = 58, 66, 12, 30
LOWEST_MS = 0.1
MOST_BARS = 160


class Cost(Protocol):
    """What one decision took; None where it was not measured."""

    @property
    def number(self) -> int: ...
    @property
    def cpu_ms(self) -> float | None: ...
    @property
    def ms(self) -> int | None: ...
    @property
    def is_fault(self) -> bool: ...


def draw(costs: Sequence[Cost], *, limit_ms: float, free_ms: float) -> dict[str, Any]:
    """Return what `games/_times.html` draws; more than `MOST_BARS` decisions are drawn in groups, the worst of each."""
    measured = [cost for cost in costs if cost.cpu_ms is not None]
    if not measured:
        return {"count": 0}
    groups = _grouped(measured)
    highest = max(limit_ms, *(max(_cpu(cost), cost.ms or 0) for cost in measured))
    place = _Scale(highest * 1.3)
    step = (WIDTH - LEFT - RIGHT) / len(groups)
    bars = [_bar(group, LEFT + step * (index + 0.5), place) for index, group in enumerate(groups)]
    return {
        "count": len(measured),
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "base": HEIGHT - BOTTOM,
        "label_y": HEIGHT - 8,
        "stroke": f"{min(10.0, step * 0.6):.1f}",
        "bars": bars,
        "ticks": [{"y": f"{place.y(ms):.1f}", "label": shown_ms(ms)} for ms in place.ticks()],
        "lines": [
            {"y": f"{place.y(free_ms):.1f}", "label": _("free"), "kind": "free"},
            {"y": f"{place.y(limit_ms):.1f}", "label": _("limit"), "kind": "limit"},
        ],
        "free": shown_ms(free_ms),
        "first": measured[0].number,
        "last": measured[-1].number,
        "median": shown_ms(sorted(_cpu(cost) for cost in measured)[len(measured) // 2]),
    }


def shown_ms(ms: float) -> str:
    """Return milliseconds for people: three figures at most, seconds from one second on."""
    if ms == 0:
        return _("<1 ms")
    if ms >= 1000:
        seconds = ms / 1000
        return _("%(time)s s") % {"time": number_format(seconds, 0 if seconds == int(seconds) else 2)}
    digits = 0 if ms >= 100 or ms == int(ms) else 1 if ms >= 1 else 2
    return _("%(time)s ms") % {"time": number_format(ms, digits)}


def _cpu(cost: Cost) -> float:
    return cost.cpu_ms or 0.0


def _grouped(costs: Sequence[Cost]) -> list[Sequence[Cost]]:
    size = math.ceil(len(costs) / MOST_BARS)
    return [costs[start : start + size] for start in range(0, len(costs), size)]


def _bar(group: Sequence[Cost], x: float, place: "_Scale") -> Mapping[str, Any]:
    worst = max(group, key=_cpu)
    return {
        "x": f"{x:.1f}",
        "y": f"{place.y(_cpu(worst)):.1f}",
        "wall_y": f"{place.y(max(cost.ms or 0 for cost in group)):.1f}",
        "is_fault": any(cost.is_fault for cost in group),
        "number": worst.number,
        "cpu": shown_ms(_cpu(worst)),
        "wall": shown_ms(worst.ms or 0),
    }


class _Scale:
    """Maps milliseconds to a height, equal factors to equal distances."""

    def __init__(self, highest_ms: float) -> None:
        self.decades = math.log10(highest_ms / LOWEST_MS)

    def y(self, ms: float) -> float:
        part = math.log10(max(ms, LOWEST_MS) / LOWEST_MS) / self.decades
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(part, 1.0))

    def ticks(self) -> list[float]:
        return [LOWEST_MS * 10**power for power in range(1, int(self.decades) + 1)]
