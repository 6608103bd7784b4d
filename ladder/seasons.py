"""A ladder's life: announced, open for registration, running, frozen, closed; and the season after it.

Nothing else moves `Ladder.state`. Each move is a conditional update, so that of two ticks one makes it, and leaves a
line in the ladder's events. What a frozen ladder still has to do is done step by step, each of which may be broken off
anywhere and is taken up again by the next tick: wait for what is being played, end what does not end, rate, fit, and
then, in one transaction, write the final ranks, close, and create the next season.
"""

import logging
import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from bots.versions import playable_versions
from games.finish import finish_show, void_match
from games.models import Match
from ladder import fits, ratings
from ladder.models import Entry, Ladder, LadderEvent, Pairing
from ladder.notices import announce
from ladder.standings import Standings

logger = logging.getLogger(__name__)

State = Ladder.State
# So long may what is being played go on after the last round; people's tables too.
GRACE = timedelta(minutes=10)
# From where a ladder may come into a state, and what the move is called in its events.
MOVES: dict[str, tuple[tuple[State, ...], str]] = {
    State.OPEN: ((State.ANNOUNCED,), "opened"),
    State.RUNNING: ((State.ANNOUNCED, State.OPEN), "started"),
    State.FROZEN: ((State.ANNOUNCED, State.OPEN, State.RUNNING), "frozen"),
    State.CLOSED: ((State.FROZEN,), "closed"),
}
# What a season does not have from the one before.
OWN = frozenset({
    "id", "name", "slug", "state", "season", "previous", "registration_from", "registration_until", "starts_at",
    "ends_at", "frozen_at", "next_round_at", "rounds", "rated", "replays",
})  # fmt: skip
LONGEST_NAME = 60


class NotMoved(Exception):
    """The ladder stays in its state; the text is a sentence that says why."""


# By hand


def open_registration(ladder: Ladder, *, by: Any, reason: str = "") -> None:
    """Open an announced ladder for registration. Raises NotMoved."""
    _move_by_hand(ladder, State.OPEN, by=by, reason=reason)


def start(ladder: Ladder, *, by: Any, reason: str = "") -> None:
    """Have rounds held from now on. Raises NotMoved."""
    _move_by_hand(ladder, State.RUNNING, by=by, reason=reason)


def freeze(ladder: Ladder, *, by: Any, reason: str = "") -> None:
    """Hold no more rounds; once what is being played has ended the standings are final. Raises NotMoved."""
    _move_by_hand(ladder, State.FROZEN, by=by, reason=reason)


def _move_by_hand(ladder: Ladder, to: State, *, by: Any, reason: str) -> None:
    if not _move(ladder.pk, to, by=by, reason=reason):
        ladder.refresh_from_db(fields=["state"])
        raise NotMoved(
            _("Nothing was changed: %(ladder)s is %(state)s.") % {"ladder": ladder, "state": ladder.get_state_display()}
        )
    ladder.refresh_from_db()


# By the clock


def due(now: datetime | None = None) -> list[int]:
    """Return the ladders that are to be moved on now, or are frozen and have still to be closed."""
    now = now or timezone.now()
    return list(Ladder.objects.filter(_is_due(now)).order_by("pk").values_list("pk", flat=True))


def _is_due(now: datetime) -> Q:
    return (
        Q(state=State.ANNOUNCED, registration_from__lte=now)
        | Q(state__in=MOVES[State.RUNNING][0], starts_at__lte=now)
        | Q(state__in=MOVES[State.FROZEN][0], ends_at__lte=now)
        | Q(state=State.FROZEN)
    )


def advance(ladder_id: int) -> bool:
    """Make whatever moves are due of this ladder, one after another; False if there is none that can be made now."""
    has_moved = False
    while (ladder := Ladder.objects.filter(_is_due(timezone.now()), pk=ladder_id).first()) and _advance(ladder):
        has_moved = True
    return has_moved


