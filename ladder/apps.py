from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class LadderConfig(AppConfig):
    name = "ladder"
    verbose_name = _("ladders")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect the listener that has finished matches rated."""
        import_module("ladder.tasks")
