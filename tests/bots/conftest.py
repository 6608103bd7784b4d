"""The sandbox, for the tests that run bots: skipped with the reason where there is none, never in CI."""

import os

import pytest

from bots.process import Limits
from bots.sandbox import probe

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


@pytest.fixture
def limits() -> Limits:
    """Limits under which every clock runs out within a second or two."""
    return QUICK
