"""Enter a ladder, pause, leave and come back; say that one is ready: every change of an entry's state by its owner.

A person enters himself, a bot's owner his bot; house bots are entered by the seed and by whoever runs the ladder. Who
may not is told why in a sentence, before he tries and when he has tried. An entry is never deleted: whoever comes back
has the same entry and its rating. Ratings are none of this module's business.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import FilteredRelation, Max, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from bots.models import Bot, BotVersion
from bots.versions import playing
from games.engine.notation import MAX_SEATS
from games.tables import hold_people, running_table
from ladder.models import Entry, Ladder, LadderEvent
from ladder.notices import announce
from ladder.seasons import carried

logger = logging.getLogger(__name__)

READY_FOR = timedelta(minutes=10)
RENEWED_EVERY = timedelta(minutes=1)  # a page asks more often than that
FULL_TABLES_ONLY = ("sage",)
"""House bots that think for seconds of CPU a match: tables of four are enough to meet them at."""

ANCHOR = "careful"
"""The house bot that fits hold where every rating begins: it never changes, so that the scale does not drift."""

State = Ladder.State


class NotRegistered(Exception):
    """The entry stays as it was; the text is a sentence that tells its owner why and what to do."""


# Who may enter


@dataclass(frozen=True)
class Candidate:
    """Who of a user's could be in a ladder: himself, or a bot; its entry if it has one, and why it may not enter."""

    entrant: Any  # Bot or User
    entry: Entry | None
    why_not: str

    @property
    def is_person(self) -> bool:
        """Whether it is the user himself."""
        return not isinstance(self.entrant, Bot)


class Desk:
    """What must be known of a user and a ladder to say who of his may enter.

    One query where only bots play, two where people do, and two more on occasion.
    """

    def __init__(self, user: Any, ladder: Ladder, bots: QuerySet[Bot]) -> None:
        self.ladder = ladder
        here = FilteredRelation("entries", condition=Q(entries__ladder=ladder))
        found: list[Any] = list(with_versions(bots).annotate(here=here).select_related("here"))
        self.bots = {bot.pk: bot for bot in found}
        self.entries: dict[tuple[int | None, int | None], Entry] = {}
        for bot in found:
            if (entry := getattr(bot, "here", None)) is not None:
                entry.bot, self.entries[bot.pk, None] = bot, entry
        if ladder.entrants != Ladder.Entrants.BOTS and (own := ladder.entries.filter(user=user).first()) is not None:
            own.user, self.entries[None, user.pk] = user, own
        for entry in self.entries.values():
            entry.ladder = ladder
        self.is_confirmed = has_confirmed_address(user)
        self.reasons = reasons_of_disqualified(self.entries.values())

    def entry_of(self, entrant: Any) -> Entry | None:
        """Return the entrant's entry, whatever its state."""
        return self.entries.get((entrant.pk, None) if isinstance(entrant, Bot) else (None, entrant.pk))

    def why_not(self, entrant: Any) -> str:
        """Say why the entrant may not enter now, or come back; an empty text if it may."""
        entry = self.entry_of(entrant)
        if entry is not None and entry.state == Entry.State.DISQUALIFIED:
            return why_disqualified(entry, self.reasons.get(entry.pk, ""))
        if entry is not None and entry.state != Entry.State.WITHDRAWN:
            return _("%(name)s is in %(ladder)s already.") % {"name": entry.name, "ladder": self.ladder}
        return why_shut(self.ladder) or self._why_barred() or self._why_none_of_these(entrant) or self._why_no_more()

    def _why_barred(self) -> str:
        """Say that whoever was disqualified may not begin anew under another name."""
        out = next((entry for entry in self.entries.values() if entry.state == Entry.State.DISQUALIFIED), None)
        if out is None:
            return ""
        text = _("%(name)s of yours was disqualified in %(ladder)s; you cannot enter another there.")
        return text % {"name": out.name, "ladder": self.ladder}

    def _why_none_of_these(self, entrant: Any) -> str:
        kinds, is_bot = self.ladder.entrants, isinstance(entrant, Bot)
        if is_bot and kinds == Ladder.Entrants.PEOPLE:
            return _("%(ladder)s is for people; bots cannot be entered.") % {"ladder": self.ladder}
        if not is_bot and kinds == Ladder.Entrants.BOTS:
            return _("%(ladder)s is for bots; enter one of yours.") % {"ladder": self.ladder}
        if not self.is_confirmed:
            return _("Please confirm your e-mail address first; you can have the message sent again in your account.")
        return why_not_playable(entrant, self.bots[entrant.pk]) if is_bot else ""

    def _why_no_more(self) -> str:
        most = self.ladder.entries_per_owner
        count = sum(entry.state not in Entry.GONE for entry in self.entries.values())
        if most is None or count < most:
            return ""
        text = ngettext(
            "You have %(count)d entry in %(ladder)s, which is as many as it allows. Withdraw it first.",
            "You have %(count)d entries in %(ladder)s, which is as many as it allows. Withdraw one of them first.",
            count,
        )
        return text % {"count": count, "ladder": self.ladder}


