"""The rows of a ladder's table of standings: what is shown of each entry, and no more of it.

A row is plain values as they are shown, whole Elo points, so that a page of hundreds is rendered anew only where
something that can be seen has changed.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ladder import fits
from ladder.models import Entry, Ladder
from ladder.standings import SHOWN, average_place, lost, scale_of


class StandingRow(NamedTuple):
    """What `ladder/_standing.html` takes. Figures on the Elo scale are rounded; None shows a dash, or nothing."""

    ladder: str
    entry: int
    name: str
    is_own: bool
    owner: str
    is_bot: bool
    is_paused: bool
    rank: int | None
    starts_band: bool
    by_fit: bool
    strength: int | None
    low: int | None
    high: int | None
    half_width: int | None
    is_provisional: bool
    scale_low: int
    scale_high: int
    chance: float | None
    """To end ahead of `against`; None if it is not known."""
    against: str
    rating: int
    change: int | None
    trend: tuple[int, ...]
    pairings: int
    won_drawn_lost: str
    """Empty where a match has more than two players."""
    average_place: float | None


def standing_rows(ladder: Ladder, entries: Sequence[Entry], user: Any, *, sort: str) -> list[StandingRow]:
    """Return a row for each of `entries`, as `standings` gives them; one query."""
    against = _whom_to_compare(entries, user)
    chances = fits.chances_against(ladder, against, entries) if against else {}
    low, high = map(round, scale_of(entries))
    by_fit = ladder.ranked_by == Ladder.RankedBy.FIT
    rows = []
    for before, entry in zip([None, *entries], entries, strict=False):
        place = average_place(entry)
        rows.append(
            StandingRow(
                ladder=ladder.slug,
                entry=entry.pk,
                name=entry.name,
                is_own=entry.is_owned_by(user),
                owner=entry.owner_name or "",  # type: ignore[attr-defined]
                is_bot=entry.bot is not None,
                is_paused=entry.state == Entry.State.PAUSED,
                rank=entry.rank,  # type: ignore[attr-defined]
                starts_band=by_fit and sort == "strength" and before is not None and _are_apart(before, entry),
                by_fit=by_fit,
                strength=_rounded(entry.strength),
                low=_rounded(entry.low),
                high=_rounded(entry.high),
                half_width=_rounded(entry.half_width),
                is_provisional=entry.is_provisional,
                scale_low=low,
                scale_high=high,
                chance=_in_thousandths(chances.get(entry.pk)),
                against=against.name if against else "",
                rating=round(entry.rating),
                change=_rounded(entry.recent_change),
                trend=tuple(map(round, entry.recent_ratings)),
                pairings=entry.pairings,
                won_drawn_lost=f"{entry.won}–{entry.drawn}–{lost(entry)}" if ladder.seats == 2 else "",
                average_place=place and round(place, 2),
            )
        )
    return rows


def own_elsewhere(entries: Iterable[Entry], page: int, user: Any) -> list[dict[str, Any]]:
    """Return the reader's entries that stand on other pages, each with the number of its page."""
    own = [entry for entry in entries if entry.is_owned_by(user)]
    pages = [(entry, (entry.position - 1) // SHOWN + 1) for entry in own]  # type: ignore[attr-defined]
    return [{"entry": entry, "page": number} for entry, number in pages if number != page]


def _whom_to_compare(entries: Iterable[Entry], user: Any) -> Entry | None:
    """Return against whom the page tells everybody's chances: the reader's own best, or who is first on it."""
    known = [entry for entry in entries if entry.strength is not None]
    own = [entry for entry in known if entry.is_owned_by(user)]
    return next(iter(own or known), None)


def _are_apart(one: Any, other: Any) -> bool:
    """Tell whether two entries of a ladder that ranks by bands are in different ones; who is in none is so from nobody.

    By their ranks, which a closed ladder keeps.
    """
    return None not in (one.band, other.band) and one.rank != other.rank


def _in_thousandths(share: float | None) -> float | None:
    """Round a share of 1; what is neither none nor all does not come to be shown so."""
    return share if share in (None, 0.0, 1.0) else min(max(round(share, 3), 0.001), 0.999)


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)
