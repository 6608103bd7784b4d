"""All that one user has entered, each with why it waits, what it plays, and what has become of what it played.

Everything is fetched for all entries together: the page costs as many queries for one entry as for a hundred.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Case, F, Q, QuerySet, When
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from bots.switches import pause_note
from games.dispatch import places_in_queue
from games.models import Match, Seat
from games.status import spell, why_bots_wait
from ladder.history import badge_of, why_unrated
from ladder.models import Entry, Ladder, PairedEntry, Pairing, RatingChange
from ladder.registration import (
    full_date,
    reasons_of_disqualified,
    why_disqualified,
    why_not_playable,
    why_shut,
    with_versions,
)
from ladder.scheduling import able_count

RECENT = 5
State = Match.State


@dataclass(frozen=True)
class Pending:
    """A match of the entry's that has not ended, or is not rated yet."""

    code: str
    url: str
    state: str  # a badge's name
    label: str
    against: list[str]
    text: str  # what it waits for
    place: int | None  # in the queue, from 1
    heard_at: datetime | None  # its worker's last sign of life
    is_own_turn: bool  # its person is awaited, or may be at any moment


@dataclass(frozen=True)
class Recent:
    """A pairing of the entry's that has been decided."""

    url: str
    against: list[str]
    place: int | None
    change: float | None  # of the rating; None where it counts for nothing
    why_unrated: str
    when: datetime | None


@dataclass
class OwnEntry:
    """One entry as its owner sees it."""

    entry: Entry
    waits_for: list[str] = field(default_factory=list)  # sentences; empty if nothing keeps it from the next round
    pending: list[Pending] = field(default_factory=list)
    recent: list[Recent] = field(default_factory=list)
    may_return: bool = False


@dataclass
class _Played:
    """The matches of some pairings, and who sits in them."""

    matches: dict[int, list[Match]] = field(default_factory=lambda: defaultdict(list))  # by pairing
    names: dict[int, list[Seat]] = field(default_factory=lambda: defaultdict(list))  # by match


def own_entries(user: Any) -> list[OwnEntry]:
    """Return all entries of a user: those that play first, then by ladder and name. At most ten queries."""
    entries = list(_entries(user))
    if not entries:
        return []
    changes = _changes(entries)
    paired = _paired(entries, changes)
    played = _played({one.pairing_id for one in paired} | {change.pairing_id for change in changes})
    places = places_in_queue([match for matches in played.matches.values() for match in matches])
    site = {"rounds": pause_note("rounds") or "", "workers": why_bots_wait()}
    reasons = reasons_of_disqualified(entries)
    rows = []
    for entry in entries:
        pending = [one for one in paired if one.entry_id == entry.pk and one.pairing.state == Pairing.State.PLAYING]
        row = OwnEntry(entry, pending=_pending(entry, pending, played, places, site["workers"]))
        left = _why_left(entry, reasons.get(entry.pk, ""))
        row.waits_for = left or _waits_for(row, _unplayed(entry, pending, played), user, site)
        row.recent = _recent(entry, changes, paired, played)
        row.may_return = entry.state == Entry.State.WITHDRAWN and not _why_away(entry)
        rows.append(row)
    return rows


def _entries(user: Any) -> QuerySet[Entry]:
    """Return the user's entries `with_versions`, those in rounds with `able_count`."""
    in_rounds = Q(state=Entry.State.ACTIVE, ladder__state=Ladder.State.RUNNING)
    own: QuerySet[Entry] = (
        with_versions(Entry.objects.filter(Q(bot__owner=user) | Q(user=user)), "bot")
        .select_related("ladder", "bot", "user")
        .annotate(able_count=Case(When(in_rounds, then=able_count("ladder"))))
        .order_by("state", "ladder", "bot__name", "pk")
    )
    return own


def _changes(entries: Sequence[Entry]) -> list[RatingChange]:
    """Return each entry's last rated pairings, newest first. One query, by the index of (entry, nth)."""
    rows = RatingChange.objects.filter(entry__in=entries, nth__gt=F("entry__pairings") - RECENT)
    return list(rows.select_related("pairing").order_by("-number"))


def _paired(entries: Sequence[Entry], changes: Iterable[RatingChange]) -> list[PairedEntry]:
    """Return the entries' pairings that are being played, and the unrated ones as new as the rated ones shown."""
    oldest = min((change.pairing_id for change in changes), default=0)
    shown = Q(pairing__state=Pairing.State.PLAYING) | Q(pairing__state=Pairing.State.UNRATED, pairing__gte=oldest)
    rows = PairedEntry.objects.filter(shown, entry__in=entries).select_related("pairing")
    return list(rows.order_by("-pairing")[: 20 * len(entries)])


