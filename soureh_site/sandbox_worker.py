"""The Celery app of the sandboxed queues: `matches`, `tables`, `answers`. No Django, no database, no secret.

All that a worker holds is its name (`-n`) and, in SANDBOX_REDIS_URL, the broker's address. It takes self-contained
payloads and reports by name to trusted tasks on `results`. Where bots run, nothing is taken until the sandbox has
passed its probe; until then the worker only announces why.
"""

import gc
import logging
import logging.config
import os
import time
from functools import cache
from typing import Any

import redis
from billiard import active_children, current_process
from celery import Celery, bootsteps
from celery.signals import (
    celeryd_after_setup,
    setup_logging,
    worker_process_init,
    worker_process_shutdown,
    worker_shutting_down,
)
from kombu import Exchange, Queue
from kombu.exceptions import OperationalError

from bots.sandbox import own_cgroups, probe
from games.keys import pause_key
from games.stopping import hold_off
from soureh_site import broker, logs

logger = logging.getLogger(__name__)

ANNOUNCE_S = 5.0
PROBE_AGAIN_S = 60.0
# These queues hold the engine's work alone, no bot's.
WITHOUT_BOTS = {"tables"}
# A result must outlive a restart of the broker: a minute of trying.
PATIENT = {"max_retries": 60, "interval_start": 0.1, "interval_step": 0.2, "interval_max": 1.0}
REDIS_URL = os.environ.get("SANDBOX_REDIS_URL", "")

app = Celery("sandbox", broker=broker.broker_url(REDIS_URL), set_as_current=False)
# `results` is written to by its name alone: with no exchange there is no table of bindings to be spoilt from here.
RESULTS = Queue("results", exchange=Exchange(""), routing_key="results", no_declare=True)
app.conf.update(broker.CONFIG, broker_transport_options=broker.transport_options("sandbox"), task_queues=[RESULTS])


class Store:
    """What may be read of Redis: sources by content, attempts' numbers, paused workers."""

    def __init__(self, client: redis.Redis) -> None:
        self.client = client

    def get(self, name: str) -> bytes | None:
        """Return the value of a key."""
        value = self.client.get(name)
        return value.encode() if isinstance(value, str) else value


@cache
def store() -> Store:
    """Return this process's access to Redis."""
    return Store(redis.Redis.from_url(REDIS_URL, socket_timeout=5, socket_connect_timeout=5))


def report(name: str, *args: Any) -> None:
    """Send `args` to the trusted task `games.tasks.<name>`; they are never printed. Tries for a minute."""
    _send(name, args, retry=True, retry_policy=PATIENT)


@app.task(name="sandbox.play_match", bind=True)
def play_match(self: Any, job: dict[str, Any]) -> None:
    """Play a match between bots to its end and report it."""
    from games import sandbox_tasks, warm

    sandbox_tasks.play(job, store(), report, worker=self.request.hostname)
    warm.start_ahead()


@app.task(name="sandbox.table_move")
def table_move(job: dict[str, Any]) -> None:
    """Apply one person's decision, or open the table, and report what follows. No bot runs."""
    from games import sandbox_tasks

    sandbox_tasks.move(job, report)


@app.task(name="sandbox.bot_answers")
def bot_answers(job: dict[str, Any]) -> None:
    """Let the bots at a person's table answer until the person is to move, and report it."""
    from games import sandbox_tasks, warm

    sandbox_tasks.answers(job, store(), report)
    warm.start_ahead()


@setup_logging.connect
def _log_to_stderr(**_: Any) -> None:
    logging.config.dictConfig(logs.config(os.environ.get("LOG_LEVEL") or "INFO"))


@celeryd_after_setup.connect
def _wait_for_sandbox(sender: str, instance: Any, **_: Any) -> None:
    """Hold the worker back while bots could not be jailed here, announcing why; ask again each minute."""
    if not set(app.amqp.queues.consume_from) - WITHOUT_BOTS:
        return
    while not (seen := probe()).ok:
        logger.error("sandbox refused worker=%s reason=%r", sender, seen.reason)
        until = time.monotonic() + PROBE_AGAIN_S
        while time.monotonic() < until:
            announce(sender, instance.concurrency, is_ok=False, reason=seen.reason)
            time.sleep(ANNOUNCE_S)
        probe.cache_clear()


