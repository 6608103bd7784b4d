"""The single door through which every match ends: finished, or void.

Every ending is one transaction that begins with a conditional update of the match's row; whoever comes
second changes nothing and is told so. From a worker come decisions, times, faults and logs only. The record
is built by replaying them, and verified, before anything is written: one that does not hold is our
failure and costs an attempt, never a bot's place.

A match of a duplicate set is sealed when it has been played: nothing of how it went stands in a column, and nobody sees
its record or logs until the last of the set has ended. Then all are opened at once. Whoever ends one of a set locks
the set's rows first, in order, so that of two that end at once the second sees that the first has.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from bots.models import BotVersion
from games import asides, broker, times, trials
from games.engine import Game, IllegalMove, InvalidRecord, Rules, Seating, draw_seats, fixed_seats, record, replay
from games.findings import note
from games.matches import is_playable, limits_of
from games.models import Match, Move, Record, Seat, SeatLog, SetAside
from games.outcome import BadOutcome, Outcome, joined_log, parse_outcome
from games.signals import match_finished, match_held_back

logger = logging.getLogger(__name__)

MAX_LOST = 3
SET_ASIDE_AFTER = 2  # matches that were void after losing every attempt without a word
SHOW_MAX_MS = 5 * 60 * 1000
BACKOFF_S = 2
RUNNING = (Match.State.QUEUED, Match.State.PLAYING)
State = Match.State


def finish_match(match_id: int, attempt: int, outcome: Mapping[str, Any]) -> bool:
    """End a bots' match with what its attempt reported; False if that attempt no longer counts, or does not hold."""
    match = Match.objects.filter(pk=match_id, attempt=attempt, state__in=RUNNING).exclude(kind=Match.Kind.TABLE).first()
    if match is None:
        logger.info("late result dropped match_id=%s attempt=%s", match_id, attempt)
        return False
    players = list(match.players.select_related("version", "bot"))
    if not is_playable(players):
        void_match(match_id, "gone", only=Q(attempt=attempt))
        return False
    try:
        parsed = parse_outcome(outcome)
        game = fold(match, parsed.moves, [fault.public() for fault in parsed.faults])
        doc = make_record(match, game, players, parsed.ms)
    except (BadOutcome, IllegalMove, InvalidRecord, ValueError) as error:
        logger.error("result does not hold match=%s attempt=%s error=%s", match.code, attempt, error)
        lose_attempt(match_id, attempt, what="failed", detail=f"the result does not hold: {error}")
        return False
    with transaction.atomic():
        return _end_bots_match(match, game, doc, players, parsed)


def fold(match: Match, moves: Sequence[str], faults: Sequence[Mapping[str, Any]]) -> Game:
    """Return the game that the row's rules and seeds make with these decisions and faults.

    Raises:
        IllegalMove, InvalidRecord, ValueError: they do not make one.
    """
    seed = bytes(match.server_seed)
    return replay(Rules.from_json(match.rules), match.seats, seed, tuple(match.player_seeds), moves, faults)


def seating_of(match: Match) -> Seating:
    """Return who sits where, by the row."""
    if match.seating == "draw":
        return draw_seats(bytes(match.server_seed), tuple(match.player_seeds))
    return fixed_seats(match.seats)


def make_record(match: Match, game: Game, players: Sequence[Seat], ms: Sequence[int]) -> dict[str, Any]:
    """Return the verified record of a game that is over.

    Raises:
        InvalidRecord: it does not hold, or the game is not over.
    """
    if game.result is None:
        raise InvalidRecord(f"expected a game that is over: decision {game.decisions_made + 1} is pending")
    seating = seating_of(match)
    by_entrant = {player.entrant: player for player in players}
    doc = record.build(
        game,
        id=match.code,
        played=(match.started_at or timezone.now()).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seats=[_recorded_seat(by_entrant[entrant]) for entrant in seating.order],
        seating=seating,
        ms=list(ms),
    )
    record.verify(doc)
    return doc