def candidates(user: Any, ladder: Ladder) -> list[Candidate]:
    """Return who of the user's is in the ladder or could be, himself first; not himself where people cannot play."""
    desk = Desk(user, ladder, Bot.objects.filter(owner=user).order_by("name"))
    entrants = [
        *([user] if ladder.entrants != Ladder.Entrants.BOTS or desk.entry_of(user) else []),
        *desk.bots.values(),
    ]
    return [Candidate(entrant, desk.entry_of(entrant), desk.why_not(entrant)) for entrant in entrants]


def why_shut(ladder: Ladder, now: datetime | None = None) -> str:
    """Say why nobody can enter the ladder at present; an empty text if one can."""
    now = now or timezone.now()
    opens, ends = ladder.registration_from, ladder.registration_until
    name = {"ladder": ladder}
    if ladder.state == State.CLOSED:
        return _("%(ladder)s is closed; nobody can enter any more.") % name
    if ladder.state == State.FROZEN:
        return _("%(ladder)s is frozen: its last matches are played, and nobody can enter any more.") % name
    if opens is not None and opens > now:
        return _("Registration for %(ladder)s opens on %(date)s.") % {**name, "date": full_date(opens)}
    if ladder.state == State.ANNOUNCED:
        return _("%(ladder)s is announced; nobody can enter yet.") % name
    if ends is not None and ends <= now:
        return _("Registration for %(ladder)s ended on %(date)s.") % {**name, "date": full_date(ends)}
    return ""


def full_date(moment: datetime) -> str:
    """Say a moment with its day, time and zone, as sentences do."""
    return date_format(localtime(moment), "j F Y, H:i e")


def has_confirmed_address(user: Any) -> bool:
    """Tell whether the user confirmed an address of his; where the site sends no mail nobody has to."""
    return not settings.MAIL or EmailAddress.objects.filter(user=user, verified=True).exists()


def reasons_of_disqualified(entries: Iterable[Entry]) -> dict[int, str]:
    """Return the reasons that were given for those of these entries that are disqualified. One query, or none."""
    out = {entry.pk: entry.ladder for entry in entries if entry.state == Entry.State.DISQUALIFIED}
    if not out:
        return {}
    events = LadderEvent.objects.filter(ladder__in=set(out.values()), what="disqualified").order_by("id")
    return {event.effect.get("entry"): event.reason for event in events if event.effect.get("entry") in out}


def why_disqualified(entry: Entry, reason: str) -> str:
    """Say that an entry was disqualified, and the reason that was given, if one was."""
    name = {"name": entry.name, "ladder": entry.ladder}
    if not reason:
        return _("%(name)s was disqualified from %(ladder)s and cannot come back.") % name
    text = _("%(name)s was disqualified from %(ladder)s and cannot come back. The reason given: %(reason)s")
    return text % {**name, "reason": reason}


def with_versions(rows: QuerySet[Any], bot: str = "pk") -> QuerySet[Any]:
    """Add what `why_not_playable` needs: which version plays, and the newest one; `bot` is the column with its id."""
    newest = BotVersion.objects.filter(bot=OuterRef(bot)).order_by("-number")
    known: QuerySet[Any] = rows.annotate(
        plays=Subquery(playing(bot).values("number")[:1]),
        newest_number=Subquery(newest.values("number")[:1]),
        newest_state=Subquery(newest.values("state")[:1]),
    )
    return known


