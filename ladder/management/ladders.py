"""How commands are told which ladder they mean."""

from django.core.management.base import CommandError

from ladder.models import Ladder


def find_ladder(name: str) -> Ladder:
    """Return the ladder of this slug or name. CommandError names what there is."""
    for field in ("slug", "name"):
        if ladder := Ladder.objects.filter(**{field: name}).first():
            return ladder
    known = ", ".join(Ladder.objects.values_list("slug", flat=True)) or "none"
    raise CommandError(f"expected a ladder, one of {known}: {name!r}", returncode=2)
