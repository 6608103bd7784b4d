"""What every test may use: a Redis of its own, the real site in a thread or as a whole, a real browser."""

import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections, transaction
from django.test import TransactionTestCase

from tests.live import CHROMIUM_FLAGS, Site, Valkey, chromium, until

FILLED_BY_DJANGO = {"django_content_type", "auth_permission"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what splits the suite into what runs on every database and what runs once."""
    parser.addoption(
        "--database", choices=("only", "none"), help="run only the tests that use the database, or the rest"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Change the settings that tests cannot do with: no collected files, and passwords that are quick to hash."""
    config.addinivalue_line("markers", "browser: drives a real browser; runs after all others, or by itself")
    config.addinivalue_line("markers", "e2e: goes through the whole site under `manage.py up`")
    from django.conf import settings

    settings.STORAGES["staticfiles"]["BACKEND"] = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.WHITENOISE_AUTOREFRESH = settings.WHITENOISE_USE_FINDERS = True
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    TransactionTestCase._fixture_teardown = _empty_tables


def _empty_tables(case: TransactionTestCase) -> None:
    """Empty the tables after a test that commits, as `flush` does; but what that would fill in again is left.

    That filling in (content types and permissions), and emptying what is empty, take ten times as long.
    """
    for alias in case._databases_names(include_mirrors=False):
        connection = connections[alias]
        quote = connection.ops.quote_name
        tables = set(connection.introspection.django_table_names(only_existing=True)) - FILLED_BY_DJANGO
        with transaction.atomic(using=alias), connection.cursor() as cursor:
            some = (
                f"SELECT '{table}' FROM (SELECT 1 FROM {quote(table)} LIMIT 1) AS found" for table in sorted(tables)
            )
            cursor.execute(" UNION ALL ".join(some))
            for (table,) in cursor.fetchall():
                cursor.execute(f"DELETE FROM {quote(table)}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put browser tests last: sync Playwright leaves an event loop running, which breaks `async_to_sync`."""
    for item in items:
        if "page" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)
    if wanted := config.getoption("--database"):
        left_out = [item for item in items if _uses_database(item) != (wanted == "only")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _uses_database(item) == (wanted == "only")]


def _uses_database(item: pytest.Item) -> bool:
    return item.get_closest_marker("django_db") is not None or bool(
        {"db", "transactional_db", "django_db_setup", "live_site"} & set(getattr(item, "fixturenames", ()))
    )


@pytest.fixture(scope="session", autouse=True)
def redis_url() -> Iterator[str]:
    """The address of a Valkey of this test run; the settings, caches, channels and Celery point at it."""
    from soureh_site.redis_address import use_redis

    with Valkey() as valkey:
        use_redis(valkey.url)
        os.environ["SANDBOX_REDIS_URL"] = valkey.sandbox_url
        yield valkey.url


@pytest.fixture
def site_redis(redis_url: str) -> Iterator[Any]:
    """A client of that Valkey, with the site's rights."""
    import redis

    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture(scope="session")
def _emptier(redis_url: str) -> Iterator[Any]:
    import redis

    with redis.Redis.from_url(redis_url) as client:
        # Connected before any test counts its descriptors.
        client.ping()
        yield client


@pytest.fixture(autouse=True)
def _empty_redis(_emptier: Any) -> None:
    """Let no test see another one's messages, attempts or rate limits."""
    _emptier.flushall()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the test database of SQLite in a file: one in memory cannot be shared by threads that write."""
    from django.conf import settings

    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        database.setdefault("TEST", {})["NAME"] = str(tmp_path_factory.mktemp("database") / "test.sqlite3")


@pytest.fixture
def site(transactional_db: None, settings: Any) -> Iterator[str]:
    """The address of the real ASGI application, in a thread that shares the test's database; no workers."""
    import uvicorn

    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    server = uvicorn.Server(
        uvicorn.Config("soureh_site.asgi:application", port=0, lifespan="off", log_config=None, ws="websockets-sansio")
    )
    thread = threading.Thread(target=server.run, name="site", daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive(), what="the site answers")
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)
    assert not thread.is_alive()


@pytest.fixture(scope="session")
def live_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The whole site under `manage.py up`, every process real, rounds every ten seconds; one for the session."""
    with Site(tmp_path_factory.mktemp("live"), ROUND_S="10", **_live_database()) as site:
        yield site


def _live_database() -> dict[str, str]:
    """Return DATABASE_URL of a database of its own where the suite runs on PostgreSQL."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        return {}
    import psycopg

    name = f"live_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return {"DATABASE_URL": url.rpartition("/")[0] + "/" + name}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium under Playwright; the test is left out where there is none, unless CI is set."""
    path = chromium()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("expected a Chromium on the PATH: none found")
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright's loop runs in the thread that asks the database
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A fresh browser page; at the end there must be no error on its console and no request to another host."""
    context = browser.new_context()
    page = context.new_page()
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: None if _is_ours(request.url) else problems.append(f"asked {request.url}"))
    page.problems = problems  # a test that provokes an error empties it
    yield page
    context.close()
    assert problems == []


def _is_ours(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "about:"))
