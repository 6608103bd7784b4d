"""The ledger under processes that are killed between rating and commit: a small run of tests/endurance/ledger.py."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, STDOUT
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
    sizes = ["--pairings", "100", "--processes", "8", "--kills", "8", "--seed", "5", "--ended"]
    command = [sys.executable, str(SCRIPT), *sizes, "--database", address()]
    # In a session of its own, so that none of its processes outlives a run that is broken off.
    with subprocess.Popen(command, stdout=PIPE, stderr=STDOUT, text=True, start_new_session=True) as script:
        try:
            told, _ = script.communicate(timeout=280)
        except BaseException:
            os.killpg(script.pid, signal.SIGKILL)
            raise
    assert script.returncode == 0, told
    assert "everything holds" in told
    assert "4 connection" in told and "4 process" in told
