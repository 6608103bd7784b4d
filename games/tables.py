"""Human tables: open one, deal, decide, resign; what the engine made of it, accepted once; what got lost, sent again.

At a table with clocks (a ranked one) a person's move and the end of his time exclude each other: whichever comes first
stands in `Match.asked` from then on, by one conditional update, and is sent until the table has changed. So a move
that arrived in time counts however long the engine takes for it, and one that came later is refused.

A table is event-sourced. Whatever a person does goes to a sandboxed worker together with the table's number of
changes so far (`Match.attempt`); what comes back is accepted by compare-and-set on that number, or dropped whole.
The web process decides nothing: it folds accepted rows into views.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.cache import cache
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from bots.models import Bot, BotVersion
from bots.rates import MINUTE_S, may
from bots.versions import playable_versions
from games import broker
from games.clocks import Clocks, clocks_of, deadline
from games.dispatch import put_sources
from games.engine import Game, IllegalMove, InvalidRecord, Rules, record
from games.engine.game import apply_faults, check_autopilot
from games.engine.shuffle import PLAYER_SEED_MAX
from games.findings import note
from games.finish import MAX_LOST, finish_table, fold, keep_logs, seating_of, void_match
from games.matches import create_match, is_playable, make_job, players_of
from games.models import Match, Move, Seat
from games.outcome import BOT_FAULTS, LEAVING, PEOPLE_FAULTS, Action, BadOutcome, Outcome, parse_outcome

logger = logging.getLogger(__name__)

TABLES_PER_DAY = 100
ACTIONS_PER_MINUTE = 300
CLICK_EXPIRES_S = 60
ANSWERS_EXPIRES_S = 600
ASKED_AGAIN_S = 10
# A sweep that comes so much later than the one before it found the site asleep: nobody could move, so no clock ran.
ASLEEP_S = 15
AWOKEN_S = 60  # what everybody gets at least where it is not known how long the site slept
SWEPT_KEY = "tables:swept"
State, Kind = Match.State, Match.Kind
RUNNING = (State.OPEN, State.PLAYING)


class TableRefused(Exception):
    """A table that is not opened, or a wish that is not granted; the text is a sentence for the user."""


class TooLate(TableRefused):
    """A move that came when its player's time was over."""


# Opened


def house_bots() -> dict[str, BotVersion]:
    """Return the versions that sit at people's tables, by their bots' names."""
    house = dict(Bot.objects.filter(owner=None).order_by("name").values_list("pk", "name"))
    return {house[bot_id]: version for bot_id, version in sorted(playable_versions(house).items())}


def running_table(user: Any) -> Match | None:
    """Return the table at which `user` still sits and plays, or None."""
    seats = _played_seats([user.pk]).order_by("-match")
    return next((player.match for player in seats if not _is_out(player)), None)


def sitting(user_ids: Iterable[int]) -> set[int]:
    """Return those of these people who sit at a table and play; one query."""
    return {player.user_id for player in _played_seats(user_ids) if player.user_id and not _is_out(player)}


def _played_seats(user_ids: Iterable[int]) -> QuerySet[Seat]:
    seats = Seat.objects.filter(user__in=list(user_ids), match__kind=Kind.TABLE, match__state__in=RUNNING)
    return seats.select_related("match")


def _is_out(player: Seat) -> bool:
    """Tell whether the engine plays for the seat: its person resigned or left."""
    return any(fault["seat"] == player.seat for fault in player.match.faults)


def open_table(user: Any, *, opponents: Sequence[BotVersion], rules: Rules) -> Match:
    """Open a table of `user` and 1 to 3 house bots; its commitment is public from now on, the cards are not dealt yet.

    Raises:
        TableRefused: the user sits at a table already, or has opened as many as a day allows.
    """
    if not 1 <= len(opponents) <= 3:
        raise TableRefused(_("Please choose one to three bots to play against."))
    with transaction.atomic():
        # Locking the person makes two requests at once queue, so that both cannot open a table.
        get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
        if running_table(user) is not None:
            raise TableRefused(_("You are still sitting at a table. Finish that game, or resign it, first."))
        since = timezone.now() - timedelta(days=1)
        if Match.objects.filter(kind=Kind.TABLE, players__user=user, created_at__gt=since).count() >= TABLES_PER_DAY:
            raise TableRefused(_("You have opened as many tables as a day allows. Please come back tomorrow."))
        match = create_match(
            kind=Kind.TABLE,
            rules=rules.to_json(),
            entrants=[{"user": user}, *({"version": version} for version in opponents)],
            share=f"owner:{user.pk}",
        )
    logger.info("table opened match=%s seats=%s", match.code, match.seats)
    return match


