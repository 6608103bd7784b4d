"""Hold a ladder's rounds when they are due: who meets whom, and the rows of their matches.

A round is claimed by a conditional update and laid in the same transaction, so that two ticks
never hold one round twice and a failed one is held by the next tick. Rounds that were missed
are skipped. Nothing here plays a match: the dispatcher finds the rows.

No round waits for the one before. An entry is free while fewer of its pairings than the ladder's
`max_pending` are still to be played; whoever is in a long match is left out of rounds until it ends,
and nobody else is. So there are never more pairings to be played than entries times `max_pending`
divided by the seats, however long no worker comes.
"""

import logging
import secrets
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import Combinable, CombinedExpression
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from bots.models import BotVersion
from bots.switches import pause_note
from bots.versions import playable_versions, playing
from games.clocks import Clocks
from games.engine import commitment
from games.matches import create_match, create_set, draw_seed
from games.models import Match, Seat
from games.tables import RUNNING, TableRefused, hold_people, open_ranked, sitting
from ladder import registration
from ladder.history import running
from ladder.models import Entry, Ladder, PairedEntry, PairedMatch, Pairing, Round
from ladder.notices import announce
from ladder.pairing.ladder import Contender, accounts, are_repeats, pair
from ladder.schedule import next_due

logger = logging.getLogger(__name__)

# The opponents of so many of an entry's last pairings count as "lately met".
RECENT_PAIRINGS = 5
# While a ladder's matches wait for a worker, those who would only meet the same again may wait so many rounds for
# others to be free.
PATIENCE = 3


class NotHeld(Exception):
    """No round now; the text is a sentence that says why."""


class Player(NamedTuple):
    """Who can be paired now: an entry, the version that plays for it (None: a person), its pairings to be played."""

    entry: Entry
    version: BotVersion | None
    pending: int


def due_ladders() -> list[int]:
    """Return the ladders that are due for a round, longest due first. None while `rounds` is paused."""
    if pause_note("rounds") is not None:
        return []
    due = Ladder.objects.filter(_is_due(timezone.now()))
    return list(due.order_by(F("next_round_at").asc(nulls_first=True), "pk").values_list("pk", flat=True))


def hold_due(ladder_id: int) -> bool:
    """Claim this ladder's due round and hold it; False if another tick did, or there was nothing to hold."""
    now = timezone.now()
    ladder = Ladder.objects.filter(_is_due(now), pk=ladder_id).first()
    if ladder is None:
        return False
    with transaction.atomic():
        claimed = Ladder.objects.filter(pk=ladder_id, state=Ladder.State.RUNNING, next_round_at=ladder.next_round_at)
        if claimed.update(next_round_at=next_due(ladder, now)) != 1:
            return False
        if ladder.next_round_at is None and ladder.schedule == Ladder.Schedule.WEEKLY:
            return False  # When its first round is due is only now known.
        return hold_round(ladder_id) is not None


def hold_round(ladder_id: int) -> Round | None:
    """Hold a round of this ladder now, due or not. None, and a line in the log, if there is nothing to hold."""
    try:
        return try_round(ladder_id)
    except NotHeld as reason:
        logger.info("no round ladder=%s reason=%r", ladder_id, str(reason))
        return None


def try_round(ladder_id: int) -> Round:
    """Hold a round of this ladder now: its pairings and matches, in one transaction.

    Raises:
        NotHeld: the ladder is not running, or too few entries can play.
    """
    with transaction.atomic():
        ladder = Ladder.objects.select_for_update(no_key=True).get(pk=ladder_id)
        if ladder.state != Ladder.State.RUNNING:
            raise NotHeld(_("This ladder is %(state)s.") % {"state": ladder.get_state_display()})
        _lock_people(ladder)
        players = {one.entry.pk: one for one in free_players(ladder)}
        contenders = _contenders(ladder, players.values())
        tables = _tables(ladder, contenders)
        held = _create_round(ladder)
        seated = _create_pairings(held, ladder, [[players[pk] for pk in table] for table in tables])
        if not seated:
            raise NotHeld(_("Those who were to play have sat down at other tables meanwhile."))
        _keep_line(ladder, contenders, seated)
        transaction.on_commit(lambda: announce(ladder.slug), robust=True)
    logger.info("round held ladder=%s number=%d pairings=%d", ladder.slug, held.number, len(seated))
    return held


def _is_due(now: datetime) -> Q:
    is_time = Q(next_round_at=None) | Q(next_round_at__lte=now)
    return Q(is_time, Q(ends_at=None) | Q(ends_at__gt=now), state=Ladder.State.RUNNING)


# Who can play