def _advance(ladder: Ladder) -> bool:
    """Make the one move that is due; False if somebody else did, or it has to wait."""
    now = timezone.now()
    if ladder.state == State.FROZEN:
        return _conclude(ladder)
    if ladder.ends_at is not None and ladder.ends_at <= now:
        return _move(ladder.pk, State.FROZEN)
    if ladder.starts_at is not None and ladder.starts_at <= now:
        return _move(ladder.pk, State.RUNNING)
    return _move(ladder.pk, State.OPEN)


def _move(ladder_id: int, to: State, *, by: Any = None, reason: str = "", effect: dict[str, Any] | None = None) -> bool:
    """Move a ladder into a state, and say so in its events; False if it is not where one comes there from."""
    before, what = MOVES[to]
    stamp = {"frozen_at": timezone.now()} if to == State.FROZEN else {}
    with transaction.atomic():
        if not Ladder.objects.filter(pk=ladder_id, state__in=before).update(state=to, **stamp):
            return False
        ladder = Ladder.objects.get(pk=ladder_id)
        LadderEvent.objects.create(ladder=ladder, by=by, what=what, reason=reason, effect=effect or {})
        transaction.on_commit(lambda: announce(ladder.slug), robust=True)
    logger.info("ladder=%s state=%s by=%s", ladder.slug, to.value, by)
    return True


# The end


def _conclude(ladder: Ladder) -> bool:
    """Close a frozen ladder once nothing of it is unfinished or unrated; False as long as something is."""
    if not _all_ended(ladder) or not _all_rated(ladder):
        return False
    ladder.refresh_from_db()
    last = ladder.fits.first()
    if ladder.rated and (last is None or (last.number, last.replays) != (ladder.rated, ladder.replays)):
        fits.fit_ladder(ladder.pk)
    return _close(ladder.pk)


def grace(ladder: Ladder) -> timedelta:
    """Return how long what is being played may go on once a ladder is frozen.

    Longer than a person can think about one decision: by doing nothing nobody makes a lost game a void one.
    """
    if ladder.entrants == Ladder.Entrants.BOTS:
        return GRACE
    return max(GRACE, 2 * timedelta(seconds=ladder.person_move_s + ladder.person_bank_s))


def _all_ended(ladder: Ladder) -> bool:
    """Tell whether every match has ended; when the time is up those that have not are ended."""
    unfinished = Match.objects.filter(paired__ladder=ladder, state__in=Match.UNFINISHED)
    now = timezone.now()
    if ladder.frozen_at is None:
        # It was frozen before that was kept.
        Ladder.objects.filter(pk=ladder.pk, frozen_at=None).update(frozen_at=now)
    if now >= (ladder.frozen_at or now) + grace(ladder):
        _end(unfinished.exclude(state__in=(Match.State.SHOWING, Match.State.SEALED)).order_by("pk"))
        # What was played counts. The sealed ones of a set are opened with its last, or by the sweep.
        for pk in list(unfinished.filter(state=Match.State.SHOWING).values_list("pk", flat=True)):
            finish_show(pk)
    return not unfinished.exists()


def _end(matches: Iterable[Match]) -> None:
    for match in matches:
        if void_match(match.pk, "season"):
            logger.info("match timed out match=%s", match.code)


def _all_rated(ladder: Ladder) -> bool:
    """Have rated what has ended and was not yet; True if nothing is left."""
    playing = ladder.pairings.filter(state=Pairing.State.PLAYING)
    for pk in list(playing.order_by("pk").values_list("pk", flat=True)):
        ratings.rate(pk)
    return not playing.exists()


def _close(ladder_id: int) -> bool:
    """Write the final ranks, close the ladder and create the next season, all at once; False if somebody else did."""
    with transaction.atomic():
        # Nothing of it can be rated or judged meanwhile.
        ladder = Ladder.objects.select_for_update(no_key=True).get(pk=ladder_id)
        if not _move(ladder_id, State.CLOSED, effect={"rated": ladder.rated}):
            return False
        ladder.hold_entries()
        ranked = final_ranks(ladder)
        Entry.objects.bulk_update(ranked, ["final_rank"], batch_size=500)
        if ladder.renews_days:
            create_next(ladder)
    return True