@worker_shutting_down.connect
def _interrupt_jobs(**_: Any) -> None:
    """Have every slot hand back what it plays: whoever stops this worker does not wait for the end of a match."""
    for child in active_children():
        child.terminate()


@worker_process_init.connect
def _settle(**_: Any) -> None:
    """Pin a slot to a core of its own and leave what it inherited out of garbage collections.

    It stops when its parent closes the pool or dies; SIGTERM interrupts no more than what it plays.

    A bot and its referee alternate strictly: on one core that is about four times faster than across two.
    """
    hold_off()
    if (cgroups := own_cgroups().cgroups) is not None:
        # Another slot may have been killed, and this one stands for it.
        cgroups.sweep()
    index = getattr(current_process(), "index", None)
    if index is not None and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[(index + _first_core()) % len(cores)]})
    gc.collect()
    gc.freeze()


@worker_process_shutdown.connect
def _let_bots_go(**_: Any) -> None:
    """Stop the bots that wait at people's tables, and the jails that wait for bots."""
    from bots.sandbox.spares import spares
    from games.warm import warm_tables

    warm_tables.close()
    spares.close()


def _first_core() -> int:
    """Return the core of the first slot: matches count from 0, the answers to people take the last."""
    return -1 if "answers" in app.amqp.queues.consume_from else 0


def announce(name: str, slots: int, *, is_ok: bool, reason: str, queues: frozenset[str] = frozenset()) -> None:
    """Tell the trusted side that this worker lives, which queues are its own and how many tasks at once."""
    named = ",".join(sorted(queues or app.amqp.queues.consume_from))
    try:
        _send("worker_alive", (name, named, slots, is_ok, reason), retry=False, expires=4 * ANNOUNCE_S)
    except (OperationalError, redis.RedisError, OSError) as error:
        logger.warning("worker not announced worker=%s error=%s", name, type(error).__name__)


def heed_pause(consumer: Any, queues: frozenset[str]) -> None:
    """Stop taking tasks up while the operator has paused this worker, and take them up again after it."""
    try:
        is_paused = store().get(pause_key(consumer.hostname)) is not None
    except redis.RedisError as error:
        logger.warning("pause not read worker=%s error=%s", consumer.hostname, type(error).__name__)
        return
    for queue in sorted(queues):
        is_consuming = consumer.task_consumer.consuming_from(queue)
        if is_paused and is_consuming:
            consumer.cancel_task_queue(queue)
        elif not (is_paused or is_consuming):
            consumer.add_task_queue(queue)


class Announcement(bootsteps.StartStopStep):
    """Announce the worker while it lives, from its main process, even while every slot is busy or it is paused."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self.timer: Any = None
        # As they were before any pause: a paused queue is no longer consumed from, but still the worker's.
        self.queues = frozenset(app.amqp.queues.consume_from)

    def start(self, parent: Any) -> None:
        """Announce now and every few seconds."""
        reason = str(probe()) if self.queues - WITHOUT_BOTS else "engine only"
        slots = parent.controller.concurrency

        def say() -> None:
            announce(parent.hostname, slots, is_ok=True, reason=reason, queues=self.queues)

        def look_and_say() -> None:
            heed_pause(parent, self.queues)
            say()

        # Its queues are consumed from only when all steps have started.
        say()
        self.timer = parent.timer.call_repeatedly(ANNOUNCE_S, look_and_say)

    def stop(self, parent: Any) -> None:
        """Fall silent: the connection is gone, or the worker stops."""
        if self.timer is not None:
            self.timer.cancel()


app.steps["consumer"].add(Announcement)


def _send(name: str, args: tuple[Any, ...], **options: Any) -> None:
    """Publish to a trusted task by name; `argsrepr` keeps the arguments out of every log."""
    full = name if "." in name else f"games.tasks.{name}"
    app.send_task(full, args, queue="results", argsrepr="(…)", kwargsrepr="{}", ignore_result=True, **options)