def why_not_playable(bot: Bot, row: Any) -> str:
    """Say why no version of a bot plays, or an empty text if one does; `row` is its row of `with_versions`."""
    if row.plays is not None:
        return ""
    if row.newest_number is None:
        return _("%(bot)s has no version yet; upload one first.") % {"bot": bot}
    name = {"bot": bot, "number": row.newest_number}
    if row.newest_state == BotVersion.State.TRIAL:
        return _("Version %(number)d of %(bot)s is still to play its trial match; try again when it has.") % name
    if row.newest_state == BotVersion.State.FAILED:
        return _("Version %(number)d of %(bot)s did not pass its trial; see its log and upload a new one.") % name
    return _("Version %(number)d of %(bot)s was set aside; retry it on its page, or upload a new one.") % name


# Entering and leaving


def register(user: Any, entrant: Any, ladder: Ladder) -> Entry:
    """Enter `entrant` (the user himself, or a bot of his) into `ladder`, or bring it back with the rating that it had.

    Raises:
        PermissionDenied: it is neither the user himself nor his bot.
        NotRegistered: it may not enter now; see `Desk.why_not`.
    """
    is_bot = isinstance(entrant, Bot)
    if not (entrant.is_owned_by(user) if is_bot else user.is_authenticated and entrant == user):
        raise PermissionDenied("expected the user himself, or a bot of his own")
    with transaction.atomic():
        # Two requests at once would each find room for one more.
        get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
        # It may have been frozen, or closed, since the caller read it.
        ladder = Ladder.objects.select_related("previous").get(pk=ladder.pk)
        if reason := Desk(user, ladder, Bot.objects.filter(owner=user)).why_not(entrant):
            raise NotRegistered(reason)
        return enter(entrant, ladder)


def enter(entrant: Any, ladder: Ladder, *, anchor: float | None = None) -> Entry:
    """Enter a bot or a person without asking who may; fits hold a new entry at `anchor`, if that is given.

    NotRegistered if it is in the ladder already.
    """
    who = {"bot": entrant} if isinstance(entrant, Bot) else {"user": entrant}
    seed = _seed(who, ladder)
    figures = {"seed_rating": seed, "rating": seed, "anchor": anchor}
    entry, is_new = Entry.objects.get_or_create(ladder=ladder, **who, defaults=figures)
    entry.ladder = ladder
    if is_new:
        _announce(entry)
        logger.info("registered entry=%d ladder=%s name=%s", entry.pk, ladder.slug, entry.name)
    elif not _move(entry, (Entry.State.WITHDRAWN,), Entry.State.ACTIVE):
        raise NotRegistered(_("%(name)s is in %(ladder)s already.") % {"name": entry.name, "ladder": ladder})
    return entry


def missing_house_bots(ladder: Ladder) -> QuerySet[Bot]:
    """Return the house bots that have no entry in the ladder, whatever its state, and belong there; by name."""
    # Where people play too, their entries have no bot, and nothing is outside of a list with a NULL in it.
    entered = ladder.entries.filter(bot__isnull=False)
    missing = Bot.objects.filter(owner=None).exclude(pk__in=entered.values("bot")).order_by("name")
    return missing if ladder.seats == MAX_SEATS else missing.exclude(name__in=FULL_TABLES_ONLY)


def why_no_house_bots(ladder: Ladder) -> str:
    """Say why house bots can never be entered into the ladder as it is now; an empty text if they can."""
    if ladder.entrants == Ladder.Entrants.PEOPLE:
        return _("%(ladder)s is for people; bots cannot be entered.") % {"ladder": ladder}
    return "" if ladder.is_open else why_shut(ladder)


