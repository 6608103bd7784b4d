from django.apps import AppConfig


class GamesConfig(AppConfig):
    name = "games"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have every new version play its trial."""
        from bots.signals import version_uploaded
        from games.trials import on_version_uploaded

        version_uploaded.connect(on_version_uploaded, dispatch_uid="games.trials")