def free_players(ladder: Ladder) -> list[Player]:
    """Return who can be paired now: bots that are not busy and may play, people who are ready and sit nowhere.

    People do not wait until bots are free: where these are too few for a table, busy ones come too, since at a table
    they play beside whatever waits in line for a worker.
    """
    bots, people = _active_bots(ladder), _ready_people(ladder)
    free = [one for one in bots if one.pending < ladder.max_pending]
    own = {one.entry.user_id for one in people}
    # Nobody sits down with a bot of his own; where busy ones come, those wait, or a busy one would be called for them.
    others = [one for one in free if one.entry.owner_id not in own]
    # To the last person; so no table is of busy bots alone.
    missing = -len(people) % ladder.seats - len(others)
    if not people or missing <= 0:
        return free + people
    busy = [one for one in bots if one.pending >= ladder.max_pending and one.entry.owner_id not in own]
    return others + sorted(busy, key=lambda one: (one.pending, one.entry.waits, one.entry.pk))[:missing] + people


def able_count(ladder: str) -> CombinedExpression:
    """Return for rows that name a ladder in `ladder` how many of different owners can play there, busy or not.

    No more of them sit at a table: a house bot counts by itself, as in `Contender.group`. As for `free_players`, a bot
    can play if a version of it plays, a person while he is ready and sits nowhere.
    """
    return _able_bots(ladder) + _able_people(ladder)


def able_now(ladder: Ladder) -> int:
    """Return of how many different owners entries can play in a ladder now, see `able_count`. One query."""
    # To put together what nobody can be there for takes as long as the rest.
    able = {Ladder.Entrants.BOTS: _able_bots, Ladder.Entrants.PEOPLE: _able_people}
    count = able.get(Ladder.Entrants(ladder.entrants), able_count)("pk")
    found: int = Ladder.objects.values_list(count, flat=True).get(pk=ladder.pk)
    return found


def _able_bots(ladder: str) -> Coalesce:
    able = _playing_bots().filter(ladder=OuterRef(ladder))
    return _count(able, Coalesce(F("bot__owner"), -F("pk")))


def _able_people(ladder: str) -> Coalesce:
    # Who has a bot there is counted by it.
    own = _playing_bots().filter(ladder=OuterRef("ladder"), bot__owner=OuterRef("user"))
    able = Entry.objects.filter(_is_ready(), ~Exists(_SITS), ~Exists(own), state=Entry.State.ACTIVE)
    return _count(able.filter(ladder=OuterRef(ladder)), F("user"))


def _playing_bots() -> QuerySet[Entry]:
    return Entry.objects.filter(Exists(playing("bot")), state=Entry.State.ACTIVE)


def _count(entries: QuerySet[Entry], owner: Combinable) -> Coalesce:
    counted = entries.order_by().values("ladder").annotate(owners=Count(owner, distinct=True))
    return Coalesce(Subquery(counted.values("owners"), output_field=IntegerField()), 0)


# The seats of the entry's person that keep him from another table: of a rated one he may have left, see `User.table`.
_SITS = Seat.objects.filter(
    Q(user__table=F("match__code")) | Q(match__paired=None),
    user=OuterRef("user"),
    match__kind=Match.Kind.TABLE,
    match__state__in=RUNNING,
)


def _is_ready() -> Q:
    return Q(user__is_active=True, ready_until__gt=timezone.now())


def _active_bots(ladder: Ladder) -> list[Player]:
    pending = pending_pairings(ladder)
    active = ladder.entries.filter(state=Entry.State.ACTIVE, bot__isnull=False).select_related("bot").order_by("pk")
    entries = list(active)
    versions = playable_versions([entry.bot_id for entry in entries if entry.bot_id])
    found: list[Player] = []
    for entry in entries:
        if entry.bot is not None and entry.bot.pk in versions:
            version = versions[entry.bot.pk]
            version.bot = entry.bot  # known already; saves a query each
            found.append(Player(entry, version, pending.get(entry.pk, 0)))
    return found


def pending_pairings(ladder: Ladder) -> dict[int, int]:
    """Return by entry how many of its pairings workers are still to play, or playing. One query.

    People's tables are none of them: a bot there must not miss rounds for as long as a person thinks. An entry whose
    match is only still being shown has played it, and may play on.
    """
    unplayed = PairedMatch.objects.filter(pairing=OuterRef("pairing"), match__state__in=Match.UNPLAYED).exclude(
        match__kind=Match.Kind.TABLE
    )
    rows = PairedEntry.objects.filter(Exists(unplayed), pairing__ladder=ladder, pairing__state=Pairing.State.PLAYING)
    return dict(rows.order_by().values_list("entry").annotate(Count("pk")))