def _played(pairing_ids: Iterable[int]) -> _Played:
    """Return the matches of these pairings with their players. One query."""
    seats = Seat.objects.filter(match__paired__pairing__in=list(pairing_ids)).select_related("match__paired")
    found = _Played()
    for seat in seats.defer("match__rules", "match__server_seed", "match__player_seeds").order_by("match", "entrant"):
        if seat.match_id not in found.names:
            found.matches[seat.match.paired.pairing_id].append(seat.match)
        found.names[seat.match_id].append(seat)
    return found


# What it plays


def _pending(
    entry: Entry, paired: Iterable[PairedEntry], played: _Played, places: Mapping[int, int], trouble: str
) -> list[Pending]:
    found = []
    for one in paired:
        for match in played.matches[one.pairing_id]:
            seats = played.names[match.pk]
            badge, label = badge_of(match, one.pairing)
            place = places.get(match.pk)
            is_own = match.kind == Match.Kind.TABLE and entry.user_id is not None and not match.is_over
            found.append(
                Pending(
                    code=match.code,
                    url=reverse("match", args=[match.code]),
                    state="your-turn" if is_own else badge,
                    label=_("your table") if is_own else label,
                    against=_others(entry, seats),
                    text=_why_pending(entry, match, place, trouble),
                    place=place,
                    heard_at=match.heard_at if match.state == State.PLAYING else None,
                    is_own_turn=is_own,
                )
            )
    return found


def _unplayed(entry: Entry, paired: Iterable[PairedEntry], played: _Played) -> int:
    """Return how many pairings keep the entry from another: a bot's at people's tables do not."""
    kinds = (Match.Kind.TABLE,) if entry.user_id is not None else (Match.Kind.RANKED,)
    open_ones = [[one for one in played.matches[each.pairing_id] if one.kind in kinds] for each in paired]
    return sum(any(one.state in Match.UNPLAYED for one in matches) for matches in open_ones)


def _others(entry: Entry, seats: Iterable[Seat]) -> list[str]:
    return [seat.name for seat in seats if (seat.bot_id, seat.user_id) != (entry.bot_id, entry.user_id)]


def _why_pending(entry: Entry, match: Match, place: int | None, trouble: str) -> str:
    """Say what a match that has not ended waits for."""
    if match.state == State.WAITING:
        text = _("Number %(place)d in the queue.") % {"place": place or 1}
        return f"{text} {trouble}".strip()
    if match.state == State.QUEUED:
        return f"{_('A worker is about to begin.')} {trouble}".strip()
    if match.kind == Match.Kind.TABLE:
        return _why_table(entry, match)
    if match.state == State.PLAYING:
        return _heard(match.heard_at)
    if match.state == State.SHOWING:
        return _("It is shown card by card, and rated when that is over.")
    if match.state == State.SEALED:
        return _("It has been played; its result is opened with the others of its set.")
    return _("It has ended and is about to be rated.")


def _why_table(entry: Entry, match: Match) -> str:
    if match.is_over:
        return _("It has ended and is about to be rated.")
    if entry.user_id is None:
        return _("People play at this table; it goes on as they move.")
    if match.awaits == "person" and match.deadline_at is not None:
        return _("Your table is waiting: the clocks are running.")
    return _("Your table is being played.")


def _heard(heard_at: datetime | None) -> str:
    if heard_at is None:
        return _("It is being played.")
    ago = spell(timezone.now() - heard_at)
    return _("It is being played; its worker was last heard of %(time)s ago.") % {"time": ago}


# Why it waits


def _waits_for(row: OwnEntry, pending: int, user: Any, site: Mapping[str, str]) -> list[str]:
    """Say what keeps an entry from the next round, the most lasting first."""
    entry = row.entry
    if why := why_no_rounds(entry.ladder):
        return [why]
    busy = _why_busy(entry, pending)
    # Who plays in a game of people is told so; how many are ready by then nobody knows.
    few = "" if busy and entry.user_id else why_too_few(entry.ladder, entry.able_count)  # type: ignore[attr-defined]
    found = [
        why_not_playable(entry.bot, entry) if entry.bot else _why_not_ready(row, user),
        busy,
        site["rounds"],
        few,
        "" if entry.user_id else site["workers"],
    ]
    return [text for text in found if text]


def _why_left(entry: Entry, reason: str) -> list[str]:
    """Say why an entry is in no rounds by its state; `reason` was given if it was disqualified."""
    if entry.state == Entry.State.DISQUALIFIED:
        return [why_disqualified(entry, reason)]
    if entry.state == Entry.State.WITHDRAWN:
        left, away = _("Withdrawn: it is in no rounds. Its rating and history are kept."), _why_away(entry)
        return [left, _("It cannot come back now: %(reason)s") % {"reason": away}] if away else [left]
    return [_("Paused: it sits out until you resume it.")] if entry.state == Entry.State.PAUSED else []


