"""Matches in lists: which ones, page by page by key, and rows as `games/_match_row.html` takes them.

A page costs the same however long the history is: the ids of one page are a range of an index,
the rest is fetched for them. Of a match that has not ended only who plays is shown; a trial is
shown to the owner of the bot that it tries.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.db.models import Prefetch, Q, QuerySet, prefetch_related_objects
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from bots.models import Bot
from games.models import Match, Seat
from ladder.models import Entry, Ladder, PairedMatch, Pairing, RatingChange

PAGE = 25
# What a row is made of. To read and build all of the four tables' hundred columns takes three times as long.
MATCH = (
    *("code", "kind", "state", "duplicates", "how", "created_at", "finished_at"),
    *("paired__pairing__state", "paired__pairing__why_unrated", "paired__ladder__name", "paired__ladder__slug"),
)
PLAYER = ("match", "entrant", "seat", "name", "place", "total", "bot__slug", "user__username")
CHANGE = ("pairing", "seat", "before", "after", "capped")


class SeatCell(NamedTuple):
    """A player in a row."""

    name: str
    url: str
    place: int | None
    total: int | None
    rating_change: int | None
    """In whole points."""


class MatchRow(NamedTuple):
    """What `games/_match_row.html` takes: one match in a list, or a pairing; plain values, as they are shown."""

    id: str
    url: str
    state: str
    """Of its badge: live | showing | rated | unrated | void …"""
    state_label: str
    seats: tuple[SeatCell, ...]
    when: datetime
    note: str = ""
    """Such as why it is unrated."""
    set_url: str = ""
    """The page of the duplicate set that it belongs to."""


@dataclass(frozen=True)
class Page:
    """One page of a list, newest first, and the addresses of its neighbours ("" where there is none)."""

    rows: list[MatchRow]
    newer_url: str = ""
    older_url: str = ""


@dataclass(frozen=True)
class Listing:
    """Which matches: those of a ladder, a bot, a person, or all; `viewer` decides whether trials are among them."""

    viewer: Any = None
    ladder: Ladder | None = None
    bot: Bot | None = None
    person: Any = None
    kept: Mapping[str, str] = field(default_factory=dict)  # the address's other parameters

    def page(self, query: Mapping[str, str], *, size: int = PAGE) -> Page:
        """Return the page that `before` or `after`, a match's id, asks for; the first one without either."""
        ids, newer_url, older_url = key_page(self._ids(), self._column, query, size=size, kept=self.kept)
        return Page(match_rows(ids, name_ladder=self.ladder is None), newer_url, older_url)

    @property
    def _column(self) -> str:
        return "pk" if self._is_all else "match_id"

    @property
    def _is_all(self) -> bool:
        return self.ladder is None and self.bot is None and self.person is None

    def _ids(self) -> QuerySet[Any, Any]:
        """Return the ids of the matches in question, in no order yet."""
        if self._is_all:
            return Match.objects.exclude(kind=Match.Kind.TRIAL).values_list("pk", flat=True)
        if self.bot is None and self.person is None:
            return PairedMatch.objects.filter(ladder=self.ladder).values_list("match_id", flat=True)
        seats = Seat.objects.filter(bot=self.bot) if self.bot else Seat.objects.filter(user=self.person)
        if self.ladder is not None:
            seats = seats.filter(match__paired__ladder=self.ladder)
        elif self.bot is None or not is_owner(self.viewer, self.bot):
            seats = seats.exclude(match__kind=Match.Kind.TRIAL)
        return seats.values_list("match_id", flat=True)


def key_page(
    rows: QuerySet[Any, Any],
    column: str,
    query: Mapping[str, str],
    *,
    size: int = PAGE,
    kept: Mapping[str, str] | None = None,
    key: Callable[[Any], int] = int,
) -> tuple[list[Any], str, str]:
    """Return the page of `rows`, highest `column` first, that `before` or `after` asks for, and its neighbours.

    `key` reads the column off a row. The neighbours are addresses, newer and older, "" where there is none; `kept` are
    their other parameters.
    """
    before, after = read_key(query.get("before")), read_key(query.get("after"))
    if after is not None:
        found = list(rows.filter(**{f"{column}__gt": after}).order_by(column)[: size + 1])[::-1]
        page, has_newer, has_older = found[-size:], len(found) > size, bool(found)
    else:
        if before is not None:
            rows = rows.filter(**{f"{column}__lt": before})
        found = list(rows.order_by(f"-{column}")[: size + 1])
        page, has_newer, has_older = found[:size], before is not None, len(found) > size
    newer = "?" + urlencode({**(kept or {}), "after": key(page[0])}) if page and has_newer else ""
    older = "?" + urlencode({**(kept or {}), "before": key(page[-1])}) if page and has_older else ""
    return page, newer, older


