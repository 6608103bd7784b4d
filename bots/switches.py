"""Read the operator's switches; only the admin turns them."""

from django.utils.translation import gettext as _

from bots.models import Switch


def pause_note(name: str) -> str | None:
    """Return what people should be told while `name` is paused, or None while it runs."""
    switch = Switch.objects.filter(name=name, is_paused=True).first()
    if switch is None:
        return None
    return switch.note or _("This is paused by the operators at the moment. Please try again later.")
