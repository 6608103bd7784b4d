"""What everybody may know about why matches move or do not: no names of machines, no paths, no reasons of the jail."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any, NamedTuple

from django.db.models import Count, Min
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from bots.models import Switch
from bots.switches import pause_notes
from games.dispatch import alive_since
from games.models import Match, Worker

State, Kind = Match.State, Match.Kind

LAST_TRIALS = 20
BADGES = {"working": "ok", "paused": "attention", "refuses": "failed", "silent": "void"}
LABELS = {
    "working": gettext_lazy("working"),
    "paused": gettext_lazy("paused"),
    "refuses": gettext_lazy("bots are not run"),
    "silent": gettext_lazy("silent"),
}


class Part(NamedTuple):
    """One part of the site: how it is (a key of LABELS), and in words what that means for people."""

    title: str
    state: str
    text: str
    note: str = ""  # of the operators, as they wrote it

    @property
    def is_well(self) -> bool:
        """Whether it does what it is there for."""
        return self.state == "working"

    @property
    def badge(self) -> str:
        """The name of its badge."""
        return BADGES[self.state]

    @property
    def label(self) -> str:
        """The badge's word."""
        return str(LABELS[self.state])


def facts() -> dict[str, Any]:
    """Return the parts of the site, how many matches wait and run, and how long a trial waits; four queries."""
    now = timezone.now()
    workers = list(Worker.objects.all())
    parts = [_matches(workers), _tables(workers), _answers(workers), *_switches()]
    return {"parts": parts, "is_well": all(part.is_well for part in parts), "looked_at": now} | _queue(now)


def why_bots_wait() -> str:
    """Say why no match of bots is played just now; an empty text if they are. One query."""
    part = _matches(list(Worker.objects.all()))
    return "" if part.is_well else part.text


def _matches(workers: Sequence[Worker]) -> Part:
    slots = sum(worker.slots for worker in _working(workers, "matches"))
    text = ngettext("Up to %(slots)s match is played at once.", "Up to %(slots)s matches are played at once.", slots)
    paused = _("Paused by the operators. What waits keeps its place.")
    return _part(_("Matches of bots"), workers, "matches", working=text % {"slots": slots}, paused=paused)


def _tables(workers: Sequence[Worker]) -> Part:
    paused = _("Paused by the operators. Moves wait, and are not lost.")
    return _part(_("Tables of people"), workers, "tables", working=_("Moves are taken."), paused=paused)


def _answers(workers: Sequence[Worker]) -> Part:
    paused = _("Paused by the operators. Bots answer later.")
    return _part(_("Bots at tables"), workers, "answers", working=_("Bots answer."), paused=paused)


def _part(title: str, workers: Sequence[Worker], queue: str, **words: str) -> Part:
    """Return how those who serve a queue are, by the best of them; `words` are for a state that is no trouble."""
    state = _state(workers, queue)
    return Part(title, state, words.get(state) or _trouble(state, workers, queue))


def _state(workers: Sequence[Worker], queue: str) -> str:
    alive = _alive(workers, queue)
    if _working(workers, queue):
        return "working"
    return "paused" if any(worker.is_ok for worker in alive) else "refuses" if alive else "silent"


def _working(workers: Sequence[Worker], queue: str) -> list[Worker]:
    return [worker for worker in _alive(workers, queue) if worker.is_ok and not worker.is_paused]


def _alive(workers: Sequence[Worker], queue: str) -> list[Worker]:
    since = alive_since()
    return [worker for worker in workers if queue in worker.queue_names() and worker.seen_at >= since]


def _trouble(state: str, workers: Sequence[Worker], queue: str) -> str:
    if state == "refuses":
        return _(
            "The sandbox, which keeps a bot from doing harm, does not pass its test where bots would run. Until it "
            "does no bot is run. It is tested again every minute; what waits keeps its place."
        )
    seen = max((worker.seen_at for worker in workers if queue in worker.queue_names()), default=None)
    if seen is None:
        return _("Nobody is there to do this. What waits keeps its place.")
    heard = _("Nobody who does this has been heard of for %(time)s.") % {"time": spell(timezone.now() - seen)}
    return f"{heard} {_('What waits keeps its place.')}"


def _switches() -> list[Part]:
    notes = pause_notes()
    titles = {Switch.Name.ROUNDS: _("Rounds of the ladders"), Switch.Name.UPLOADS: _("Uploads of bots")}
    running = {
        Switch.Name.ROUNDS: _("Rounds are held when they are due."),
        Switch.Name.UPLOADS: _("Uploads are taken."),
    }
    stopped = {
        Switch.Name.ROUNDS: _("No new rounds are held; what is being played goes on."),
        Switch.Name.UPLOADS: _("New versions are not taken at the moment."),
    }
    return [
        Part(titles[name], "paused", stopped[name], notes[name])
        if name in notes
        else Part(titles[name], "working", running[name])
        for name in titles
    ]


def _queue(now: datetime) -> dict[str, Any]:
    """Return how many matches of bots wait and run, how many tables are played, and how long trials wait."""
    rows = Match.objects.filter(state__in=Match.UNFINISHED).order_by().values("state", "kind")
    found = {(row["state"], row["kind"]): row for row in rows.annotate(count=Count("id"), oldest=Min("created_at"))}

    def count(states: Sequence[str], kinds: Sequence[str]) -> int:
        return sum(row["count"] for (state, kind), row in found.items() if state in states and kind in kinds)

    waiting, bots = (State.WAITING, State.QUEUED), (Kind.RANKED, Kind.TRIAL)
    oldest = [row["oldest"] for (state, kind), row in found.items() if state in waiting and kind == Kind.TRIAL]
    return {
        "waiting": count(waiting, bots),
        "playing": count((State.PLAYING,), bots),
        "tables": count((State.PLAYING,), (Kind.TABLE,)),
        "trials": count(waiting, (Kind.TRIAL,)),
        "longest": spell(now - min(oldest)) if oldest else "",
        "usual": _usual_wait(),
    }


def _usual_wait() -> str:
    """Return how long the middle one of the last trials waited, in words; an empty text before the first."""
    last = Match.objects.filter(state=State.FINISHED, kind=Kind.TRIAL, started_at__isnull=False).order_by("-id")
    moments = last.values_list("created_at", "started_at")[:LAST_TRIALS]
    waits = [(started - created).total_seconds() for created, started in moments if started]
    return spell(timedelta(seconds=median(waits))) if waits else ""


def spell(time: timedelta) -> str:
    """Return a time in words: seconds up to a minute, then the largest unit alone."""
    seconds = max(0, round(time.total_seconds()))
    if seconds < 60:
        return ngettext("%(seconds)s second", "%(seconds)s seconds", seconds) % {"seconds": seconds}
    start = timezone.now()
    return timesince(start, start + timedelta(seconds=seconds), depth=1)
