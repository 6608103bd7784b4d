"""Judge a ladder with a long log in the background: what was asked, how far it has come, and what came of it.

A request replays no more than IN_REQUEST pairings. What takes longer is stored as a Judgement, done by a task of the
trusted worker, and shown by a page of its own. How far the replay has come stands in the cache, since nobody could read
it out of the open transaction, and on SQLite nobody could write it beside one. The deed and the judgement's end
are one transaction, so that nothing is done twice, nor by a task that was given up. Nothing here judges by itself.
"""

import logging
import time
from datetime import timedelta
from typing import Any

from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from ladder import judging
from ladder.judging import ChangeCap, ChangeK, Deed, Disqualify, NotJudged, Reinstate, Verdict, VoidMatch
from ladder.models import Judgement, Ladder

logger = logging.getLogger(__name__)

State = Judgement.State

# A request may take about two seconds, and a deed at worst 1.2 ms a pairing: `tests/bench/bench_ledger.py`.
IN_REQUEST = 1500
TELL_S = 1.0
# Longer than what is written after the last pairing takes, and the fit of a closed ladder.
LOST_S = 180
RESEND = timedelta(seconds=5)
KEPT = timedelta(days=7)
MOVED = 100

# Of each kind of deed: what its JSON holds besides, and of which types.
_FIELDS: dict[str, dict[str, tuple[type, ...]]] = {
    "void": {"match": (str,)},
    "disqualify": {"entry": (int,)},
    "reinstate": {"entry": (int,)},
    "k": {"k_new": (int, float), "k_settled": (int, float), "settled_after": (int, type(None))},
    "cap": {"daily_cap": (int, float, type(None))},
}


class Overtaken(Exception):
    """The judgement has ended meanwhile: it was given up, or it is not there any more. What was done is taken back."""


def is_long(ladder: Ladder) -> bool:
    """Tell whether the ladder's log is too long to be replayed while somebody waits for a page."""
    return ladder.rated > IN_REQUEST


def title(kind: str) -> str:
    """Return the name of a kind of deed, empty if there is none such."""
    titles = {
        "disqualify": _("Disqualify an entry"),
        "reinstate": _("Reinstate an entry"),
        "void": _("Void a match"),
        "k": _("Change K"),
        "cap": _("Change the daily cap"),
    }
    return titles.get(kind, "")


def heading(kind: str, subject: str) -> str:
    """Return the name of a deed with what it is done to; a change of terms says so itself."""
    if kind in ("k", "cap"):
        return title(kind)
    return _("%(deed)s: %(subject)s") % {"deed": title(kind), "subject": subject}


def pack(deed: Deed) -> dict[str, Any]:
    """Return a deed as JSON. TypeError for one that `unpack` would not know."""
    if isinstance(deed, VoidMatch):
        return {"deed": "void", "match": deed.match.code}
    if isinstance(deed, Disqualify | Reinstate):
        return {"deed": "disqualify" if isinstance(deed, Disqualify) else "reinstate", "entry": deed.entry.pk}
    if isinstance(deed, ChangeK):
        return {"deed": "k"} | {name: getattr(deed, name) for name in _FIELDS["k"]}
    if isinstance(deed, ChangeCap):
        return {"deed": "cap", "daily_cap": deed.daily_cap}
    raise TypeError(f"expected a deed: {deed!r}")


def unpack(ladder: Ladder, packed: Any) -> Deed:
    """Return the deed that `pack` made this of.

    Raises:
        ValueError: it is no deed, or has a field too many, too few or of a wrong type.
        NotJudged: the match or the entry is not there any more.
    """
    kind = packed.get("deed") if isinstance(packed, dict) else None
    fields = _FIELDS.get(kind) if isinstance(kind, str) else None
    if fields is None or packed.keys() != fields.keys() | {"deed"}:
        raise ValueError(f"expected a deed with its fields: {packed!r}")
    for name, types in fields.items():
        if type(packed[name]) not in types:
            raise ValueError(f"expected a deed whose {name} is of {types}: {packed!r}")
    if kind == "void":
        return VoidMatch(judging.find_match(ladder, packed["match"]))
    if kind == "k":
        return ChangeK(packed["k_new"], packed["k_settled"], packed["settled_after"])
    if kind == "cap":
        return ChangeCap(packed["daily_cap"])
    entry = ladder.entries.select_related("bot", "user").filter(pk=packed["entry"]).first()
    if entry is None:
        raise NotJudged(_("This entry is not in %(ladder)s any more.") % {"ladder": ladder})
    return Disqualify(entry) if kind == "disqualify" else Reinstate(entry)


