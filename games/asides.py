"""Set versions aside that keep faulting, tell their owners why, and let them try again.

A version is set aside, in the transaction that finishes the match, when it faults in its trial or in 3 of its
last 10 ranked matches; whoever pairs takes only versions that are ready. It stays so until its owner retries it:
it plays a new trial, and the count begins anew. House bots are ours to mend: they play on, and the operators are told.
"""

import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Count, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from bots.models import Bot, BotVersion
from games.findings import note
from games.models import Finding, Match, Seat, SetAside

logger = logging.getLogger(__name__)

FAULTS_MAX = 3
OF_LAST = 10
SWEPT = timedelta(minutes=10)
HOUSE_NOTED_EVERY = timedelta(hours=1)
NOTE_CHARS = 200
State, Why = BotVersion.State, SetAside.Why


def review(matches: Sequence[Match]) -> None:
    """See whether matches that have just finished are a fault too many for a version, inside their transaction.

    Those of one set come together: versions are locked in order, whatever number of matches they faulted in, and after
    all of them their owners in order. So of two sets that end at once only one ever waits for the other.
    """
    owners: set[int] = set()
    seats = Seat.objects.filter(match__in=matches, version__isnull=False).exclude(fault="")
    for seat in seats.select_related("bot", "match").order_by("version_id", "-match"):
        if seat.bot is not None and seat.bot.owner_id is None:
            _note_house(seat.match, seat)
        elif seat.match.kind == Match.Kind.RANKED and (version := _review_version(seat.version_id or 0, seat.match)):
            owners.add(version.bot.owner_id or 0)
    for owner_id in sorted(owners):
        _recount(owner_id)


def _review_version(version_id: int, match: Match) -> BotVersion | None:
    """Set a ready version aside if it faulted in too many of its last ranked matches, and return it; None if not.

    Locks the version, so that of two matches that end at once the second counts the first. Its owner's count is the
    caller's.
    """
    # Not against those who only refer to it: a pairing has the versions of its matches in another order.
    ready = BotVersion.objects.select_for_update(of=("self",), no_key=True).filter(state=State.READY)
    version = ready.filter(pk=version_id).first()
    if version is None:
        return None
    kinds = lately(version)
    faults = [kind for kind in kinds if kind]
    if len(faults) < FAULTS_MAX:
        return None
    told = {"why": Why.FAULTS, "match": match, "faults": faults, "of_last": len(kinds)}
    return version if _take_out(version, told, before=State.READY) else None


def lately(version: BotVersion) -> list[str]:
    """Return the fault, or "", of each of a version's last ranked matches that count, newest first."""
    seats = Seat.objects.filter(
        bot=version.bot_id,
        version=version,
        match__gt=counts_after(version.pk),
        match__kind=Match.Kind.RANKED,
        match__state=Match.State.FINISHED,
    )
    return list(seats.order_by("-match").values_list("fault", flat=True)[:OF_LAST])


def set_aside(
    version: BotVersion, why: str, *, match: Match | None, faults: Sequence[str] = (), of_last: int = 0, before: str
) -> bool:
    """Take a version out of play, in the caller's transaction; False if it is not in state `before` any more."""
    told = {"why": why, "match": match, "faults": list(faults), "of_last": of_last}
    if not _take_out(version, told, before=before):
        return False
    _recount(version.bot.owner_id)
    return True


def _take_out(version: BotVersion, told: dict[str, Any], *, before: str) -> bool:
    """Do what `set_aside` does but for the owner's count; `told` are the columns of SetAside that say why."""
    values = {**told, "is_open": True, "set_at": timezone.now()}
    state = State.FAILED if told["why"] == Why.TRIAL else State.SET_ASIDE
    row = BotVersion.objects.filter(pk=version.pk, state=before)
    if not row.update(state=state, state_note=reason(SetAside(**told))[:NOTE_CHARS]):
        return False
    SetAside.objects.update_or_create(version=version, defaults=values)
    match = told["match"]
    logger.warning("version set aside version_id=%s why=%s match=%s", version.pk, told["why"], match and match.code)
    return True


def reason(aside: SetAside) -> str:
    """Say in a sentence or two why a version was set aside."""
    if aside.why == Why.TRIAL:
        said = _trial_detail(aside)
        return _("It faulted in its trial match: %(fault)s.") % {"fault": said or ", ".join(aside.faults)}
    if aside.why == Why.WORKERS:
        return _("Two of its matches were lost with their workers; the operators will look at it.")
    text = ngettext(
        "It faulted in %(faults)d of its last %(count)d rated match: %(kinds)s.",
        "It faulted in %(faults)d of its last %(count)d rated matches: %(kinds)s.",
        aside.of_last,
    )
    return text % {"faults": len(aside.faults), "count": aside.of_last, "kinds": ", ".join(aside.faults)}


