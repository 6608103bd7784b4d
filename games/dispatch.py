"""From rows to attempts: who plays next, what became of an attempt, and what fell between two chairs.

The database is the queue. At most `PER_SLOT` attempts for each slot of a live worker are in the broker, so that
everybody can see a place in the queue, and losing the broker loses nothing. Nothing here ends a match: that is
`finish`'s.
"""

import heapq
import itertools
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet, Sum
from django.utils import timezone

from bots.models import Source
from games import broker
from games.asides import sweep_asides
from games.findings import note, prune
from games.finish import MAX_LOST, lose_attempt, sweep_sets, void_match
from games.matches import create_match, is_playable, make_job, nudge, players_of
from games.models import Match, Share, Worker
from games.trials import sweep_trials

__all__ = ["MAX_LOST", "create_match", "dispatch", "place_in_queue", "sweep"]

logger = logging.getLogger(__name__)

PER_SLOT = 2
SEEN_S = 20
UNSTARTED_S = 30
TASK_EXPIRES_S = 3600
# So much of the workers' time may one share's trials have had within an hour and still be played before all else.
AHEAD_S, AHEAD_WITHIN_S = 300, 3600
MATCHES = "matches"
State, Kind = Match.State, Match.Kind
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.get_default_timezone())


# Who plays next


def dispatch() -> int:
    """Hand as many waiting matches to the workers as they have room for; return how many.

    May run twice at once: workers' rows are locked while places are given out, and rows claimed conditionally.
    """
    if not ready_matches().exists():
        return 0
    with transaction.atomic():
        room = PER_SLOT * live_slots(lock=True) - in_flight().count()
        if room < 1:
            return 0
        claimed = [match for match in choose(room) if _claim(match)]
        _serve(claimed)
        transaction.on_commit(lambda: _send(claimed), robust=True)
    return len(claimed)


def ready_matches() -> QuerySet[Match]:
    """Return the matches that wait for a worker and may be played now."""
    may_start = Q(wait_until__isnull=True) | Q(wait_until__lte=timezone.now())
    return Match.objects.filter(may_start, state=State.WAITING)


def in_flight() -> QuerySet[Match]:
    """Return the bots' matches of which an attempt is in the broker or with a worker."""
    return Match.objects.filter(state__in=(State.QUEUED, State.PLAYING)).exclude(kind=Kind.TABLE)


def alive_since() -> datetime:
    """Return since when a worker must have been heard of to count as alive."""
    return timezone.now() - timedelta(seconds=SEEN_S)


def live_workers() -> QuerySet[Worker]:
    """Return the workers of bots' matches that are alive, whose jail passed its probe, and that nobody paused."""
    return Worker.objects.filter(queues__contains=MATCHES, seen_at__gte=alive_since(), is_ok=True, is_paused=False)


def live_slots(*, lock: bool = False) -> int:
    """Return how many matches the live workers can play at once."""
    workers = live_workers().order_by("name")
    return sum(worker.slots for worker in (workers.select_for_update() if lock else workers))


def choose(room: int) -> list[Match]:
    """Return up to `room` waiting matches in the order in which they are to be played: line by line, by shares."""
    chosen: list[Match] = []
    for line in _lines(ready_matches(), long_in_trials()):
        chosen += _choose_fairly(line, room - len(chosen))
    return chosen


def long_in_trials() -> list[str]:
    """Return the shares whose trials have had more than `AHEAD_S` of the workers within the last hour.

    A bot may sleep through its trial for ten minutes, and be retried: the ladders must not wait for that all day.
    """
    since = timezone.now() - timedelta(seconds=AHEAD_WITHIN_S)
    # What our own failures took is nobody's doing.
    trials = Match.objects.filter(kind=Kind.TRIAL, state=State.FINISHED, finished_at__gt=since, lost_attempts=0)
    took = trials.order_by().values("share").annotate(took=Sum(F("finished_at") - F("started_at")))
    return list(took.filter(took__gt=timedelta(seconds=AHEAD_S)).values_list("share", flat=True))


def _lines(matches: QuerySet[Match], long: Sequence[str]) -> list[QuerySet[Match]]:
    """Return the lines in which matches wait, the next one for when nobody waits before: trials, rated, long trials."""
    trials = matches.filter(kind=Kind.TRIAL)
    return [trials.exclude(share__in=long), matches.exclude(kind=Kind.TRIAL), trials.filter(share__in=long)]


class Waiting(NamedTuple):
    """A match that waits for a worker, as far as its place in the queue depends on it."""

    id: int
    kind: str
    share: str


def _line_of(match: Waiting, long: Collection[str]) -> int:
    """Return the index of the one of `_lines` in which a match waits."""
    if match.kind != Kind.TRIAL:
        return 1
    return 2 if match.share in long else 0