def _why_away(entry: Entry) -> str:
    """Say why an entry that was withdrawn cannot come back for now, or an empty text; it was loaded `with_versions`."""
    return why_shut(entry.ladder) or (why_not_playable(entry.bot, entry) if entry.bot else "")


def why_no_rounds(ladder: Ladder) -> str:
    """Say why a ladder holds no rounds by its state, and from when on it will; an empty text if it is running."""
    if ladder.starts_at is not None and ladder.state in (Ladder.State.ANNOUNCED, Ladder.State.OPEN):
        is_open = ladder.state == Ladder.State.OPEN
        since = (
            _("Registration is open; rounds are held from %(date)s on.")
            if is_open
            else _("The ladder is announced; rounds are held from %(date)s on.")
        )
        return since % {"date": full_date(ladder.starts_at)}
    return {
        Ladder.State.ANNOUNCED: _("The ladder is announced; no rounds are held yet."),
        Ladder.State.OPEN: _("Registration is open; no rounds are held yet."),
        Ladder.State.FROZEN: _("The ladder is frozen: no more rounds are held."),
        Ladder.State.CLOSED: _("The ladder is closed; this is how it ended."),
    }.get(Ladder.State(ladder.state), "")


def _why_not_ready(row: OwnEntry, user: Any) -> str:
    if row.pending or row.entry.is_ready:
        return ""
    if user.table:
        return _("You sit at another table; say that you are ready when that game is over.")
    return _("You are paired only while you are ready: say so when you have time for a game.")


def _why_busy(entry: Entry, pending: int) -> str:
    if entry.user_id is not None:
        return _("You are paired again when this game has ended and you say that you are ready.") if pending else ""
    if pending < entry.ladder.max_pending:
        return ""
    return ngettext(
        "It is paired again when what it plays has ended.",
        "It has %(count)d pairings open, which is as many as it may have; it is paired again when one has ended.",
        pending,
    ) % {"count": pending}


def why_too_few(ladder: Ladder, able: int) -> str:
    """Say what a round lacks if `able` of different owners can play, see `able_count`; an empty text if nothing."""
    missing = ladder.seats - able
    if missing <= 0:
        return ""
    if ladder.entrants == Ladder.Entrants.PEOPLE:
        text = ngettext(
            "A round needs %(count)d more person who is ready.",
            "A round needs %(count)d more people who are ready.",
            missing,
        )
    elif ladder.entrants == Ladder.Entrants.BOTS:
        text = ngettext(
            "A round needs %(count)d more entry that can play, of another owner.",
            "A round needs %(count)d more entries that can play, each of another owner.",
            missing,
        )
    else:
        text = ngettext(
            "A round needs %(count)d more entry that can play: somebody who is ready, or a bot of another owner.",
            "A round needs %(count)d more entries that can play: people who are ready, or bots, each of another owner.",
            missing,
        )
    return text % {"count": missing}


# What became of it


def _recent(
    entry: Entry, changes: Iterable[RatingChange], paired: Iterable[PairedEntry], played: _Played
) -> list[Recent]:
    """Return the entry's last decided pairings, newest first."""
    found: list[tuple[int, Recent]] = []
    for change in changes:
        if change.entry_id == entry.pk:
            result = _result(entry, change.pairing, played, place=change.place, change=change.after - change.before)
            found.append((change.pairing_id, result))
    for one in paired:
        if one.entry_id == entry.pk and one.pairing.state == Pairing.State.UNRATED:
            found.append((one.pairing_id, _result(entry, one.pairing, played)))
    return [result for _pairing, result in sorted(found, key=lambda pair: -pair[0])[:RECENT]]


def _result(
    entry: Entry, pairing: Pairing, played: _Played, *, place: int | None = None, change: float | None = None
) -> Recent:
    matches = played.matches[pairing.pk]
    match = matches[0] if matches else None
    unrated = pairing.state == Pairing.State.UNRATED
    how = next((one.how for one in matches if one.state == State.VOID), "")
    return Recent(
        url=_address(entry, pairing, matches),
        against=_others(entry, played.names[match.pk]) if match else [],
        place=place,
        change=change,
        why_unrated=why_unrated(pairing.why_unrated, how=how) if unrated else "",
        when=pairing.rated_at or (match.finished_at if match else None),
    )


def _address(entry: Entry, pairing: Pairing, matches: Sequence[Match]) -> str:
    """Return where the pairing's result is shown: its match, or the crosstable of its set."""
    if len(matches) > 1:
        return reverse("ladder_pairing", args=[entry.ladder.slug, pairing.pk])
    return reverse("match", args=[matches[0].code]) if matches else ""
