"""The ledger under processes that are killed between rating and commit: a small run of tests/endurance/ledger.py."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection

SCRIPT = Path(__file__).parents[1] / "endurance" / "ledger.py"


def address() -> str:
    """Return DATABASE_URL of the test's own database."""
    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite":
        return f"sqlite:///{quote(name)}"
    return os.environ["DATABASE_URL"].rpartition("/")[0] + "/" + name


@pytest.mark.django_db(transaction=True)
def test_ledger_of_killed_processes_equals_its_replay_to_the_last_bit() -> None:
    connection.close()
    sizes = ["--pairings", "120", "--processes", "8", "--kills", "8", "--seed", "5", "--ended"]
    command = [sys.executable, str(SCRIPT), *sizes, "--database", address()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "everything holds" in done.stdout
    assert "4 connection" in done.stdout and "4 process" in done.stdout
