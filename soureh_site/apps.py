from django.apps import AppConfig


class SourehSiteConfig(AppConfig):
    name = "soureh_site"

    def ready(self) -> None:
        """Make the trusted Celery app current, so that tasks of every room are sent through it."""
        from soureh_site import celery  # noqa: F401
