"""Judge a ladder: void a match, disqualify and reinstate, change what counts; with a preview, and on record.

Each deed is one transaction under the ladder's row lock: it changes what the log says, replays the log, and writes what
came of it into the ladder's events. A preview does the same and takes all of it back. Nothing here rates
by itself: every figure is what the replay gives.
"""

import logging
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils.translation import gettext as _

from games.finish import annul_match, void_match
from games.models import Match
from ladder import fits, seasons
from ladder.models import Entry, Ladder, LadderEvent, PairedMatch
from ladder.notices import announce
from ladder.replay import Replay, rewritten

logger = logging.getLogger(__name__)

K_MIN, K_MAX = 1.0, 200.0
SETTLED_MAX = 1000
CAP_MIN, CAP_MAX = 1.0, 1000.0
REASON_MAX = 280


class NotJudged(Exception):
    """Nothing was changed; the text is a sentence that says why."""


class Moved(NamedTuple):
    """What a deed does to one entry. Ranks are by Elo rating, from 1; None for an entry that does not stand there."""

    entry: Entry
    before: float
    after: float
    rank_before: int | None
    rank_after: int | None


@dataclass(frozen=True)
class Verdict:
    """What a deed changes: entries that move, in the order of their ranks before, and pairings counted otherwise."""

    moved: list[Moved]
    pairings: int  # that count now and did not, or the other way round
    replayed: int  # pairings in the log

    @property
    def largest(self) -> float:
        """The largest change of a rating, in points."""
        return max((abs(one.after - one.before) for one in self.moved), default=0.0)

    @property
    def changed(self) -> int:
        """How many entries' ratings change."""
        return sum(one.after != one.before for one in self.moved)


class Deed(Protocol):
    """Something that may be done to a ladder. `what` is the kind of its event, `subject` to what it is done."""

    what: ClassVar[str]

    @property
    def subject(self) -> str:
        """Return its name."""

    def do(self, ladder: Ladder) -> dict[str, Any]:
        """Change what the log says and return what the event is to tell besides. NotJudged if it cannot be done."""


@dataclass(frozen=True)
class VoidMatch:
    """Take a match out of the count, finished or not; its pairing then counts for nothing."""

    match: Match
    what: ClassVar[str] = "voided"

    @property
    def subject(self) -> str:
        """The match's code."""
        return self.match.code

    def do(self, ladder: Ladder) -> dict[str, Any]:
        """Void it."""
        if not PairedMatch.objects.filter(ladder=ladder, match=self.match).exists():
            raise NotJudged(_("Match %(code)s is none of %(ladder)s.") % {"code": self.match.code, "ladder": ladder})
        if not (annul_match(self.match.pk) or void_match(self.match.pk, "operator")):
            raise NotJudged(_("Match %(code)s is void already.") % {"code": self.match.code})
        return {"match": self.match.code}


@dataclass(frozen=True)
class Disqualify:
    """Take an entry out, and out of the count every pairing that it took part in."""

    entry: Entry
    what: ClassVar[str] = "disqualified"

    @property
    def subject(self) -> str:
        """The entry's name."""
        return self.entry.name

    def do(self, ladder: Ladder) -> dict[str, Any]:
        """Disqualify it; the event remembers what it was."""
        entry = _own(ladder, self.entry)
        if entry.state == Entry.State.DISQUALIFIED:
            raise NotJudged(_("%(name)s is disqualified already.") % {"name": entry.name})
        Entry.objects.filter(pk=entry.pk).update(state=Entry.State.DISQUALIFIED, ready_until=None)
        return {"entry": entry.pk, "was": entry.state}


@dataclass(frozen=True)
class Reinstate:
    """Take a disqualification back: the entry is what it was, and its pairings count again."""

    entry: Entry
    what: ClassVar[str] = "reinstated"

    @property
    def subject(self) -> str:
        """The entry's name."""
        return self.entry.name

    def do(self, ladder: Ladder) -> dict[str, Any]:
        """Reinstate it as what it was before."""
        entry = _own(ladder, self.entry)
        if entry.state != Entry.State.DISQUALIFIED:
            raise NotJudged(_("%(name)s is not disqualified.") % {"name": entry.name})
        last = ladder.events.filter(what="disqualified", effect__entry=entry.pk).first()
        # Where nobody wrote down what it was, its owner may resume it.
        was = last.effect["was"] if last else Entry.State.PAUSED
        Entry.objects.filter(pk=entry.pk).update(state=was)
        return {"entry": entry.pk, "is": was}