def _choose_fairly(ready: QuerySet[Match], room: int) -> list[Match]:
    if room < 1:
        return []
    waiting = _count_by_share(ready)
    turns = list(itertools.islice(take_turns(waiting, _count_by_share(in_flight()), _served(waiting)), room))
    queues = {share: list(ready.filter(share=share).order_by("id")[:count]) for share, count in Counter(turns).items()}
    return [queues[share].pop(0) for share in turns if queues[share]]


def _count_by_share(matches: QuerySet[Match]) -> dict[str, int]:
    return dict(matches.order_by().values_list("share").annotate(Count("id")))


def _served(shares: Iterable[str]) -> dict[str, datetime]:
    return dict(Share.objects.filter(name__in=set(shares)).values_list("name", "served_at"))


class Turn(NamedTuple):
    """Where a share stands in line: who has least in flight is first, then who was served longest ago."""

    in_flight: int
    served: tuple[datetime, int]
    share: str


def take_turns(
    waiting: Mapping[str, int], in_flight: Mapping[str, int], served: Mapping[str, datetime]
) -> Iterator[str]:
    """Yield the shares in the order in which their waiting matches are played, once for each match."""
    line = [Turn(in_flight.get(share, 0), (served.get(share, EPOCH), 0), share) for share in waiting]
    heapq.heapify(line)
    left = dict(waiting)
    latest = max(served.values(), default=EPOCH)
    for count in itertools.count(1):
        if not line:
            return
        turn = heapq.heappop(line)
        yield turn.share
        left[turn.share] -= 1
        if left[turn.share]:
            heapq.heappush(line, Turn(turn.in_flight + 1, (latest, count), turn.share))


def place_in_queue(match: Match) -> int | None:
    """Return how many matches are to be played up to and with this one; None if it does not wait."""
    return places_in_queue([match]).get(match.pk)


def places_in_queue(matches: Sequence[Match]) -> dict[int, int]:
    """Return of each of these matches that waits how many are to be played up to and with it. Three queries at most."""
    if not any(match.state == State.WAITING for match in matches):
        return {}
    unplayed = (Match.objects.filter(state=State.WAITING) | in_flight()).order_by("id")
    rows = list(unplayed.values_list("state", "id", "kind", "share"))
    waiting = [Waiting(pk, kind, share) for state, pk, kind, share in rows if state == State.WAITING]
    busy = Counter(share for state, _id, _kind, share in rows if state != State.WAITING)
    long = set(long_in_trials()) if any(row.kind == Kind.TRIAL for row in waiting) else set()
    served = _served(row.share for row in waiting)
    order: list[int] = []
    for line in range(3):
        queues: dict[str, deque[int]] = defaultdict(deque)
        for row in waiting:
            if _line_of(row, long) == line:
                queues[row.share].append(row.id)
        turns = take_turns({share: len(queue) for share, queue in queues.items()}, busy, served)
        order += [queues[share].popleft() for share in turns]
    places = {pk: place for place, pk in enumerate(order, 1)}
    return {match.pk: places[match.pk] for match in matches if match.pk in places}


def _claim(match: Match) -> bool:
    """Move one match from waiting to queued under its next attempt's number; False if somebody else did."""
    row = Match.objects.filter(pk=match.pk, state=State.WAITING, attempt=match.attempt)
    match.attempt += 1
    match.sent_at = timezone.now()
    values = {"state": State.QUEUED, "attempt": match.attempt, "sent_at": match.sent_at, "heard_at": None, "worker": ""}
    return row.update(**values) == 1


def _serve(claimed: Sequence[Match]) -> None:
    now = timezone.now()
    # Microseconds apart, in the order in which they were served.
    turns = {match.share: now + timedelta(microseconds=number) for number, match in enumerate(claimed)}
    Share.objects.bulk_create(
        (Share(name=name, served_at=served_at) for name, served_at in turns.items()),
        update_conflicts=True,
        unique_fields=["name"],
        update_fields=["served_at"],
    )


def _send(claimed: Sequence[Match]) -> None:
    """Put sources and tasks into the broker. What is not sent is found by the sweep."""
    for match in claimed:
        players = players_of(match)
        if not is_playable(players):
            void_match(match.pk, "gone", only=Q(attempt=match.attempt))
            continue
        job = make_job(match, players)
        is_put = put_sources(job) and broker.put_attempt(match.code, match.attempt)
        shown = f"({match.code!r}, {match.attempt})"
        if is_put and broker.send("sandbox.play_match", job, queue=MATCHES, shown=shown, expires_s=TASK_EXPIRES_S):
            logger.info("attempt sent match=%s attempt=%s", match.code, match.attempt)


def put_sources(job: Mapping[str, Any]) -> bool:
    """Put the sources of a job's bots where sandboxed workers find them by content."""
    return broker.put_sources((e["sha256"] for e in job["entrants"] if e["kind"] == "bot"), _load_sources)


