"""The trusted Celery app: loads Django, holds the database, consumes `results` and `slow`, runs beat."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "soureh_site.settings")

app = Celery("soureh")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