def _lock_people(ladder: Ladder) -> None:
    """Hold the accounts of all who are ready, in one order, before anybody is looked at.

    Of two ladders that want the same people at once the second waits for the first, and then finds who is left. Table
    by table each would come to wait for a table of the other's.
    """
    hold_people(_ready(ladder).order_by().values("user"))


def _ready(ladder: Ladder) -> QuerySet[Entry]:
    return ladder.entries.filter(_is_ready(), state=Entry.State.ACTIVE)


def _ready_people(ladder: Ladder) -> list[Player]:
    people = list(_ready(ladder).select_related("user").order_by("pk"))
    busy = sitting([entry.user_id for entry in people if entry.user_id]) if people else set()
    return [Player(entry, None, 0) for entry in people if entry.user_id not in busy]


def _contenders(ladder: Ladder, players: Iterable[Player]) -> list[Contender]:
    known = list(players)
    recent = _recent(ladder, [one.entry.pk for one in known])
    by_fit = ladder.ranked_by == Ladder.RankedBy.FIT
    return [
        Contender(
            entry=entry.pk,
            rating=entry.strength if by_fit and entry.strength is not None else entry.rating,
            owner=entry.owner_id,
            met=entry.pairings + pending,
            recent=tuple(recent[entry.pk]),
            byes=entry.byes,
            waited=entry.waits,
            sat=tuple(entry.seats_taken),
        )
        for entry, _version, pending in known
    ]


