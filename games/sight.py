"""Who may know of a match at all. What its cards may show is another question, and the engine's."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from games.models import Match, Seat


def visible_matches(user: Any) -> QuerySet[Match]:
    """Return the matches that `user` may know of: all but other people's trials."""
    if not user.is_authenticated:
        return Match.objects.exclude(kind=Match.Kind.TRIAL)
    own = Exists(Seat.objects.filter(match=OuterRef("pk"), bot__owner=user))
    return Match.objects.filter(~Q(kind=Match.Kind.TRIAL) | own)
