"""Read the operator's switches; only the admin turns them."""

from django.utils.translation import gettext as _

from bots.models import Switch


def pause_note(name: str) -> str | None:
    """Return what people should be told while `name` is paused, or None while it runs."""
    return pause_notes(name).get(name)


def pause_notes(*names: str) -> dict[str, str]:
    """Return what people should be told, by the name of each switch that is paused; of these names, or of all."""
    paused = Switch.objects.filter(is_paused=True, **({"name__in": names} if names else {}))
    default = _("This is paused by the operators at the moment. Please try again later.")
    return {switch.name: switch.note or default for switch in paused}