def _recorded_seat(player: Seat) -> dict[str, str]:
    if player.version is None:
        return {"name": player.name, "kind": "human"}
    number, sha256 = str(player.version.number), player.version.source_id
    return {"name": player.name, "kind": "bot", "version": number, "sha256": sha256}


def _end_bots_match(match: Match, game: Game, doc: Mapping[str, Any], players: Sequence[Seat], parsed: Outcome) -> bool:
    now = timezone.now()
    lock_set(match.duplicates)
    row = Match.objects.filter(pk=match.pk, attempt=match.attempt, state__in=RUNNING)
    is_public = not (match.duplicates or match.is_showcase)
    if not row.update(**_played_figures(match, game, doc, now)):
        logger.info("second result dropped match=%s attempt=%s", match.code, match.attempt)
        return False
    order = seating_of(match).order
    for player in players:
        player.seat = order.index(player.entrant)
    # While it is sealed or on show nothing of how it ends stands in a column that a list might print.
    if is_public:
        _place(players, doc)
    Seat.objects.bulk_update(players, ["seat", "place", "total", "fault"])
    Record.objects.create(match=match, packed=record.pack(doc))
    keep_logs(match, players, game, parsed)
    if is_public:
        _close([match], State.FINISHED)
        return True
    logger.info("match %s match=%s attempt=%s", "sealed" if match.duplicates else "on show", match.code, match.attempt)
    transaction.on_commit(lambda: _tell_held_back(match), robust=True)
    open_set(match.duplicates)
    return True


