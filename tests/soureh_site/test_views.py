"""The health check and the pages for what goes wrong."""

import pytest
from django.db import connection
from django.test import Client

from soureh_site.redis_address import use_redis


@pytest.mark.django_db
def test_healthz_is_well_with_database_and_redis(client):
    answer = client.get("/healthz")
    assert answer.status_code == 200 and answer.json() == {"database": True, "redis": True, "ok": True}
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
    assert answer.status_code == 503 and answer.json() == {"database": True, "redis": False, "ok": False}


@pytest.mark.django_db
def test_healthz_says_that_the_database_is_away(client):
    from django.db import OperationalError

    def refuse(*_):
        raise OperationalError("away")

    with connection.execute_wrapper(refuse):
        answer = client.get("/healthz")
    assert answer.status_code == 503 and answer.json() == {"database": False, "redis": True, "ok": False}


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