@dataclass(frozen=True)
class ChangeK:
    """Let every pairing, from the first, count by other K; with `settled_after` None that stays as it is."""

    k_new: float
    k_settled: float
    settled_after: int | None = None
    what: ClassVar[str] = "changed"

    @property
    def subject(self) -> str:
        """What is changed."""
        return "K"

    def do(self, ladder: Ladder) -> dict[str, Any]:
        """Set it."""
        settled_after = ladder.settled_after if self.settled_after is None else self.settled_after
        for k in (self.k_new, self.k_settled):
            if not K_MIN <= k <= K_MAX:
                raise NotJudged(_("K must be from %(low)g to %(high)g: %(k)g.") % {"low": K_MIN, "high": K_MAX, "k": k})
        if not 0 <= settled_after <= SETTLED_MAX:
            text = _("An entry can be settled after 0 to %(high)d pairings: %(count)d.")
            raise NotJudged(text % {"high": SETTLED_MAX, "count": settled_after})
        return _set(ladder, k_new=self.k_new, k_settled=self.k_settled, settled_after=settled_after)


@dataclass(frozen=True)
class ChangeCap:
    """Bound what an entry may win or lose on balance against one other owner in a day; None: no bound."""

    daily_cap: float | None
    what: ClassVar[str] = "changed"

    @property
    def subject(self) -> str:
        """What is changed."""
        return "daily cap"

    def do(self, ladder: Ladder) -> dict[str, Any]:
        """Set it."""
        if self.daily_cap is not None and not CAP_MIN <= self.daily_cap <= CAP_MAX:
            text = _("A daily cap must be from %(low)g to %(high)g points, or none: %(cap)g.")
            raise NotJudged(text % {"low": CAP_MIN, "high": CAP_MAX, "cap": self.daily_cap})
        return _set(ladder, daily_cap=self.daily_cap)


def may_run(user: Any, ladder: Ladder) -> bool:
    """Tell whether a person may run this ladder: its owner, or an operator with the right."""
    return _is_owner(user, ladder) or _is_operator(user)


def may_judge(user: Any, ladder: Ladder) -> bool:
    """Tell whether a person may judge this ladder: its owner until it is closed, or an operator with the right."""
    return (_is_owner(user, ladder) and ladder.state != Ladder.State.CLOSED) or _is_operator(user)


def _is_owner(user: Any, ladder: Ladder) -> bool:
    return ladder.owner_id is not None and ladder.owner_id == user.pk


def _is_operator(user: Any) -> bool:
    return bool(user.is_active and user.is_staff and user.has_perm("ladder.change_ladder"))


def find_match(ladder: Ladder, code: str) -> Match:
    """Return a match of the ladder. NotJudged if it has none of this code."""
    # PostgreSQL takes no NUL, and no code holds a space.
    match = Match.objects.filter(code=code.replace("\0", " "), paired__ladder=ladder).first()
    if match is None:
        raise NotJudged(_("There is no match “%(code)s” in %(ladder)s.") % {"code": code[:40], "ladder": ladder})
    return match


def preview(ladder: Ladder, deed: Deed, *, tell: Callable[[int], None] | None = None) -> Verdict:
    """Return what a deed would change. Nothing is. NotJudged if it cannot be done.

    `tell` is called with how many pairings are replayed, now and then.
    """
    with transaction.atomic():
        verdict, _extra = _judge(ladder, deed, mends=False, tell=tell)
        transaction.set_rollback(True)
    return verdict