def ask(ladder: Ladder, deed: Deed, by: Any, reason: str | None = None) -> Judgement | None:
    """Store what somebody asks of a ladder; without a reason only to be previewed. None if another is under way."""
    ladder.judgements.filter(ended_at__lt=timezone.now() - KEPT).delete()
    try:
        with transaction.atomic():
            return Judgement.objects.create(
                ladder=ladder, by=by, deed=pack(deed), subject=deed.subject[:120], reason=(reason or "").strip(),
                is_preview=reason is None, pairings=ladder.rated,
            )  # fmt: skip
    except IntegrityError:
        return None


def under_way(ladder: Ladder) -> QuerySet[Judgement]:
    """Return the ladder's judgement that has not ended, one at most."""
    return ladder.judgements.filter(state__in=Judgement.UNDER_WAY)


def run(pk: int) -> bool:
    """Do what a judgement asks for; False if it is not waiting. However often it is called, one call does it."""
    if not Judgement.objects.filter(pk=pk, state=State.WAITING).update(state=State.RUNNING, started_at=timezone.now()):
        return False
    try:
        _run(Judgement.objects.select_related("ladder", "by").get(pk=pk))
    except NotJudged as refusal:
        _end(pk, State.REFUSED, note=str(refusal))
    except PermissionDenied:
        _end(pk, State.REFUSED, note=_("You may not judge this ladder any more. Nothing was changed."))
    finally:
        # Whatever broke off: it is for Celery to tell of it. Of one that has ended this changes nothing.
        _end(pk, State.FAILED, note=_broke_off())
    return True


def _run(judgement: Judgement) -> None:
    """Preview or apply; what is applied has ended in the same transaction."""
    deed, progress = unpack(judgement.ladder, judgement.deed), Progress(judgement.pk)
    if judgement.is_preview:
        verdict = judging.preview(judgement.ladder, deed, tell=progress.tell)
        _end(judgement.pk, State.DONE, verdict=as_json(verdict))
        return
    if not judgement.by.is_active:
        raise PermissionDenied("expected somebody who may still log in")
    with transaction.atomic():
        verdict = judging.apply(judgement.ladder, deed, judgement.by, judgement.reason, tell=progress.tell)
        if not _end(judgement.pk, State.DONE, verdict=as_json(verdict)):
            raise Overtaken(f"expected a judgement that is running: {judgement.pk}")


def _end(pk: int, state: str, **told: Any) -> bool:
    """End a judgement; False if it is not running."""
    running = Judgement.objects.filter(pk=pk, state=State.RUNNING)
    has_ended = bool(running.update(state=state, ended_at=timezone.now(), **told))
    if has_ended:
        logger.info("judgement ended pk=%d state=%s", pk, state)
    return has_ended


def _broke_off() -> str:
    return _(
        "It broke off on our side, and nothing was changed. Ask again; if that breaks off too, tell the operators."
    )


def as_json(verdict: Verdict) -> dict[str, Any]:
    """Return what pages show of a verdict, by the names that it has there."""
    moved = [one._asdict() | {"entry": {"name": one.entry.name}} for one in verdict.moved[:MOVED]]
    return {
        "changed": verdict.changed, "largest": verdict.largest, "pairings": verdict.pairings,
        "replayed": verdict.replayed, "moved": moved, "more": len(verdict.moved) - len(moved),
    }  # fmt: skip


class Progress:
    """Where the replay of one judgement has come to, in the cache: at most once a second, and its sign of life."""

    def __init__(self, pk: int) -> None:
        self.key = _key(pk)
        self.told_at = float("-inf")

    def tell(self, replayed: int) -> None:
        """Let pages know how many pairings are replayed. Without Redis they do not, and nothing else is lost."""
        if time.monotonic() - self.told_at < TELL_S:
            return
        try:
            cache.set(self.key, replayed, LOST_S)
        except (RedisError, OSError) as error:
            logger.warning("progress not told key=%s error=%s", self.key, type(error).__name__)
        self.told_at = time.monotonic()


def replayed(judgement: Judgement) -> int | None:
    """Return how many pairings a running judgement has replayed, None if nobody can tell."""
    try:
        found: int | None = cache.get(_key(judgement.pk))
    except (RedisError, OSError):
        return None
    return found


def _key(pk: int) -> str:
    return f"judgement:{pk}"


def overlooked() -> list[int]:
    """Return the judgements that wait although their task should have come."""
    waiting = Judgement.objects.filter(state=State.WAITING, made_at__lt=timezone.now() - RESEND)
    return list(waiting.order_by("pk").values_list("pk", flat=True))


def give_up_lost() -> list[int]:
    """Fail what has been running without a sign of life, and return which; it can be asked again."""
    long_ago = timezone.now() - timedelta(seconds=LOST_S)
    running = Judgement.objects.filter(state=State.RUNNING, started_at__lt=long_ago)
    silent = [one for one in running.order_by("pk") if replayed(one) is None]
    return [one.pk for one in silent if _end(one.pk, State.FAILED, note=_broke_off())]