def enter_house_bots(ladder: Ladder, *, by: Any = None) -> list[Entry]:
    """Enter the house bots that are missing, ANCHOR held at the ladder's initial rating, and say so in its history.

    `by` is who asked for it, None the site. Registration need not be open. Call it for who runs the ladder.

    Raises:
        NotRegistered: there is none to enter, or none can be.
    """
    with transaction.atomic():
        # Two requests at once would each find the same ones missing; and the initial rating may just be changed.
        held = Ladder.objects.select_for_update(no_key=True, of=("self",)).select_related("previous").get(pk=ladder.pk)
        if reason := why_no_house_bots(held):
            raise NotRegistered(reason)
        anchors = {ANCHOR: held.initial_rating}
        entries = [enter(bot, held, anchor=anchors.get(bot.name)) for bot in missing_house_bots(held)]
        if not entries:
            raise NotRegistered(_("All house bots are in %(ladder)s already.") % {"ladder": held})
        note_entered(held, entries, by=by)
    return entries


def note_entered(ladder: Ladder, entries: Sequence[Entry], *, by: Any) -> None:
    """Write into a ladder's history who was entered by whom (None: the site), and where fits hold them."""
    anchors = {entry.name: entry.anchor for entry in entries if entry.anchor is not None}
    LadderEvent.objects.create(
        ladder=ladder,
        by=by,
        what=LadderEvent.What.ENTERED,
        subject=", ".join(map(_with_anchor, entries))[:120],
        effect={"entries": [entry.pk for entry in entries], "anchors": anchors},
    )


def _with_anchor(entry: Entry) -> str:
    if entry.anchor is None:
        return entry.name
    return _("%(name)s, held fixed at %(rating).0f") % {"name": entry.name, "rating": entry.anchor}


def _seed(who: dict[str, Any], ladder: Ladder) -> float:
    """Return the rating with which somebody begins: for whoever was in the season before, what is left of his.

    Or who stands badly would sit out the end of a season, and begin the next one like a newcomer.
    """
    before = Entry.objects.filter(ladder=ladder.previous_id, **who).first() if ladder.previous_id else None
    if before is None or ladder.previous is None:
        return ladder.initial_rating
    return carried(ladder.previous, before)


def pause(user: Any, entry: Entry) -> None:
    """Leave the entry out of rounds until it is resumed. PermissionDenied, NotRegistered."""
    _change(user, entry, (Entry.State.ACTIVE,), Entry.State.PAUSED, ready_until=None)


def resume(user: Any, entry: Entry) -> None:
    """Bring a paused entry back into the rounds. PermissionDenied, NotRegistered."""
    _change(user, entry, (Entry.State.PAUSED,), Entry.State.ACTIVE)


def withdraw(user: Any, entry: Entry) -> None:
    """Take the entry out of the standings; its history and rating stay. PermissionDenied, NotRegistered.

    What it plays it plays to the end, and that counts.
    """
    _change(user, entry, (Entry.State.ACTIVE, Entry.State.PAUSED), Entry.State.WITHDRAWN, ready_until=None)


def come_back(user: Any, entry: Entry) -> None:
    """Bring a withdrawn entry back, as `register` does. PermissionDenied, NotRegistered."""
    register(user, entry.bot or entry.user, entry.ladder)
    entry.refresh_from_db()


def _check_owner(user: Any, entry: Entry) -> None:
    if not entry.is_owned_by(user):
        raise PermissionDenied("expected an entry of the user's own")


def _change(user: Any, entry: Entry, before: tuple[Entry.State, ...], after: Entry.State, **figures: Any) -> None:
    _check_owner(user, entry)
    if not _move(entry, before, after, **figures):
        entry.refresh_from_db(fields=["state"])
        if Ladder.objects.filter(pk=entry.ladder_id, state=State.CLOSED).exists():
            text = _("%(ladder)s is closed and its standings are final; nothing was changed.")
            raise NotRegistered(text % {"ladder": entry.ladder})
        raise NotRegistered(
            _("Nothing was changed: %(name)s is %(state)s in %(ladder)s.")
            % {"name": entry.name, "state": entry.get_state_display(), "ladder": entry.ladder}
        )