def is_owner(user: Any, bot: Bot | None) -> bool:
    """Tell whether a bot, where there is one, is this user's own."""
    return bot is not None and bot.is_owned_by(user)


def match_rows(ids: Iterable[int], *, name_ladder: bool = True) -> list[MatchRow]:
    """Return rows for these matches, in the order of `ids`. Three queries, however many."""
    order = {pk: place for place, pk in enumerate(ids)}
    matches = sorted(_loaded(Match.objects.filter(pk__in=order)), key=lambda match: order[match.pk])
    return _rows(matches, name_ladder=name_ladder)


def rows_of_lists(lists: Sequence[QuerySet[Match]], *, name_ladder: bool = True) -> list[list[MatchRow]]:
    """Return rows for each list of matches. Two queries, and one for each list."""
    matches = [list(_with_pairing(one)) for one in lists]
    prefetch_related_objects([match for one in matches for match in one], _players())
    rows = iter(_rows([match for one in matches for match in one], name_ladder=name_ladder))
    return [[next(rows) for _match in one] for one in matches]


def latest_rows(count: int) -> list[MatchRow]:
    """Return rows for the matches that ended last, trials apart. Three queries."""
    ended = Match.objects.filter(state=Match.State.FINISHED).exclude(kind=Match.Kind.TRIAL)
    return _rows(list(_loaded(ended).order_by("-finished_at", "-pk")[:count]), name_ladder=True)


def _loaded(matches: QuerySet[Match]) -> QuerySet[Match]:
    """Return the matches with all that a row shows."""
    return _with_pairing(matches).prefetch_related(_players())


def _players() -> Prefetch[str, QuerySet[Seat], str]:
    return Prefetch("players", Seat.objects.select_related("bot", "user").only(*PLAYER).order_by("seat", "entrant"))


def _with_pairing(matches: QuerySet[Match]) -> QuerySet[Match]:
    return matches.select_related("paired__pairing", "paired__ladder").only(*MATCH)


def _rows(matches: Sequence[Match], *, name_ladder: bool) -> list[MatchRow]:
    changes = rating_changes([match.paired.pairing_id for match in matches if pairing_of(match)])
    return [match_row(match, changes, name_ladder=name_ladder) for match in matches]


# A pairing, and the seat.
ChangeKey = tuple[int, int | None]


def rating_changes(pairing_ids: Iterable[int]) -> dict[ChangeKey, RatingChange]:
    """Return the ledger's rows of these pairings; of a set, in which everybody has every seat, only one."""
    rows = RatingChange.objects.filter(pairing__in=list(pairing_ids)).only(*CHANGE)
    return {(row.pairing_id, row.seat): row for row in rows}


def change_of(changes: Mapping[ChangeKey, RatingChange], pairing: Pairing | None, seat: Seat) -> RatingChange | None:
    """Return what a pairing did to the rating of whoever sat there, if anything."""
    return changes.get((pairing.pk, seat.seat)) if pairing else None


def pairing_of(match: Match) -> Pairing | None:
    """Return the pairing that the match belongs to, or None. The match was loaded with it."""
    paired: PairedMatch | None = getattr(match, "paired", None)
    return paired.pairing if paired else None


