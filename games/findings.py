"""Keep what the sweeps find, for the operators' health page."""

from games.models import Finding

KEPT = 500


def note(what: str, subject: str, detail: str = "") -> None:
    """Remember one finding, in the caller's transaction."""
    Finding.objects.create(what=what, subject=subject[:80], detail=detail.replace("\0", "")[:300])


def prune() -> None:
    """Forget all but the last findings."""
    oldest_kept = Finding.objects.order_by("-id").values_list("id", flat=True)[KEPT - 1 : KEPT].first()
    if oldest_kept is not None:
        Finding.objects.filter(id__lt=oldest_kept).delete()