def _trial_detail(aside: SetAside) -> str:
    seat = Seat.objects.filter(match=aside.match, entrant=0).values_list("seat", flat=True).first()
    faults = aside.match.faults if aside.match else []
    return next((f"{fault['kind']}, {fault['detail']}" for fault in faults if fault["seat"] == seat), "")


def can_retry(version: BotVersion, aside: SetAside | None, *, by_operator: bool = False) -> bool:
    """Tell whether a version may be retried: by its owner, unless it took workers along, which operators look at."""
    is_out = version.state in (State.FAILED, State.SET_ASIDE)
    return is_out and (by_operator or aside is None or aside.why != Why.WORKERS)


def begin_anew(version: BotVersion) -> None:
    """Let what a version did so far count no more, and take it as read that it was set aside."""
    newest = Match.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    fresh: dict[str, Any] = {"counts_after": newest, "is_open": False}
    unsaid = {"why": Why.TRIAL, "set_at": timezone.now()}
    SetAside.objects.update_or_create(version=version, defaults=fresh, create_defaults=fresh | unsaid)
    _recount(version.bot.owner_id)


def counts_after(version_id: int) -> int:
    """Return the match after which a version's matches count: 0, or the newest one when it was last retried."""
    return SetAside.objects.filter(version=version_id).values_list("counts_after", flat=True).first() or 0


def close(versions: Q) -> int:
    """Take what was said of these versions as read: it is on no page's head any more. Return how many there were."""
    with transaction.atomic():
        asides = SetAside.objects.filter(versions, is_open=True)
        owners = set(asides.values_list("version__bot__owner", flat=True))
        count = asides.update(is_open=False)
        for owner_id in owners:
            _recount(owner_id)
    return count


def open_for(owner: Any, bot: Bot | None = None) -> list[SetAside]:
    """Return what an owner has still to be told, of one bot or of all, newest first, with versions. One query."""
    asides = SetAside.objects.filter(version__bot__owner=owner, is_open=True)
    if bot is not None:
        asides = asides.filter(version__bot=bot)
    return list(asides.select_related("version__bot", "match").order_by("-set_at", "-pk"))


def sweep_asides() -> int:
    """Find versions that should have been set aside, and counts that went astray; return how many versions."""
    lately_finished = Seat.objects.filter(
        match__finished_at__gt=timezone.now() - SWEPT,
        match__state=Match.State.FINISHED,
        match__kind=Match.Kind.RANKED,
        version__state=State.READY,
        bot__owner__isnull=False,
    ).exclude(fault="")
    found = 0
    for version_id, match_id in dict(lately_finished.order_by("match").values_list("version_id", "match_id")).items():
        with transaction.atomic():
            if version := _review_version(version_id or 0, Match.objects.get(pk=match_id)):
                _recount(version.bot.owner_id)
                note("set_aside", f"version {version_id}", "missed when its match finished")
                found += 1
    _recount_astray()
    return found


def _recount(owner_id: int | None) -> None:
    """Put down on the owner's account, which every page of his loads anyway, how much there is to tell him."""
    if owner_id is None:
        return
    count = SetAside.objects.filter(version__bot__owner=owner_id, is_open=True).count()
    get_user_model().objects.filter(pk=owner_id).update(bots_aside=count)


def _recount_astray() -> None:
    """Mend the count of whoever's is wrong: his versions may have been deleted."""
    asides = SetAside.objects.filter(version__bot__owner=OuterRef("pk"), is_open=True).order_by()
    counted = asides.values("version__bot__owner").annotate(count=Count("pk")).values("count")
    told = Q(bots_aside__gt=0) | Q(pk__in=SetAside.objects.filter(is_open=True).values("version__bot__owner"))
    people = get_user_model().objects.filter(told).annotate(real=Coalesce(Subquery(counted), 0))
    for owner_id in people.exclude(bots_aside=F("real")).values_list("pk", flat=True):
        _recount(owner_id)


def _note_house(match: Match, seat: Seat) -> None:
    """Tell the operators of a house bot's fault, once an hour."""
    subject = f"{seat.name}, version {seat.version_id}"
    since = timezone.now() - HOUSE_NOTED_EVERY
    if not Finding.objects.filter(what="house_fault", subject=subject, found_at__gt=since).exists():
        note("house_fault", subject, f"{seat.fault} in match {match.code}")
        logger.warning("house bot faulted version_id=%s fault=%s match=%s", seat.version_id, seat.fault, match.code)