def _load_sources(hashes: Sequence[str]) -> dict[str, bytes]:
    return {source.sha256: bytes(source.data) for source in Source.objects.filter(sha256__in=hashes)}


# What became of an attempt


def hear(code: str, attempt: int, worker: str | None = None) -> bool:
    """Note a sign of life of an attempt; its first is that it has started. False if that attempt no longer counts."""
    now = timezone.now()
    named = {"worker": worker[:80]} if worker else {}
    row = Match.objects.filter(code=code, attempt=attempt)
    if row.filter(state=State.PLAYING).update(heard_at=now, **named):
        return True
    if not row.filter(state=State.QUEUED).update(state=State.PLAYING, heard_at=now, **named):
        return False
    # A match that is played again keeps the moment at which it was first started.
    row.filter(started_at=None).update(started_at=now)
    logger.info("attempt started match=%s attempt=%s worker=%s", code, attempt, worker)
    transaction.on_commit(lambda: broker.notify_table(code), robust=True)
    return True


def hear_worker(name: str, *, queues: str, slots: int, is_ok: bool, reason: str) -> None:
    """Note a sign of life of a worker, and remind it of the operator's pause."""
    now = timezone.now()
    facts = {"queues": queues[:80], "slots": min(max(slots, 0), 1000), "is_ok": is_ok, "reason": reason[:2000]}
    worker, _is_new = Worker.objects.update_or_create(name=name[:80], defaults={**facts, "seen_at": now})
    # Redis may have lost it; the row has not.
    broker.put_pause(worker.name, worker.is_paused)


def pause_worker(name: str, is_paused: bool) -> bool:
    """Pause or resume a worker; what it plays it plays to the end. False if it was so already."""
    row = Worker.objects.filter(pk=name).exclude(is_paused=is_paused)
    if not row.update(is_paused=is_paused, paused_at=timezone.now()):
        return False
    logger.info("worker %s worker=%s", "paused" if is_paused else "resumed", name)
    transaction.on_commit(lambda: broker.put_pause(name, is_paused), robust=True)
    return True


def take_back(code: str, attempt: int) -> bool:
    """Let a match that a paused worker declined wait again; its attempt was never started and is not lost."""
    wait_until = timezone.now() + timedelta(seconds=1)
    row = Match.objects.filter(code=code, attempt=attempt, state=State.QUEUED)
    return row.update(state=State.WAITING, wait_until=wait_until) == 1


def take_back_started(code: str, attempt: int) -> bool:
    """Let a bots' match that a stopping worker handed back be played again from its seed; its attempt is not lost."""
    row = in_flight().filter(code=code, attempt=attempt)
    if not row.update(state=State.WAITING, wait_until=None, heard_at=None):
        return False
    logger.info("attempt handed back match=%s attempt=%s", code, attempt)
    transaction.on_commit(nudge, robust=True)
    return True


# What fell between two chairs


def sweep() -> dict[str, int]:
    """Find lost and unstarted attempts, sets left sealed and missed trials, put them right, and say what was found."""
    found = {
        "lost": _sweep_lost(),
        "unstarted": _sweep_unstarted(),
        "sealed": sweep_sets(),
        "trials": sweep_trials(),
        "aside": sweep_asides(),
    }
    _forget_workers()
    prune()
    if any(found.values()):
        logger.warning("sweep found %s", " ".join(f"{what}={count}" for what, count in found.items()))
        nudge()
    return found


def _sweep_lost() -> int:
    """Count attempts that have been silent for too long as lost."""
    silent = Q(heard_at__lt=timezone.now() - timedelta(seconds=settings.HEARTBEAT_LOST_S))
    lost = in_flight().filter(silent, state=State.PLAYING).values_list("pk", "attempt")
    detail = f"silent for {settings.HEARTBEAT_LOST_S} s"
    return sum(lose_attempt(pk, attempt, what="lost", detail=detail, only=silent) for pk, attempt in lost)


def _sweep_unstarted() -> int:
    """Take back attempts that nobody has started although a worker is idle: their message got lost."""
    idle = live_slots() - in_flight().filter(state=State.PLAYING).count()
    now = timezone.now()
    # After its expiry no worker would take the message anyway.
    after_s = UNSTARTED_S if idle > 0 else TASK_EXPIRES_S
    unstarted = Match.objects.filter(state=State.QUEUED, sent_at__lt=now - timedelta(seconds=after_s))
    count = 0
    for match in unstarted:
        row = Match.objects.filter(pk=match.pk, state=State.QUEUED, attempt=match.attempt)
        if row.update(state=State.WAITING):
            note("unstarted", match.code, f"attempt {match.attempt}")
            count += 1
    return count


def _forget_workers() -> None:
    Worker.objects.filter(seen_at__lt=timezone.now() - timedelta(days=1), is_paused=False).delete()