def hold_people(ids: Collection[int] | QuerySet[Any]) -> QuerySet[Any]:
    """Lock accounts for the rest of a transaction, and return them; `ids` may be a query of them.

    In one order, so that two who want the same people do not wait for each other.
    """
    people = get_user_model().objects.filter(pk__in=ids)
    list(people.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    return people


def open_ranked(
    *,
    entrants: Sequence[Mapping[str, Any]],
    rules: Mapping[str, Any],
    clocks: Clocks,
    limits: Mapping[str, Any] | None = None,
    share: str = "",
    server_seed: bytes | None = None,
) -> Match:
    """Open a ladder's table of people and bots in the caller's transaction; the cards are dealt once it is committed.

    `entrants`, `rules`, `limits` (the bots' clocks), `share` and `server_seed` are as `create_match` takes them;
    two people or more may be among the entrants. `clocks` are the people's. Nobody is waited for: the seats are drawn
    and dealt without player seeds, for who comes late would hold up the others; and who does not come at all loses by
    his clock.

    Raises:
        TableRefused: one of the people sits at a table already.
        RulesError, ValueError: as `create_match`.
    """
    people = sorted(entrant["user"].pk for entrant in entrants if entrant.get("user") is not None)
    with transaction.atomic():
        hold_people(people)
        if busy := sitting(people):
            raise TableRefused(_("%(count)d of these players sit at a table already.") % {"count": len(busy)})
        match = create_match(
            kind=Kind.TABLE,
            rules=rules,
            entrants=entrants,
            share=share,
            server_seed=server_seed,
            limits={**(limits or {}), **clocks.to_json()},
        )
        get_user_model().objects.filter(pk__in=people).update(table=match.code, ready_until=None)
        deal(match)
    logger.info("ranked table opened match=%s people=%d seats=%d", match.code, len(people), match.seats)
    return match


def set_player_seed(match: Match, user: Any, player_seed: str) -> None:
    """Take a person's own part of the shuffle, before the seats are drawn.

    Raises:
        TableRefused: it is no seed, the seats have been drawn, or the user does not sit here.
    """
    if len(player_seed) > PLAYER_SEED_MAX or not (player_seed.isascii() and player_seed.isprintable()):
        raise TableRefused(_("Your seed may have up to 64 characters: letters, digits and signs without accents."))
    with transaction.atomic():
        row = Match.objects.select_for_update().filter(pk=match.pk, state=State.OPEN, awaits="").first()
        player = Seat.objects.filter(match=match, user=user).first() if user.is_authenticated else None
        if row is None or player is None:
            raise TableRefused(_("The seats have been drawn already; seeds are taken before that."))
        row.player_seeds[player.entrant] = player_seed
        row.save(update_fields=["player_seeds"])
    match.player_seeds = row.player_seeds


def deal(match: Match) -> bool:
    """Have the seats drawn and the first hand dealt; False if that is under way already."""
    now = timezone.now()
    row = Match.objects.filter(pk=match.pk, state=State.OPEN, awaits="")
    if not row.update(awaits="seating", sent_at=now, started_at=now, moved_at=now):
        return False
    transaction.on_commit(lambda: _send_opening(match.pk), robust=True)
    return True


def _send_opening(match_id: int) -> None:
    match = Match.objects.get(pk=match_id)
    _send_action(match, players_of(match), [], {"do": "open"})


def give_up(match: Match) -> bool:
    """Close a table whose seats have not been drawn; False if they have."""
    return void_match(match.pk, "given_up", only=Q(state=State.OPEN, awaits=""))


# Played


def seat_of(match: Match, user: Any) -> int | None:
    """Return the seat of `user` at a table whose seats are drawn, or None."""
    if user is None or not user.is_authenticated:
        return None
    return Seat.objects.filter(match=match, user=user).values_list("seat", flat=True).first()


def moves_of(match: Match, after: int = 0) -> list[str]:
    """Return the accepted decisions of a running table from number `after` + 1 on."""
    return list(match.moves.filter(number__gt=after).order_by("number").values_list("move", flat=True))


def elapsed_ms(match: Match) -> list[int]:
    """Return how long each decision of a running table took."""
    return list(match.moves.order_by("number").values_list("elapsed_ms", flat=True))


def may_act(user_id: int | None) -> bool:
    """Count one more action of a person at tables, by page or socket; False if he sends more than anybody plays."""
    return may("actions", user_id, most=ACTIONS_PER_MINUTE, within_s=MINUTE_S)


def decide(match: Match, seat: int, *, id: int, move: str) -> bool:
    """Send a person's decision to the engine; the answer comes to his socket. False if the broker is away.

    Raises:
        TooLate: the table has clocks, and his time is over.
    """
    action = {"do": "move", "seat": seat, "id": id, "move": move}
    moves = moves_of(match)
    if clocks_of(match) is None:
        return _send_action(match, players_of(match), moves, action)
    # What the engine will refuse stops no clock. What it will take is on the row, and is sent again if it gets lost.
    is_kept = _would_stand(match, moves, action) and _ask_first(match, action)
    return _send_action(match, players_of(match), moves, action) or is_kept


def _would_stand(match: Match, moves: Sequence[str], action: Mapping[str, Any]) -> bool:
    game = fold(match, moves, match.faults)
    decision = game.decision
    if decision is None or (decision.seat, decision.id) != (action["seat"], action["id"]):
        return False
    return game.autopilot() is None and action["move"] in game.legal()


def _ask_first(match: Match, action: Mapping[str, Any]) -> bool:
    """Note that a decision has come in time; False if it is another one that came before it, or the table moved on.

    Raises:
        TooLate: the end of his time came first.
    """
    now = timezone.now()
    row = Match.objects.filter(pk=match.pk, state=State.PLAYING, awaits="person", decisions=match.decisions)
    if row.filter(asked_at=None, deadline_at__gt=now).update(asked=dict(action), asked_at=now):
        return True
    found = row.first()
    if found is None:
        return False
    if found.asked.get("do") == "leave" or (found.asked_at is None and found.deadline_at and found.deadline_at <= now):
        raise TooLate(_("Your time ran out before this move came."))
    return bool(found.asked == action)


def resign(match: Match, seat: int) -> bool:
    """Send a person's resignation to the engine. False if the broker is away."""
    return _send_action(match, players_of(match), moves_of(match), {"do": "resign", "seat": seat})


def _send_action(match: Match, players: Sequence[Seat], moves: Sequence[str], action: Mapping[str, Any]) -> bool:
    job = make_job(match, players) | {"moves": list(moves), "faults": match.faults, "action": dict(action)}
    shown = f"({match.code!r}, {match.attempt}, {action['do']!r})"
    return broker.send("sandbox.table_move", job, queue="tables", shown=shown, expires_s=CLICK_EXPIRES_S)


def _send_asked(match_id: int) -> None:
    """Send what a table with clocks waits for, as the table stands now."""
    match = Match.objects.filter(pk=match_id, state=State.PLAYING, asked_at__isnull=False).first()
    if match is not None:
        _send_action(match, players_of(match), moves_of(match), match.asked)


def _ask_bots(match_id: int) -> None:
    """Send a table's bots their turns."""
    match = Match.objects.filter(pk=match_id, state=State.PLAYING, awaits="bots").first()
    if match is None:
        return
    players = players_of(match)
    if not is_playable(players):
        void_match(match.pk, "gone", only=Q(attempt=match.attempt))
        return
    job = make_job(match, players) | {"moves": moves_of(match), "faults": match.faults}
    shown = f"({match.code!r}, {match.attempt})"
    if put_sources(job):
        broker.send("sandbox.bot_answers", job, queue="answers", shown=shown, expires_s=ANSWERS_EXPIRES_S)


# Accepted


def accept(code: str, attempt: int, report: Mapping[str, Any]) -> bool:
    """Take what the engine made of the table's change number `attempt`; False if it was refused, late or does not hold.

    A losing batch is dropped whole; a person whose decision it was is told so, alone.
    """
    match = Match.objects.filter(code=code, kind=Kind.TABLE).first()
    if match is None:
        return False
    try:
        parsed = parse_outcome(report, kinds=BOT_FAULTS | PEOPLE_FAULTS)
        if match.attempt != attempt or match.state not in RUNNING:
            return _drop(match, parsed)
        if parsed.rejected is not None:
            return _reject(match, parsed, parsed.rejected.code, parsed.rejected.detail)
        game = _apply(match, parsed)
        return _store(match, game, parsed) or _drop(match, parsed)
    except (BadOutcome, IllegalMove, InvalidRecord, ValueError) as error:
        logger.error("table result does not hold match=%s attempt=%s error=%s", code, attempt, error)
        note_failure(code, attempt, f"the result does not hold: {error}")
        return False


def _apply(match: Match, parsed: Outcome) -> Game:
    """Return the game after a batch, having checked who decided what.

    Raises:
        IllegalMove, InvalidRecord, BadOutcome: it does not follow from the table's rows.
    """
    people = set(match.players.filter(user__isnull=False).values_list("seat", flat=True))
    action = parsed.action
    for fault in parsed.faults:
        of_person = action is not None and fault.seat == action.seat and LEAVING.get(action.do) == fault.kind
        if (fault.kind in PEOPLE_FAULTS) != of_person or (fault.seat in people) != of_person:
            raise BadOutcome(f"expected no fault {fault.kind} of seat {fault.seat}")
    if action is not None and action.do == "leave" and match.asked != _asked(action):
        raise BadOutcome(f"expected nobody's time to have run out: seat {action.seat}")
    game = fold(match, moves_of(match), match.faults)
    waiting: list[Mapping[str, Any]] = [fault.public() for fault in reversed(parsed.faults)]
    apply_faults(game, waiting)
    for number, move in enumerate(parsed.moves):
        _check_mover(game, parsed, people, is_first=number == 0)
        check_autopilot(game, move)
        game.play(move)
        apply_faults(game, waiting)
    if waiting:
        raise BadOutcome("expected no fault after the last decision")
    return game


def _check_mover(game: Game, parsed: Outcome, people: set[int | None], *, is_first: bool) -> None:
    """Let bots decide in their answers only, and a person only by his own action."""
    decision, action = game.decision, parsed.action
    if decision is None or game.autopilot() is not None:
        return
    if action is None:
        is_allowed = decision.seat not in people
    else:
        is_own = (action.do, action.seat, action.id) == ("move", decision.seat, decision.id)
        is_allowed = is_first and is_own and decision.seat in people
    if not is_allowed:
        raise BadOutcome(f"expected no decision of seat {decision.seat}")


def _store(match: Match, game: Game, parsed: Outcome) -> bool:
    """Write a batch by compare-and-set on the table's number; False if another was faster."""
    now = timezone.now()
    ms = list(parsed.ms)
    if parsed.action is not None and parsed.action.do == "move" and ms:
        ms[0] = _took_ms(match, parsed.action, now)
    awaits = _awaits(match, game)
    with transaction.atomic():
        row = Match.objects.filter(pk=match.pk, attempt=match.attempt, state=match.state)
        if not row.update(**_figures(match, game, awaits, now), **_clock_figures(match, game, awaits, ms, now)):
            return False
        if parsed.action is not None and parsed.action.do == "open":
            _seat_people(match)
        first = match.decisions + 1
        Move.objects.bulk_create(
            Move(match=match, number=number, move=move, elapsed_ms=elapsed_ms)
            for number, (move, elapsed_ms) in enumerate(zip(parsed.moves, ms, strict=True), first)
        )
        match.refresh_from_db()
        keep_logs(match, list(match.players.select_related("bot")), game, parsed)
        _let_go(match, parsed)
        if game.result is not None:
            finish_table(match, game, elapsed_ms(match))
            return True
        transaction.on_commit(lambda: broker.notify_table(match.code), robust=True)
        if match.awaits == "bots":
            transaction.on_commit(lambda: _ask_bots(match.pk), robust=True)
        elif match.asked_at is not None:
            transaction.on_commit(lambda: _send_asked(match.pk), robust=True)
    logger.info("table changed match=%s attempt=%s decisions=%s", match.code, match.attempt, match.decisions)
    return True


def _figures(match: Match, game: Game, awaits: str, now: datetime) -> dict[str, Any]:
    return {
        "attempt": match.attempt + 1,
        "state": State.PLAYING,
        "decisions": game.decisions_made,
        "faults": [fault._asdict() for fault in game.faults],
        "awaits": awaits,
        "sent_at": now,
        "heard_at": None,
        "lost_attempts": 0,
    }


def _clock_figures(match: Match, game: Game, awaits: str, ms: Sequence[int], now: datetime) -> dict[str, Any]:
    """Return since when the pending decision is to be made, and by when; `ms` are the batch's.

    Who leaves a table while another thinks does not set that other one's clock back, nor lose his move that is on
    its way.
    """
    if match.state == State.PLAYING and game.decisions_made == match.decisions and game.decision is not None:
        return {}
    fresh = {"moved_at": now, "asked": {}, "asked_at": None, "deadline_at": None}
    clocks = clocks_of(match)
    if clocks is not None and awaits == "person":
        fresh["deadline_at"] = deadline(clocks, game, [*elapsed_ms(match), *ms], since=now)
    return fresh


def _took_ms(match: Match, action: Action, now: datetime) -> int:
    """Return how long a person took for a decision: until it arrived, where that was noted."""
    arrived = match.asked_at if match.asked_at and match.asked == _asked(action) else now
    return max(0, round((arrived - (match.moved_at or arrived)).total_seconds() * 1000))


def _asked(action: Action) -> dict[str, Any]:
    """Return an action as `Match.asked` keeps it."""
    return {"do": action.do, "seat": action.seat, "id": action.id, "move": action.move}


def _let_go(match: Match, parsed: Outcome) -> None:
    """Let people who resigned or left sit down elsewhere, while the table goes on without them."""
    if parsed.faults:
        gone = match.players.filter(seat__in=[fault.seat for fault in parsed.faults], user__isnull=False)
        get_user_model().objects.filter(pk__in=gone.values("user"), table=match.code).update(table="")


def _awaits(match: Match, game: Game) -> str:
    """Say for whom the table waits: the seat that decides holds a person or a bot."""
    if game.decision is None:
        return ""
    entrant = seating_of(match).order[game.decision.seat]
    return "person" if match.players.filter(entrant=entrant, user__isnull=False).exists() else "bots"


def _seat_people(match: Match) -> None:
    order = seating_of(match).order
    players = list(match.players.all())
    for player in players:
        player.seat = order.index(player.entrant)
    Seat.objects.bulk_update(players, ["seat"])


def _drop(match: Match, parsed: Outcome) -> bool:
    """Drop a batch that came too late; a decision that stands already needs no word. Always False."""
    action = parsed.action
    logger.info("late change dropped match=%s", match.code)
    if action is None:
        return False
    match.refresh_from_db()
    if action.do == "resign" and match.state in RUNNING:
        # Nobody else's move undoes it.
        transaction.on_commit(lambda: resign(match, action.seat), robust=True)
    if action.do != "move":
        return False
    is_on_its_way = match.asked_at is not None and match.asked == _asked(action)
    if is_on_its_way or _stands(match, action):
        return False
    over = match.is_over
    return _reject(match, parsed, "finished" if over else "stale", "the game is over" if over else "the table moved on")


def _stands(match: Match, action: Action) -> bool:
    """Tell whether a decision was taken as it is sent, be the game over since."""
    if match.state != State.FINISHED:
        return match.moves.filter(number=action.id, move=action.move).exists()
    moves = [move for hand in record.unpack(bytes(match.record.packed))["hands"] for move in hand["moves"]]
    return moves[action.id - 1 : action.id] == [action.move]


def _reject(match: Match, parsed: Outcome, code: str, detail: str) -> bool:
    """Tell the person whose action it was, and nobody else, that it was not taken. Always False."""
    action = parsed.action
    if action is not None:
        if match.asked_at is not None and match.asked == _asked(action):
            asked = Match.objects.filter(pk=match.pk, attempt=match.attempt, asked_at=match.asked_at)
            asked.update(asked={}, asked_at=None)
        content = {"seat": action.seat, "id": action.id, "move": action.move, "reason": code, "detail": detail}
        broker.notify_table(match.code, "table.rejected", **content)
    return False


# Lost


def note_failure(code: str, attempt: int, reason: str) -> None:
    """Count a failure of ours at a table: after three in a row it is void; until then the sweep sends again."""
    row = Match.objects.filter(code=code, kind=Kind.TABLE, attempt=attempt, state__in=RUNNING)
    match = row.first()
    if match is None or not row.filter(lost_attempts=match.lost_attempts).update(lost_attempts=match.lost_attempts + 1):
        return
    note("failed", code, f"change {attempt}: {reason}")
    logger.warning("table failed match=%s attempt=%s reason=%s", code, attempt, reason)
    if match.lost_attempts + 1 >= MAX_LOST:
        void_match(match.pk, "platform", only=Q(attempt=attempt))


def ask_again(code: str, attempt: int) -> bool:
    """Have the bots' answers played anew that a stopping worker handed back; nothing of it counts as a failure."""
    row = Match.objects.filter(code=code, kind=Kind.TABLE, attempt=attempt, state__in=RUNNING, awaits="bots")
    match = row.first()
    if match is None or not row.update(sent_at=timezone.now(), heard_at=None):
        return False
    logger.info("answers handed back match=%s attempt=%s", code, attempt)
    transaction.on_commit(lambda: _ask_bots(match.pk), robust=True)
    return True


def enforce_clocks() -> int:
    """Have everybody leave whose time is over, and send again what got lost of what came in time; return how many left.

    Meant to run every second. A person who never came is one whose time for his first decision is over.
    """
    now = timezone.now()
    _let_stand(now)
    tables = _tables_with_running_clocks()
    silent_since = now - timedelta(seconds=ASKED_AGAIN_S)
    # Not every second: where no worker comes for long they would all find the same in line.
    silent = tables.filter(asked_at__lt=silent_since, sent_at__lt=silent_since)
    for pk in list(silent.values_list("pk", flat=True)):
        if silent.filter(pk=pk).update(sent_at=now):
            _send_asked(pk)
    return sum(_end_time(match, now) for match in tables.filter(asked_at=None, deadline_at__lte=now))


def _tables_with_running_clocks() -> QuerySet[Match]:
    return Match.objects.filter(kind=Kind.TABLE, state=State.PLAYING, awaits="person", deadline_at__isnull=False)


def _end_time(match: Match, now: datetime) -> bool:
    """Ask for the end of the time of the person for whom a table waits; False if his move has come after all."""
    decision = fold(match, moves_of(match), match.faults).decision
    if decision is None:
        return False
    action = {"do": "leave", "seat": decision.seat, "id": decision.id, "move": ""}
    row = Match.objects.filter(pk=match.pk, attempt=match.attempt, state=State.PLAYING, asked_at=None)
    if not row.filter(deadline_at__lte=now).update(asked=action, asked_at=now):
        return False
    logger.info("time ran out match=%s seat=%d decision=%d", match.code, decision.seat, decision.id)
    transaction.on_commit(lambda: _send_asked(match.pk), robust=True)
    return True


def _let_stand(now: datetime) -> None:
    """Move deadlines on by the time for which the site was asleep: nobody's move could come then."""
    before = cache.get(SWEPT_KEY)
    cache.set(SWEPT_KEY, now, timeout=None)
    tables = _tables_with_running_clocks()
    if before is None:
        least = now + timedelta(seconds=AWOKEN_S)
        moved = tables.filter(deadline_at__lt=least).update(deadline_at=least)
    elif (asleep := now - before) > timedelta(seconds=ASLEEP_S):
        moved = tables.update(deadline_at=F("deadline_at") + asleep, moved_at=F("moved_at") + asleep)
    else:
        return
    if moved:
        note("asleep", "tables", f"{moved} clocks stood still")


def sweep_tables() -> dict[str, int]:
    """Send again what has waited too long for an answer, and give up tables at which nothing happens any more."""
    return {"unanswered": _send_unanswered(), "idle": _void_idle()}


def _send_unanswered() -> int:
    silent_since = timezone.now() - timedelta(seconds=settings.HEARTBEAT_LOST_S)
    waiting = Match.objects.filter(kind=Kind.TABLE, state__in=RUNNING, awaits__in=("seating", "bots"))
    count = 0
    for match in waiting.annotate(last=Coalesce("heard_at", "sent_at")).filter(last__lt=silent_since):
        row = Match.objects.filter(pk=match.pk, attempt=match.attempt, awaits=match.awaits, sent_at=match.sent_at)
        if row.update(sent_at=timezone.now(), heard_at=None):
            note("unanswered", match.code, match.awaits)
            (_send_opening if match.awaits == "seating" else _ask_bots)(match.pk)
            count += 1
    return count


def _void_idle() -> int:
    since = timezone.now() - timedelta(seconds=settings.TABLE_IDLE_S)
    tables = Match.objects.filter(kind=Kind.TABLE, state__in=RUNNING).annotate(last=Coalesce("moved_at", "created_at"))
    # Where people have clocks these say how long one may think.
    tables = tables.exclude(awaits="person", deadline_at__isnull=False)
    # Read again in the update: a decision may come in between.
    still = Q(moved_at__lt=since) | Q(moved_at=None, created_at__lt=since)
    return sum(void_match(pk, "idle", only=still) for pk in tables.filter(last__lt=since).values_list("pk", flat=True))