def _recent(ladder: Ladder, entries: Sequence[int]) -> dict[int, list[int]]:
    """Return by entry whom it met in its last pairings, newest first. Two queries.

    They are looked for among the ladder's last pairings, twice as many as were needed if all had played alike.
    """
    window = 2 * RECENT_PAIRINGS * (len(entries) // ladder.seats + 1)
    last = list(Pairing.objects.filter(ladder=ladder).order_by("-pk").values_list("pk", flat=True)[:window])
    if not last:
        return defaultdict(list)
    rows = PairedEntry.objects.filter(pairing__ladder=ladder, pairing__gte=last[-1]).order_by("-pairing")
    tables: dict[int, list[int]] = defaultdict(list)
    for pairing_id, entry_id in rows.values_list("pairing_id", "entry_id"):
        tables[pairing_id].append(entry_id)
    met: dict[int, list[int]] = defaultdict(list)
    count: dict[int, int] = defaultdict(int)
    for table in tables.values():
        for entry_id in table:
            count[entry_id] += 1
            if count[entry_id] <= RECENT_PAIRINGS:
                met[entry_id] += [other for other in table if other != entry_id]
    return met


# Who meets whom


def _tables(ladder: Ladder, contenders: Sequence[Contender]) -> list[tuple[int, ...]]:
    """Return who meets whom, in the order of their seats, by lots that nobody can foresee. Raises NotHeld.

    Whoever could work the lots out beforehand would pause and resume his entries until the next opponents suit him.
    """
    tables = pair(contenders, seats=ladder.seats, seed=secrets.token_hex(16))
    if not tables:
        raise NotHeld(
            _("Too few entries can play now: a match needs %(seats)d of different owners, and there are %(count)d.")
            % {"seats": ladder.seats, "count": len({one.group for one in contenders})}
        )
    fresh = _fresh(ladder, tables, {one.entry: one for one in contenders})
    if not fresh:
        raise NotHeld(_("Those who can play have only just met; the others' matches still wait for a worker."))
    return fresh


def _fresh(ladder: Ladder, tables: list[tuple[int, ...]], contenders: Mapping[int, Contender]) -> list[tuple[int, ...]]:
    """Return the tables without those that had better wait for others to be free.

    Where workers are slow two entries whose match has just ended would else meet again and again, for nobody but
    each other is free. Their next match could not be played yet anyway.
    """
    waiting = Match.objects.filter(
        paired__ladder=ladder, paired__pairing__state=Pairing.State.PLAYING, state=Match.State.WAITING
    )
    stale = [table for table in tables if are_repeats([contenders[entry] for entry in table])]
    if not stale or not waiting.exists():
        return tables
    patient = {table for table in stale if all(contenders[entry].waited < PATIENCE for entry in table)}
    return [table for table in tables if table not in patient]


def _create_round(ladder: Ladder) -> Round:
    number = ladder.rounds + 1
    Ladder.objects.filter(pk=ladder.pk).update(rounds=number)
    return Round.objects.create(ladder=ladder, number=number)


def _choose_showcase(ladder: Ladder, tables: list[list[Player]]) -> list[Player] | None:
    """Return the table that people will watch card by card, if any: the strongest.

    A show is rated when it ends, minutes later; so none where it would be all that a newcomer
    waits for, and one at a time. A table of people is live as it is.
    """
    if not ladder.has_showcase or (ladder.rounds == 0 and len(tables) == 1):
        return None
    if Match.objects.filter(running(ladder), is_showcase=True).exists():
        return None
    of_bots = [table for table in tables if not _has_people(table)]
    return max(of_bots, key=lambda table: sum(one.entry.rating for one in table), default=None)


def _has_people(table: Iterable[Player]) -> bool:
    return any(one.version is None for one in table)


# Rows


def _create_pairings(held: Round, ladder: Ladder, tables: list[list[Player]]) -> list[list[Player]]:
    """Make the rows of every table and return those that were made: a person may have sat down elsewhere meanwhile."""
    showcase = _choose_showcase(ladder, tables)
    seated = []
    for table in tables:
        try:
            with transaction.atomic():
                _create_pairing(held, ladder, table, is_showcase=table is showcase)
        except TableRefused as reason:
            logger.info("no table ladder=%s reason=%r", ladder.slug, str(reason))
        else:
            seated.append(table)
    return seated


def _create_pairing(held: Round, ladder: Ladder, table: Sequence[Player], *, is_showcase: bool) -> None:
    seed = draw_seed()
    pairing = Pairing.objects.create(round=held, ladder=ladder, commitment=commitment(seed))
    PairedEntry.objects.bulk_create(
        PairedEntry(pairing=pairing, entry=one.entry, entrant=entrant, version=one.version)
        for entrant, one in enumerate(table)
    )
    matches = _create_matches(ladder, table, seed=seed, is_showcase=is_showcase)
    PairedMatch.objects.bulk_create(
        PairedMatch(pairing=pairing, match=match, ladder=ladder, rotation=rotation)
        for rotation, match in enumerate(matches)
    )


def _create_matches(ladder: Ladder, table: Sequence[Player], *, seed: bytes, is_showcase: bool) -> list[Match]:
    """Make what a pairing plays, on the ladder's clocks: a duplicate set, a match, or people's table.

    A table does not wait for a worker with the bots' matches, and its seats are drawn.

    Raises:
        TableRefused: a person sits at a table already.
    """
    shared: dict[str, Any] = {
        "rules": ladder.rules,
        "entrants": [_entrant(one) for one in table],
        "share": _share(ladder),
        "server_seed": seed,
        "limits": {"move_s": ladder.move_s, "bank_s": ladder.bank_s},
    }
    if _has_people(table):
        return [open_ranked(clocks=Clocks(ladder.person_move_s, ladder.person_bank_s), **shared)]
    if ladder.unit == Ladder.Unit.SET:
        return create_set(is_showcase=is_showcase, **shared)
    return [create_match(kind=Match.Kind.RANKED, seating="fixed", is_showcase=is_showcase, **shared)]


def _share(ladder: Ladder) -> str:
    """Return whose part of the workers a ladder's matches take: its own, but one for all ladders of an organiser.

    Or whoever may create ladders could take any part of the workers, by creating many.
    """
    if ladder.owner is None or ladder.owner.is_staff:
        return f"ladder:{ladder.pk}"
    return f"organiser:{ladder.owner.pk}"


def _entrant(player: Player) -> dict[str, Any]:
    if player.version is None:
        return {"name": player.entry.name, "user": player.entry.user}
    return {"name": player.entry.name, "version": player.version}


def _keep_line(ladder: Ladder, contenders: Sequence[Contender], seated: Sequence[Sequence[Player]]) -> None:
    """Note who has played and where, and who was left over: what the next rounds make good."""
    playing = {one.entry.pk for table in seated for one in table}
    by_account: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for entry, account in accounts(contenders, seats=ladder.seats).items():
        by_account[account, entry in playing].append(entry)
    for (account, plays), entries in by_account.items():
        rows = Entry.objects.filter(pk__in=entries)
        if plays:
            rows.update(byes=account, waits=0, paired_at=timezone.now())
        else:
            rows.update(byes=account + 1, waits=F("waits") + 1)
    if people := [one.entry.user_id for table in seated for one in table if one.entry.user_id]:
        registration.seat(people)
    if ladder.unit == Ladder.Unit.MATCH:
        _keep_seats(ladder, [table for table in seated if not _has_people(table)])


def _keep_seats(ladder: Ladder, tables: Iterable[Sequence[Player]]) -> None:
    changed = []
    for table in tables:
        for seat, one in enumerate(table):
            taken = one.entry.seats_taken or [0] * ladder.seats
            one.entry.seats_taken = [count + (seat == number) for number, count in enumerate(taken)]
            changed.append(one.entry)
    Entry.objects.bulk_update(changed, ["seats_taken"], batch_size=500)
