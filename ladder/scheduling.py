"""Hold a ladder's rounds when they are due: who meets whom, and the rows of their matches.

A round is claimed by a conditional update and laid in the same transaction, so that two ticks
never hold one round twice and a failed one is held by the next tick. Rounds that were missed
are skipped; the others keep their distance from the first, however late a tick comes. Nothing
here plays a match: the dispatcher finds the rows.
"""

import logging
from collections import defaultdict
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from bots.models import BotVersion
from bots.switches import pause_note
from bots.versions import playable_versions
from games.matches import create_match
from games.models import Match
from ladder.models import Entry, Ladder, PairedEntry, PairedMatch, Pairing, Round
from ladder.notices import announce
from ladder.pairing.ladder import Contender, pair

logger = logging.getLogger(__name__)

# How many of the ladder's last rounds count as "lately met".
RECENT_ROUNDS = 3
QUEUED = (Match.State.WAITING, Match.State.QUEUED)
# An entry whose match is only still being shown has played it, and may play on.
PLAYING = (*QUEUED, Match.State.OPEN, Match.State.PLAYING)


class NotHeld(Exception):
    """No round now; the text is a sentence that says why."""


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
        after = next_due(ladder.next_round_at, round_s=ladder.round_s, now=now)
        claimed = Ladder.objects.filter(pk=ladder_id, state=Ladder.State.RUNNING, next_round_at=ladder.next_round_at)
        if claimed.update(next_round_at=after) != 1:
            return False
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
        NotHeld: the ladder is closed, its last rounds still wait for a worker, or too few entries can play.
    """
    with transaction.atomic():
        ladder = Ladder.objects.select_for_update().get(pk=ladder_id)
        _check_ready(ladder)
        versions = _free_versions(ladder)
        tables = _tables(ladder, versions)
        held = _create_round(ladder)
        showcase = _choose_showcase(ladder, tables)
        for table in tables:
            _create_pairing(held, ladder, table, versions, is_showcase=table is showcase)
        transaction.on_commit(lambda: announce(ladder.slug), robust=True)
    logger.info("round held ladder=%s number=%d pairings=%d", ladder.slug, held.number, len(tables))
    return held


def next_due(seen: datetime | None, *, round_s: int, now: datetime) -> datetime:
    """Return when the round after the one due at `seen` is due: the first later than `now` on the same beat."""
    step = timedelta(seconds=round_s)
    if seen is None or seen > now:
        return now + step
    return seen + step * ((now - seen) // step + 1)


def _is_due(now: datetime) -> Q:
    return Q(Q(next_round_at=None) | Q(next_round_at__lte=now), state=Ladder.State.RUNNING)


def _check_ready(ladder: Ladder) -> None:
    if ladder.state != Ladder.State.RUNNING:
        raise NotHeld(_("This ladder is %(state)s.") % {"state": ladder.get_state_display()})
    waiting = Match.objects.filter(paired__pairing__ladder=ladder, paired__pairing__state=Pairing.State.PLAYING)
    if count := waiting.filter(state__in=QUEUED).count():
        text = ngettext(
            "%(count)d match of the last rounds still waits for a worker.",
            "%(count)d matches of the last rounds still wait for a worker.",
            count,
        )
        raise NotHeld(text % {"count": count})


def _free_versions(ladder: Ladder) -> dict[Entry, BotVersion]:
    """Return the entries that can play now, each with the version that will."""
    busy = PairedEntry.objects.filter(
        pairing__ladder=ladder,
        pairing__state=Pairing.State.PLAYING,
        pairing__paired_matches__match__state__in=PLAYING,
    )
    entries = ladder.entries.filter(state=Entry.State.ACTIVE, bot__isnull=False).select_related("bot")
    free = list(entries.exclude(pk__in=busy.values("entry")).order_by("pk"))
    versions = playable_versions([entry.bot_id for entry in free if entry.bot_id])
    return {entry: versions[entry.bot_id] for entry in free if entry.bot_id in versions}


def _tables(ladder: Ladder, versions: dict[Entry, BotVersion]) -> list[list[Entry]]:
    """Return who meets whom. Raises NotHeld."""
    recent = _recent(ladder)
    by_id = {entry.pk: entry for entry in versions}
    contenders = [
        Contender(entry.pk, entry.rating, entry.pairings, entry.owner_id, tuple(recent[entry.pk])) for entry in versions
    ]
    tables = pair(contenders, seats=ladder.seats, seed=f"{ladder.pk}/{ladder.rounds + 1}")
    if not tables:
        raise NotHeld(
            _("Too few entries can play now: a match needs %(seats)d of different owners, and there are %(count)d.")
            % {"seats": ladder.seats, "count": len(contenders)}
        )
    return [[by_id[pk] for pk in table] for table in tables]


def _recent(ladder: Ladder) -> dict[int, list[int]]:
    """Return by entry whom it met in the ladder's last rounds, newest first."""
    rows = PairedEntry.objects.filter(
        pairing__ladder=ladder, pairing__round__number__gt=ladder.rounds - RECENT_ROUNDS
    ).order_by("-pairing")
    tables: dict[int, list[int]] = defaultdict(list)
    for pairing_id, entry_id in rows.values_list("pairing_id", "entry_id"):
        tables[pairing_id].append(entry_id)
    met: dict[int, list[int]] = defaultdict(list)
    for table in tables.values():
        for entry_id in table:
            met[entry_id] += [other for other in table if other != entry_id]
    return met


def _create_round(ladder: Ladder) -> Round:
    number = ladder.rounds + 1
    Ladder.objects.filter(pk=ladder.pk).update(rounds=number)
    return Round.objects.create(ladder=ladder, number=number)


def _choose_showcase(ladder: Ladder, tables: list[list[Entry]]) -> list[Entry] | None:
    """Return the table that people will watch card by card, if any: the strongest.

    A show is rated when it ends, minutes later; so none where it would be all that a newcomer
    waits for, and one at a time.
    """
    if not ladder.has_showcase or (ladder.rounds == 0 and len(tables) == 1):
        return None
    showing = Match.objects.filter(
        paired__pairing__ladder=ladder, paired__pairing__state=Pairing.State.PLAYING, is_showcase=True
    )
    if showing.filter(state__in=Match.UNFINISHED).exists():
        return None
    return max(tables, key=lambda table: sum(entry.rating for entry in table))


def _create_pairing(
    held: Round, ladder: Ladder, table: list[Entry], versions: dict[Entry, BotVersion], *, is_showcase: bool
) -> None:
    pairing = Pairing.objects.create(round=held, ladder=ladder)
    PairedEntry.objects.bulk_create(
        PairedEntry(pairing=pairing, entry=entry, entrant=entrant) for entrant, entry in enumerate(table)
    )
    for entry in table:
        if entry.bot:
            versions[entry].bot = entry.bot  # known already; saves a query each
    entrants: list[dict[str, Any]] = [{"name": entry.name, "version": versions[entry]} for entry in table]
    match = create_match(
        kind=Match.Kind.RANKED,
        rules=ladder.rules,
        entrants=entrants,
        share=f"ladder:{ladder.pk}",
        is_showcase=is_showcase,
    )
    PairedMatch.objects.create(pairing=pairing, match=match, ladder=ladder)
