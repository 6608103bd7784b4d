"""The sandbox, for the tests that run bots: skipped with the reason where there is none, never in CI; and an owner."""

import os
from typing import Any

import pytest
from django.test import Client

from bots.process import Limits
from bots.sandbox import probe
from tests.bots.jails import MODES
from tests.people import person

QUICK = Limits(start_s=2.0, move_s=0.3, bank_s=0.25, wall_s=0.8, match_wall_s=60.0, memory_mb=96)


@pytest.fixture(scope="session")
def sandbox() -> str:
    """The mode in which bots run here."""
    report = probe()
    if not report.ok and os.environ.get("CI"):
        pytest.fail(f"no sandbox in CI: {report.reason}")
    if not report.ok:
        pytest.skip(f"no sandbox: {report.reason}")
    assert report.mode is not None
    return report.mode


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """Each mode in which bots can run here."""
    return str(request.param)


@pytest.fixture
def limits() -> Limits:
    """Limits under which every clock runs out within a second or two."""
    return QUICK


@pytest.fixture
def ada(db: None) -> Any:
    """A person who owns no bot yet."""
    return person("ada")


@pytest.fixture
def client(ada: Any) -> Client:
    """Her browser, logged in."""
    client = Client()
    client.force_login(ada)
    return client
