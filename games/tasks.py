"""The trusted tasks of `games`: each takes ids or a report, may run twice, and leaves the work to its module."""

from typing import Any

from celery import shared_task

from games import dispatch as dispatching
from games import finish, tables
from games.models import Match


@shared_task(ignore_result=True)
def dispatch() -> None:
    dispatching.dispatch()


@shared_task(ignore_result=True)
def sweep() -> None:
    dispatching.sweep()


@shared_task(ignore_result=True)
def sweep_tables() -> None:
    tables.sweep_tables()


@shared_task(ignore_result=True)
def enforce_clocks() -> None:
    tables.enforce_clocks()


@shared_task(ignore_result=True)
def release_shows() -> None:
    finish.release_shows()


@shared_task(ignore_result=True)
def match_started(code: str, attempt: int, worker: str = "") -> None:
    dispatching.hear(code, attempt, worker)


@shared_task(ignore_result=True)
def match_heartbeat(code: str, attempt: int) -> None:
    dispatching.hear(code, attempt)


@shared_task(ignore_result=True)
def match_result(code: str, attempt: int, outcome: dict[str, Any]) -> None:
    match_id = Match.objects.filter(code=code).values_list("pk", flat=True).first()
    if match_id is not None and finish.finish_match(match_id, attempt, outcome):
        dispatching.dispatch()


@shared_task(ignore_result=True)
def match_declined(code: str, attempt: int) -> None:
    dispatching.take_back(code, attempt)


@shared_task(ignore_result=True)
def match_handed_back(code: str, attempt: int) -> None:
    if not dispatching.take_back_started(code, attempt):
        tables.ask_again(code, attempt)


@shared_task(ignore_result=True)
def match_failed(code: str, attempt: int, reason: str) -> None:
    match = Match.objects.filter(code=code).first()
    if match is None:
        return
    if match.kind == Match.Kind.TABLE:
        tables.note_failure(code, attempt, reason)
    else:
        finish.lose_attempt(match.pk, attempt, what="failed", detail=reason)


@shared_task(ignore_result=True)
def table_result(code: str, attempt: int, result: dict[str, Any]) -> None:
    tables.accept(code, attempt, result)


@shared_task(ignore_result=True)
def worker_alive(name: str, queues: str, slots: int, is_ok: bool, reason: str) -> None:
    dispatching.hear_worker(name, queues=queues, slots=slots, is_ok=is_ok, reason=reason)