def _played_figures(match: Match, game: Game, doc: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return what the row of a match says that has just been played to its end."""
    if match.duplicates:
        return {"state": State.SEALED}
    return _show_figures(game.decisions_made, now) if match.is_showcase else _final_figures(doc, now)


def _show_figures(made: int, now: datetime) -> dict[str, Any]:
    decisions = max(1, made)
    pace_ms = min(settings.SHOWCASE_PACE_MS, SHOW_MAX_MS // decisions)
    until = now + timedelta(milliseconds=pace_ms * decisions)
    return {"state": State.SHOWING, "show_from": now, "show_ms": pace_ms, "show_until": until}


def _final_figures(doc: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    return {
        "state": State.FINISHED,
        "decisions": _decisions_in(doc),
        "hands": len(doc["hands"]),
        "faults": doc["faults"],
        "how": doc["result"]["how"],
        "finished_at": now,
        "awaits": "",
    }


def _decisions_in(doc: Mapping[str, Any]) -> int:
    return sum(len(hand["moves"]) for hand in doc["hands"])


def _place(players: Sequence[Seat], doc: Mapping[str, Any]) -> None:
    faults = {fault["seat"]: fault["kind"] for fault in doc["faults"]}
    for player in players:
        player.place = doc["result"]["places"][player.seat]
        player.total = doc["result"]["totals"][player.seat]
        player.fault = faults.get(player.seat, "")


def keep_logs(match: Match, players: Sequence[Seat], game: Game, parsed: Outcome) -> None:
    """Store what bots wrote, what their decisions cost them and how they faulted; players come with their bots.

    At a table each of their turns adds to it. Nobody may read of a house bot's, so only what a fault explains is kept.
    """
    costs = _costs(game, parsed, limits_of(match).to_json())
    details = {fault.seat: fault.private for fault in parsed.faults}
    is_table = any(player.user_id for player in players)
    kept = {log.seat_id: log for log in SeatLog.objects.filter(seat__in=players)} if is_table else {}
    new = []
    for player in players:
        if player.version_id is None or player.seat is None:
            continue
        text = parsed.logs[player.seat] if player.seat < len(parsed.logs) else ""
        detail, cost = details.get(player.seat, ""), costs.get(player.seat)
        if player.bot is None or player.bot.owner_id is None:
            cost = None
        if not (text or detail or cost):
            continue
        log = kept.get(player.pk)
        if log is None:
            packed = times.pack(cost) if cost else b""
            new.append(SeatLog(seat=player, stderr=text, fault_detail=detail, times=packed))
            continue
        log.stderr = joined_log(log.stderr, text)
        log.fault_detail = detail or log.fault_detail
        if cost:
            log.times = times.pack(times.unpack(bytes(log.times)).followed_by(cost))
        log.save(update_fields=["stderr", "fault_detail", "times"])
    SeatLog.objects.bulk_create(new)


def _costs(game: Game, parsed: Outcome, limits: dict[str, float]) -> dict[int, times.Times]:
    """Return by seat what the decisions of a report, the last ones of the game, cost the bots that took them."""
    count = len(parsed.cpu_us)
    movers = game.movers()[-count:] if count else []
    first = game.decisions_made - count + 1
    found = times.gather(movers, parsed.cpu_us, first=first, limits=limits)
    for seat, start in enumerate(parsed.starts):
        if start:
            found.setdefault(seat, times.Times(limits=limits)).starts.append(start)
    for fault in parsed.faults:
        if fault.cpu_us or fault.ms:
            cost = found.setdefault(fault.seat, times.Times(limits=limits))
            cost.fault_ms, cost.fault_cpu_us = fault.ms, fault.cpu_us
    return found


def _close(matches: Sequence[Match], state: str) -> None:
    """Do what every ending does last, still inside its transaction; of a set for all that end at once."""
    for match in matches:
        if match.kind == Match.Kind.TABLE:
            # Whom pages told that his table waits.
            get_user_model().objects.filter(seats__match=match, table=match.code).update(table="")
        elif match.kind == Match.Kind.TRIAL and state == State.FINISHED:
            trials.conclude(match.pk)
    if state == State.FINISHED:
        asides.review(matches)
    for match in matches:
        logger.info("match ended match=%s state=%s attempt=%s", match.code, state, match.attempt)
        _announce_on_commit(match.pk, match.code, state)


def _announce_on_commit(match_id: int, code: str, state: str) -> None:
    # A function, not a partial: Django names a robust hook that broke, and a partial has no name.
    transaction.on_commit(lambda: _announce(match_id, code, state), robust=True)


def _announce(match_id: int, code: str, state: str) -> None:
    match_finished.send_robust(sender=Match, match_id=match_id, state=state)
    broker.notify_table(code)
    broker.put_attempt(code, broker.OVER)


def _tell_held_back(match: Match) -> None:
    match_held_back.send_robust(sender=Match, match_id=match.pk)
    broker.notify_table(match.code)
    # No attempt of it is to be played any more.
    broker.put_attempt(match.code, broker.OVER)


def finish_table(match: Match, game: Game, ms: Sequence[int]) -> bool:
    """End a human table whose last decision has just been accepted, inside the caller's transaction.

    Raises:
        InvalidRecord: the record does not hold.
    """
    players = list(match.players.select_related("version"))
    if not is_playable(players):
        return void_match(match.pk, "gone")
    doc = make_record(match, game, players, ms)
    row = Match.objects.filter(pk=match.pk, attempt=match.attempt, state=State.PLAYING)
    if not row.update(**_final_figures(doc, timezone.now())):
        return False
    _place(players, doc)
    Seat.objects.bulk_update(players, ["place", "total", "fault"])
    Record.objects.create(match=match, packed=record.pack(doc))
    Move.objects.filter(match=match).delete()
    _close([match], State.FINISHED)
    return True


def finish_show(match_id: int) -> bool:
    """End a showcase: what its record holds becomes public, and that of the others of its set, and is announced."""
    match = Match.objects.select_related("record").filter(pk=match_id, state=State.SHOWING).first()
    if match is None:
        return False
    with transaction.atomic():
        lock_set(match.duplicates)
        now = timezone.now()
        if not _publish(match, now):
            return False
        _close([match, *_publish_all(_sealed_to_open(match.duplicates), now)], State.FINISHED)
        return True


def _publish(match: Match, now: datetime) -> bool:
    """Write what the record of a match that was held back says of it; False if it is not in that state any more."""
    doc = record.unpack(bytes(match.record.packed))
    if not Match.objects.filter(pk=match.pk, state=match.state).update(**_final_figures(doc, now)):
        return False
    players = list(match.players.all())
    _place(players, doc)
    Seat.objects.bulk_update(players, ["place", "total", "fault"])
    return True


def _publish_all(matches: Sequence[Match], now: datetime) -> list[Match]:
    """Publish each; return those that were."""
    return [match for match in matches if _publish(match, now)]


def lock_set(duplicates: str) -> None:
    """Lock the rows of a duplicate set in order, before any of them changes; of a match on its own ("") nothing."""
    if duplicates:
        list(Match.objects.select_for_update().filter(duplicates=duplicates).order_by("pk").values_list("pk"))


def open_set(duplicates: str) -> bool:
    """Open a set of which nothing is played any more, or show its showcase first; False if there is nothing to do.

    Inside the caller's transaction, which holds the set's rows (`lock_set`).
    """
    sealed, now = _sealed_to_open(duplicates), timezone.now()
    if showcase := next((match for match in sealed if match.is_showcase), None):
        _show(showcase, now)
    else:
        _close(_publish_all(sealed, now), State.FINISHED)
    return bool(sealed)


def _sealed_to_open(duplicates: str) -> list[Match]:
    """Return the sealed matches of a set, with their records, if nothing of it is to be played or shown any more."""
    rows = Match.objects.filter(duplicates=duplicates)
    if not duplicates or rows.filter(state__in=Match.UNFINISHED).exclude(state=State.SEALED).exists():
        return []
    return list(rows.filter(state=State.SEALED).select_related("record").order_by("pk"))


def _show(match: Match, now: datetime) -> None:
    """Begin to show a sealed match; the others of its set, all played, stay sealed until it has been shown."""
    doc = record.unpack(bytes(match.record.packed))
    figures = _show_figures(_decisions_in(doc), now)
    Match.objects.filter(pk=match.pk, state=State.SEALED).update(**figures)
    logger.info("match on show match=%s attempt=%s", match.code, match.attempt)
    transaction.on_commit(lambda: _tell_held_back(match), robust=True)


def sweep_sets() -> int:
    """Open the sets that should be open: nothing of them is played or shown, and something is sealed. Return how many.

    The last ending opens its set in its own transaction; only a row that was changed by hand leaves one behind.
    """
    unplayed = Match.objects.filter(duplicates=OuterRef("duplicates"), state__in=Match.UNFINISHED)
    sealed = Match.objects.filter(~Exists(unplayed.exclude(state=State.SEALED)), state=State.SEALED)
    found = 0
    for duplicates in set(sealed.values_list("duplicates", flat=True)):
        with transaction.atomic():
            lock_set(duplicates)
            if open_set(duplicates):
                note("sealed", duplicates, "all of the set had been played, and nobody had opened it")
                found += 1
    return found


def release_shows() -> int:
    """Finish every showcase whose last decision has been shown; return how many."""
    over = Match.objects.filter(state=State.SHOWING, show_until__lte=timezone.now()).values_list("pk", flat=True)
    return sum(finish_show(match_id) for match_id in over)


def void_match(match_id: int, why: str, *, only: Q | None = None) -> bool:
    """End a match without a result; False if it has ended already, or `only` does not hold any more.

    `why` is platform, idle, gone, given_up, season or operator. `only` narrows the rows that still may end so. Of its
    duplicate set those that have not started end with it ("set"); those that run are played to their end.
    """
    with transaction.atomic():
        lock_set(Match.objects.filter(pk=match_id).values_list("duplicates", flat=True).first() or "")
        row = Match.objects.filter(only or Q(), pk=match_id, state__in=Match.UNFINISHED)
        if not row.update(state=State.VOID, how=why, finished_at=timezone.now(), awaits=""):
            return False
        match = Match.objects.get(pk=match_id)
        Move.objects.filter(match=match).delete()
        if match.duplicates:
            # What the bots of a sealed match wrote tells of deals that others of its set may still be playing.
            SeatLog.objects.filter(seat__match=match).delete()
        if why != "given_up":
            note("void", match.code, why)
        _close([match], State.VOID)
        if why == "platform":
            _set_aside_killers(match)
        _void_unstarted(match.duplicates)
        open_set(match.duplicates)
        return True


def _void_unstarted(duplicates: str) -> None:
    """End what has not started of a set that cannot be rated any more. The set's rows are locked."""
    if not duplicates:
        return
    unstarted = Match.objects.filter(duplicates=duplicates, state__in=(State.WAITING, State.QUEUED)).order_by("pk")
    matches = list(unstarted)
    unstarted.update(state=State.VOID, how="set", finished_at=timezone.now(), awaits="")
    _close(matches, State.VOID)


def annul_match(match_id: int) -> bool:
    """Take a finished match's result back on an operator's word; False if it has not finished, or is void already.

    It is void then like one that never had a result; how it went can still be read from its record.
    """
    match = Match.objects.filter(pk=match_id, state=State.FINISHED).first()
    if match is None:
        return False
    with transaction.atomic():
        if not Match.objects.filter(pk=match_id, state=State.FINISHED).update(state=State.VOID, how="operator"):
            return False
        note("void", match.code, "operator, after it had finished")
        _close([match], State.VOID)
        return True


def lose_attempt(match_id: int, attempt: int, *, what: str, detail: str, only: Q | None = None) -> bool:
    """Count an attempt as lost: the match is played again from its seed, or is void after three.

    `what` is lost (silence) or failed (the worker said so). False if that attempt no longer counts.
    """
    running = Q(only or Q(), attempt=attempt, state__in=RUNNING)
    match = Match.objects.filter(running, pk=match_id).exclude(kind=Match.Kind.TABLE).first()
    if match is None:
        return False
    lost, silent = match.lost_attempts + 1, match.silent_losses + (what == "lost")
    wait_s = BACKOFF_S**lost if what == "failed" else 0
    with transaction.atomic():
        lock_set(match.duplicates)
        updated = Match.objects.filter(running, pk=match_id, lost_attempts=match.lost_attempts).update(
            state=State.WAITING,
            lost_attempts=lost,
            silent_losses=silent,
            wait_until=timezone.now() + timedelta(seconds=wait_s),
            heard_at=None,
        )
        if not updated:
            return False
        note(what, match.code, f"attempt {attempt} on {match.worker or 'no worker'}: {detail}")
        if lost >= MAX_LOST:
            void_match(match_id, "platform")
    logger.warning("attempt %s match=%s attempt=%s lost=%s", what, match.code, attempt, lost)
    return True


def _set_aside_killers(match: Match) -> None:
    """Set aside a version that was in two matches whose every attempt took its worker along.

    House bots sit in every trial and are ours to mend: they are not set aside for the company they keep.
    """
    versions = BotVersion.objects.filter(seats__match=match, bot__owner__isnull=False).select_related("bot")
    for version in versions.exclude(state=BotVersion.State.SET_ASIDE):
        killed = Match.objects.filter(players__version=version, how="platform", silent_losses__gte=MAX_LOST).count()
        if killed < SET_ASIDE_AFTER:
            continue
        if asides.set_aside(version, SetAside.Why.WORKERS, match=match, of_last=killed, before=version.state):
            note("set_aside", f"version {version.pk}", f"in {killed} matches that lost every attempt")
