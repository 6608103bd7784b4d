"""Finished matches: their records, and the frames that a replay steps through.

Everything here is public, and only of matches that have finished: hidden cards, decks and the seed are revealed.
"""

from functools import lru_cache
from typing import Any

from games.engine import record as records
from games.models import Match

KEPT = 128  # finished matches whose frames a process keeps; they never change


class NotFinished(LookupError):
    """The match has no public record: it has not finished, or ended without a result."""


def record(match: Match) -> dict[str, Any]:
    """Return the record of a finished match, `soureh-record/1`.

    Raises:
        NotFinished: nothing of the record is public.
    """
    _require_finished(match)
    return records.unpack(bytes(match.record.packed))


def all_frames(match: Match) -> list[list[dict[str, Any]]]:
    """Return for each hand of a finished match what its replay steps through; callers change nothing in it.

    Raises:
        NotFinished: nothing of the record is public.
    """
    _require_finished(match)
    return _frames(match.code)


def frames(match: Match, hand: int) -> list[dict[str, Any]]:
    """Return the frames of one hand, from 1, of a finished match.

    Raises:
        NotFinished: nothing of the record is public.
        IndexError: there is no such hand.
    """
    found = all_frames(match)
    if not 1 <= hand <= len(found):
        raise IndexError(f"expected a hand from 1 to {len(found)}: {hand}")
    return found[hand - 1]


def _require_finished(match: Match) -> None:
    if match.state != Match.State.FINISHED:
        raise NotFinished(f"expected a finished match: {match.code} is {match.state}")


@lru_cache(maxsize=KEPT)
def _frames(code: str) -> list[list[dict[str, Any]]]:
    # By code, which is never given twice: a database may give the number of a deleted row again.
    return records.frames(record(Match.objects.select_related("record").get(code=code)))