def apply(ladder: Ladder, deed: Deed, by: Any, reason: str, *, tell: Callable[[int], None] | None = None) -> Verdict:
    """Do it, replay the log, and write the event; return what it changed.

    `by` is who does it; None for whoever has a shell on the server. `tell` as in `preview`.

    Raises:
        PermissionDenied: the person may not judge this ladder.
        NotJudged: the ladder is closed, no reason is given, or the deed cannot be done.
    """
    if by is not None and not may_judge(by, ladder):
        if _is_owner(by, ladder):
            raise NotJudged(_("%(ladder)s is closed; only an operator can change it now.") % {"ladder": ladder})
        raise PermissionDenied("expected an operator, or the ladder's owner")
    reason = reason.strip()
    if not 0 < len(reason) <= REASON_MAX:
        raise NotJudged(_("Say why, in at most %(count)d characters: everybody can read it.") % {"count": REASON_MAX})
    with transaction.atomic():
        verdict, told = _judge(ladder, deed, mends=True, tell=tell)
        rewritten(ladder)
        if ladder.state == Ladder.State.CLOSED:
            _rank_anew(ladder)
        effect = told | {"changed": verdict.changed, "largest": verdict.largest, "pairings": verdict.pairings}
        LadderEvent.objects.create(
            ladder=ladder, by=by, what=deed.what, subject=deed.subject[:120], reason=reason, effect=effect
        )
        transaction.on_commit(lambda: announce(ladder.slug), robust=True)
    logger.info("judged ladder=%s what=%s subject=%s changed=%d", ladder.slug, deed.what, deed.subject, verdict.changed)
    return verdict


def _judge(
    ladder: Ladder, deed: Deed, *, mends: bool, tell: Callable[[int], None] | None
) -> tuple[Verdict, dict[str, Any]]:
    """Do a deed under the ladder's lock and replay the log; return what it changes, and what the event tells."""
    held = Ladder.objects.select_for_update(no_key=True).get(pk=ladder.pk)
    before = list(held.entries.select_related("bot", "user").order_by("pk"))
    told = deed.do(held)
    held.refresh_from_db()
    replay = Replay(held, mends=mends)
    report = replay.run(tell=tell)
    after = {pk: figures.rating for pk, figures in replay.books.figures.items()}
    states = {pk: entry.state for pk, entry in replay.entries.items()}
    return Verdict(_moved(before, after, states), report.uncounted, report.pairings), told


def _rank_anew(ladder: Ladder) -> None:
    """Write the final ranks of a closed ladder that was judged after all."""
    fits.fit_ladder(ladder.pk)
    ladder.entries.update(final_rank=None)
    Entry.objects.bulk_update(seasons.final_ranks(ladder), ["final_rank"], batch_size=500)


def _moved(before: Sequence[Entry], after: dict[int, float], states: dict[int, str]) -> list[Moved]:
    ranks = _ranks([entry.rating for entry in before if entry.state not in Entry.GONE])
    ranks_after = _ranks([after[entry.pk] for entry in before if states[entry.pk] not in Entry.GONE])
    moved = []
    for entry in before:
        rank = None if entry.state in Entry.GONE else ranks[entry.rating]
        rank_after = None if states[entry.pk] in Entry.GONE else ranks_after[after[entry.pk]]
        if (entry.rating, rank) != (after[entry.pk], rank_after):
            moved.append(Moved(entry, entry.rating, after[entry.pk], rank, rank_after))
    return sorted(moved, key=lambda one: (one.rank_before is None, one.rank_before or 0, -one.before, one.entry.pk))


def _ranks(ratings: Sequence[float]) -> dict[float, int]:
    """Return by rating the rank that it has among all; equal ones share one."""
    ordered = sorted(-rating for rating in ratings)
    return {-rating: bisect_left(ordered, rating) + 1 for rating in ordered}


def _own(ladder: Ladder, entry: Entry) -> Entry:
    """Return the entry as it stands now. NotJudged if it is another ladder's."""
    found = ladder.entries.select_related("bot", "user").filter(pk=entry.pk).first()
    if found is None:
        raise NotJudged(_("%(name)s is not in %(ladder)s.") % {"name": entry.name, "ladder": ladder})
    return found


def _set(ladder: Ladder, **values: Any) -> dict[str, Any]:
    """Set a ladder's terms and return those that were and are. NotJudged if they are the same."""
    was = {name: getattr(ladder, name) for name in values}
    if was == values:
        raise NotJudged(_("That is how %(ladder)s counts already.") % {"ladder": ladder})
    Ladder.objects.filter(pk=ladder.pk).update(**values)
    return {"was": was, "is": values}
