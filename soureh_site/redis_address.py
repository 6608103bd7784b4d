"""Point a running process at another Redis: `manage.py up` and the tests start their own after the settings."""

import os

from django.conf import settings

from soureh_site import broker
from soureh_site.celery import app


def use_redis(url: str) -> None:
    """Make this process, and every child that inherits its environment, use the Redis at `url`."""
    os.environ["REDIS_URL"] = url
    settings.REDIS_URL = url
    if not os.environ.get("SANDBOX_REDIS_URL"):
        settings.SANDBOX_REDIS_URL = url
    settings.CACHES["default"]["LOCATION"] = url
    settings.CHANNEL_LAYERS["default"]["CONFIG"]["hosts"] = [url]
    settings.CELERY_BROKER_URL = broker.broker_url(url)
    app.conf.update(broker_url=settings.CELERY_BROKER_URL)
