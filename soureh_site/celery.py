"""The trusted Celery app: loads Django, holds the database, consumes `results` and `slow`, runs beat."""

import os

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "soureh_site.settings")

app = Celery("soureh")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def _keep_django_logging(**_: object) -> None:
    """Leave logging as the settings have set it up: with a receiver here Celery does not touch it."""