def final_ranks(ladder: Ladder) -> list[Entry]:
    """Return the entries that stand in a ladder, each with its `final_rank`.

    Those of which too little is known to be ranked come after all others, in the order of the standings.
    """
    entries = Standings(ladder, anew=True)[:]
    ranked = [entry for entry in entries if entry.rank is not None]
    for entry in ranked:
        entry.final_rank = entry.rank
    others = [entry for entry in entries if entry.rank is None]
    for place, entry in enumerate(others, len(ranked) + 1):
        entry.final_rank = place
    return ranked + others


# The next season


def create_next(ladder: Ladder) -> Ladder:
    """Create the season that follows a ladder, with its settings and whoever still plays in it; announced.

    It begins where the last one ended, or now if that would already be over.
    """
    number = (ladder.season or 1) + 1
    kept = [field.attname for field in Ladder._meta.concrete_fields if field.name not in OWN]
    name, slug = _name(ladder, number)
    following = Ladder.objects.create(
        **{column: getattr(ladder, column) for column in kept},
        **_dates(ladder, timezone.now()),
        name=name,
        slug=slug,
        season=number,
        previous=ladder,
        state=State.ANNOUNCED,
    )
    Ladder.objects.filter(pk=ladder.pk, season=None).update(season=1)
    count = _carry_over(ladder, following)
    effect = {"previous": ladder.slug, "entries": count}
    LadderEvent.objects.create(ladder=following, what="created", effect=effect)
    logger.info("season created ladder=%s entries=%d", following.slug, count)
    return following


def _dates(ladder: Ladder, now: datetime) -> dict[str, datetime | None]:
    length = timedelta(days=ladder.renews_days or 0)
    ended = ladder.ends_at
    starts = ended if ended is not None and ended <= now < ended + length else now
    dates: dict[str, datetime | None] = {"starts_at": starts, "ends_at": starts + length}
    for name in ("registration_from", "registration_until"):
        before: datetime | None = getattr(ladder, name)
        # As long before or after the start as it was; where nobody knows when it started there was no window.
        is_known = before is not None and ladder.starts_at is not None
        dates[name] = starts + (before - ladder.starts_at) if is_known else None  # type: ignore[operator]
    return dates


def _name(ladder: Ladder, number: int) -> tuple[str, str]:
    """Return the name and the slug of the season `number`, which nobody has yet."""
    name, slug = (re.sub(r"(, season |-season-)\d+(-\d+)?$", "", text) for text in (ladder.name, ladder.slug))
    for attempt in range(1, 1000):
        again = "" if attempt == 1 else f"-{attempt}"
        ends = f", season {number}{again}", f"-season-{number}{again}"
        found = name[: LONGEST_NAME - len(ends[0])] + ends[0], slug[: LONGEST_NAME - len(ends[1])] + ends[1]
        if not Ladder.objects.filter(Q(name=found[0]) | Q(slug=found[1])).exists():
            return found
    raise RuntimeError(f"expected a name that is free: {ladder.slug}")


def carried(ladder: Ladder, entry: Entry) -> float:
    """Return the rating with which an entry of this ladder begins in the season after it."""
    return ladder.initial_rating + ladder.carry * (entry.rating - ladder.initial_rating)


def _carry_over(ladder: Ladder, following: Ladder) -> int:
    """Enter who was active and may still play, each so far from the initial rating as the ladder lets it be."""
    active = list(ladder.entries.filter(state=Entry.State.ACTIVE).select_related("user").order_by("pk"))
    playable = playable_versions([entry.bot_id for entry in active if entry.bot_id])
    entries = []
    for entry in active:
        stays = entry.bot_id in playable if entry.bot_id else entry.user is not None and entry.user.is_active
        if stays:
            seed = carried(ladder, entry)
            entries.append(
                Entry(
                    ladder=following,
                    bot_id=entry.bot_id,
                    user_id=entry.user_id,
                    seed_rating=seed,
                    rating=seed,
                    anchor=entry.anchor,
                )
            )
    Entry.objects.bulk_create(entries)
    return len(entries)