def _move(entry: Entry, before: tuple[Entry.State, ...], after: Entry.State, **figures: Any) -> bool:
    """Move one entry's state if it is one of `before`; False if somebody else was first, or the ladder is closed."""
    found = Entry.objects.filter(pk=entry.pk, state__in=before).exclude(ladder__state=State.CLOSED)
    if found.update(state=after, **figures) != 1:
        return False
    entry.state = after
    if entry.user_id is not None:
        _tell_heads(entry.user_id)
    _announce(entry)
    logger.info("entry=%d state=%s", entry.pk, after.value)
    return True


def _announce(entry: Entry) -> None:
    transaction.on_commit(lambda: announce(entry.ladder.slug), robust=True)


# A person who sits by the screen


def get_ready(user: Any, entry: Entry) -> None:
    """Say that a person wants to be paired from now on, for ten minutes. PermissionDenied, NotRegistered."""
    _check_person(user, entry)
    if entry.state != Entry.State.ACTIVE:
        text = _("You are %(state)s in %(ladder)s; resume your entry, or come back, first.")
        raise NotRegistered(text % {"state": entry.get_state_display(), "ladder": entry.ladder})
    if entry.ladder.state != State.RUNNING:
        raise NotRegistered(_("%(ladder)s holds no rounds now.") % {"ladder": entry.ladder})
    if running_table(user) is not None:
        raise NotRegistered(_("You are still sitting at a table. Finish that game, or resign it, first."))
    if not _set_ready(user, entry, timezone.now() + READY_FOR):
        text = _("Nothing was changed: your entry in %(ladder)s is not active any more.")
        raise NotRegistered(text % {"ladder": entry.ladder})


def stand_down(user: Any, entry: Entry) -> None:
    """Say that a person does not want to be paired now. PermissionDenied."""
    _check_person(user, entry)
    _set_ready(user, entry, None)


def _set_ready(user: Any, entry: Entry, until: datetime | None) -> bool:
    """Write until when somebody is ready; False if he has paused or left, or was disqualified, meanwhile."""
    row = Entry.objects.filter(pk=entry.pk)
    if until is not None:
        row = row.filter(state=Entry.State.ACTIVE)
    if not row.update(ready_until=until):
        return False
    entry.ready_until = until
    _tell_heads(user.pk)
    _announce(entry)
    return True


def renew(user: Any) -> datetime | None:
    """Let who is ready stay so for ten more minutes: a page of his is open. None if he is not ready for any ladder."""
    now = timezone.now()
    if user.ready_until is not None and user.ready_until > now + READY_FOR - RENEWED_EVERY:
        return user.ready_until  # type: ignore[no-any-return]
    ready = Entry.objects.filter(user=user, ready_until__gt=now, state=Entry.State.ACTIVE, ladder__state=State.RUNNING)
    with transaction.atomic():
        # Always before entries of theirs.
        account = hold_people([user.pk])
        until = now + READY_FOR if _hold(ready).update(ready_until=now + READY_FOR) else None
        account.update(ready_until=until)
    return until


def seat(user_ids: Iterable[int]) -> None:
    """Note that people were paired: they are ready no more, in no ladder. Who wants to play on says so again.

    So nobody is paired again and again who has left a page open.
    """
    ids = list(user_ids)
    with transaction.atomic():
        people = hold_people(ids)
        _hold(Entry.objects.filter(user__in=ids, ready_until__isnull=False)).update(ready_until=None)
        people.filter(ready_until__isnull=False).update(ready_until=None)


def _hold(entries: QuerySet[Entry]) -> QuerySet[Entry]:
    """Lock entries in one order and return them. They may be of several ladders, in each of which others are rated."""
    held = entries.select_for_update(of=("self",), no_key=True).order_by("pk").only("pk")
    return Entry.objects.filter(pk__in=[entry.pk for entry in held])


def _check_person(user: Any, entry: Entry) -> None:
    _check_owner(user, entry)
    if entry.user_id is None:
        raise NotRegistered(_("A bot is always ready; pause its entry if it is to sit out."))


def _tell_heads(user_id: int) -> None:
    """Write into a person's account, for the heads of his pages, until when he is ready for any ladder."""
    until = Entry.objects.filter(user=user_id).aggregate(last=Max("ready_until"))["last"]
    get_user_model().objects.filter(pk=user_id).update(ready_until=until)