def match_row(match: Match, changes: Mapping[ChangeKey, RatingChange], *, name_ladder: bool = True) -> MatchRow:
    """Return one match as a list shows it."""
    pairing = pairing_of(match)
    badge, label = badge_of(match, pairing)
    notes = [match.paired.ladder.name] if name_ladder and pairing else []
    if pairing and match.duplicates:
        # What the set did to a rating no match of it did.
        changes = {}
    if pairing and pairing.state == Pairing.State.UNRATED:
        notes.append(why_unrated(pairing.why_unrated, how=match.how))
    return MatchRow(
        id=match.code,
        url=reverse("match", args=[match.code]),
        state=badge,
        state_label=label,
        seats=tuple(_seat_cell(seat, change_of(changes, pairing, seat)) for seat in placed(match.players.all())),
        when=match.finished_at or match.created_at,
        note=" · ".join(notes),
        set_url=reverse("ladder_pairing", args=[match.paired.ladder.slug, pairing.pk])
        if pairing and match.duplicates
        else "",
    )


def placed(players: Iterable[Seat]) -> list[Seat]:
    """Return a match's players, best place first."""
    return sorted(players, key=lambda seat: (seat.place or 0, seat.entrant))


def _seat_cell(seat: Seat, change: RatingChange | None) -> SeatCell:
    moved = round(change.after - change.before) if change else None
    return SeatCell(seat.name, player_url(seat), seat.place, seat.total, moved)


def player_url(player: Seat | Entry) -> str:
    """Return the address of the bot or the person who plays, or an empty string."""
    if player.bot is not None:
        return reverse("bot", args=[player.bot.slug])
    return reverse("person", args=[player.user.username]) if player.user is not None else ""


def badge_of(match: Match, pairing: Pairing | None) -> tuple[str, str]:
    """Return the badge of a match's state and what it says."""
    state = Match.State
    running = {
        state.WAITING: ("waiting", _("waiting")),
        state.QUEUED: ("waiting", _("waiting")),
        state.OPEN: ("open", _("open")),
        state.PLAYING: ("live", _("playing")),
        state.SHOWING: ("showing", _("on show")),
        state.SEALED: ("sealed", pgettext("a match whose result nobody may see yet", "sealed")),
        state.VOID: ("void", pgettext("a match without result", "void")),
    }
    if match.state in running:
        return running[state(match.state)]
    if match.kind == Match.Kind.TRIAL:
        return "trial", _("trial")
    if pairing is None:
        return "finished", _("finished")
    if pairing.state == Pairing.State.PLAYING:
        return "finished", _("being rated")
    return pairing.state, str(pairing.get_state_display())


def why_unrated(why: str, *, how: str = "") -> str:
    """Say in a sentence why a pairing counts for nothing; `how` is how the match ended of which it is said."""
    if why == "void":
        return _why_void().get(how, _("Not rated: it has a match without a result."))
    return {
        "one_owner": _("Not rated: entries of one owner played each other."),
        "disqualified": _("Not rated: one of these entries was disqualified."),
    }.get(why, _("Not rated."))


def _why_void() -> dict[str, str]:
    return {
        "platform": _("Not rated: the match was lost through our fault and is void."),
        "operator": _("Not rated: an organiser declared the match void."),
        "gone": _("Not rated: a bot that should have played was deleted, so the match is void."),
        "idle": _("Not rated: nobody moved for half an hour, so the match is void."),
        "season": _("Not rated: the match was not over when the season ended."),
        "given_up": _("Not rated: the match was ended before its first card."),
        "set": _("Not rated: another match of its set is void, so this one was not played."),
    }


def capped_note(change: RatingChange, ladder: Ladder) -> str:
    """Say what the ladder's daily cap withheld of a change, or an empty string."""
    if not change.capped or ladder.daily_cap is None:
        return ""
    points = {"points": f"{abs(change.capped):.1f}", "cap": f"{ladder.daily_cap:g}"}
    if change.capped > 0:
        return _("capped: %(points)s more would pass the %(cap)s that can be won from one owner in a day") % points
    return _("capped: %(points)s more would pass the %(cap)s that can be lost to one owner in a day") % points


def running(ladder: Ladder) -> Q:
    """Return the condition for a ladder's matches that have not ended."""
    return Q(paired__ladder=ladder, paired__pairing__state=Pairing.State.PLAYING, state__in=Match.UNFINISHED)


def read_key(text: str | None) -> int | None:
    """Read a key, such as a match's id, from an address; None for none, and for what is none."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 18:
        return None
    return int(text)
