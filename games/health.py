"""What the operators' health page shows."""

from typing import Any

from django.db.models import Count

from games import broker
from games.dispatch import alive_since
from games.models import Finding, Match, Worker

QUEUES = ("matches", "tables", "answers", "results", "slow")
BOTS_QUEUES = {"matches", "answers"}
OURS = ("platform", "gone")  # reasons to be void that are no player's
SHOWN = 50


def facts() -> dict[str, Any]:
    """Return workers with their state, queue lengths, matches by state, findings and voids; five queries."""
    seen = alive_since()
    workers = [
        {"worker": worker, "is_alive": worker.seen_at >= seen, "state": _state(worker, is_alive=worker.seen_at >= seen)}
        for worker in Worker.objects.order_by("name")
    ]
    running = Match.objects.filter(state__in=Match.UNFINISHED).order_by()
    counts = dict(running.values_list("state").annotate(Count("id")))
    return {
        "workers": workers,
        "queues": broker.queue_lengths(QUEUES),
        "states": [(state.label, counts.get(state, 0)) for state in Match.UNFINISHED],
        "findings": Finding.objects.all()[:SHOWN],
        "void": Match.objects.filter(state=Match.State.VOID, how__in=OURS).order_by("-finished_at")[:SHOWN],
    }


def bots_run() -> dict[str, Any]:
    """Return whether bots can be run, and which workers refuse to run them and why; one query."""
    alive = Worker.objects.filter(seen_at__gte=alive_since()).order_by("name")
    jailing = [worker for worker in alive if BOTS_QUEUES.intersection(worker.queue_names())]
    served = {name for worker in jailing if worker.is_ok for name in worker.queue_names()}
    refusing = {worker.name: worker.reason for worker in jailing if not worker.is_ok}
    return {"ok": served >= BOTS_QUEUES, "unserved": sorted(BOTS_QUEUES - served), "refusing": refusing}


def _state(worker: Worker, *, is_alive: bool) -> str:
    """Return a badge's name."""
    if not is_alive:
        return "void"
    if not worker.is_ok:
        return "failed"
    return "attention" if worker.is_paused else "ok"
