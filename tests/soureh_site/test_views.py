"""The health check and the pages for what goes wrong."""

import shutil
from datetime import timedelta

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from games.models import Worker
from games.tasks import worker_alive
from soureh_site import views
from soureh_site.redis_address import use_redis

NO_WORKERS = {"ok": False, "unserved": ["answers", "matches"], "refusing": {}}
WELL = {"database": True, "redis": True, "disk": True, "ok": True, "bots": NO_WORKERS}


@pytest.mark.django_db
def test_healthz_is_well_with_database_and_redis(client):
    answer = client.get("/healthz")
    assert answer.status_code == 200 and answer.json() == WELL
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.django_db
def test_healthz_says_that_redis_is_away(client, redis_url, tmp_path):
    from django.core.cache import caches

    use_redis(f"unix://{tmp_path}/nobody.sock")
    del caches["default"]
    try:
        answer = client.get("/healthz")
    finally:
        use_redis(redis_url)
        del caches["default"]
    assert answer.status_code == 503 and answer.json() == WELL | {"redis": False, "ok": False}


@pytest.mark.django_db
def test_healthz_says_that_the_database_is_away(client):
    from django.db import OperationalError

    def refuse(*_):
        raise OperationalError("away")

    with connection.execute_wrapper(refuse):
        answer = client.get("/healthz")
    assert answer.status_code == 503 and answer.json() == WELL | {"database": False, "ok": False, "bots": None}


@pytest.mark.django_db
def test_healthz_says_that_redis_takes_nothing_any_more(client, redis_url):
    with redis.Redis.from_url(redis_url) as operator:
        # As where its disk is full: it answers, and refuses every write.
        operator.config_set("min-replicas-to-write", 1)
        try:
            answer = client.get("/healthz")
        finally:
            operator.config_set("min-replicas-to-write", 0)
    assert answer.status_code == 503 and answer.json() == WELL | {"redis": False, "ok": False}


@pytest.mark.django_db
def test_healthz_says_that_the_disk_is_full(client, monkeypatch):
    monkeypatch.setattr(views, "LEAST_FREE_BYTES", shutil.disk_usage(settings.VAR).total + 1)
    answer = client.get("/healthz")
    assert answer.status_code == 503 and answer.json() == WELL | {"disk": False, "ok": False}


@pytest.mark.django_db
def test_what_is_not_there_has_a_page(client):
    answer = client.get("/nowhere/at/all/")
    assert answer.status_code == 404 and "There is nothing here" in answer.content.decode()


@pytest.mark.django_db
def test_a_form_without_its_token_is_explained():
    answer = Client(enforce_csrf_checks=True).post("/accounts/login/", {})
    assert answer.status_code == 403 and "send it once more" in answer.content.decode()


def test_our_own_error_has_a_page_that_needs_no_database(rf):
    from django.views.defaults import server_error

    answer = server_error(rf.get("/"))
    assert answer.status_code == 500 and b"Something broke" in answer.content


@pytest.mark.django_db
def test_healthz_says_who_runs_bots_and_who_refuses_why(client):
    def bots(*workers):
        for name, queues, is_ok, reason in workers:
            worker_alive(name, queues, 1, is_ok, reason)
        answer = client.get("/healthz")
        assert answer.status_code == 200 and answer.json()["ok"]
        return answer.json()["bots"]

    refusal = "bots cannot run safely here: bubblewrap is not installed (apt install bubblewrap)"
    # The engine's own worker runs none.
    assert bots(("tables@a", "tables", True, "engine only")) == NO_WORKERS
    seen = bots(("matches@a", "matches", False, refusal), ("answers@a", "answers", True, "sandbox mode A"))
    assert seen == {"ok": False, "unserved": ["matches"], "refusing": {"matches@a": refusal}}
    seen = bots(("matches@b", "matches", True, "sandbox mode A"))
    assert seen == {"ok": True, "unserved": [], "refusing": {"matches@a": refusal}}
    Worker.objects.update(seen_at=timezone.now() - timedelta(hours=1))
    assert bots() == NO_WORKERS
