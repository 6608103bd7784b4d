"""`manage.py up`: it starts, says so, keeps things alive, and leaves nothing behind however it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.live import ROOT, Site, free_port, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(scope="module")
def up(tmp_path_factory):
    with Site(tmp_path_factory.mktemp("up site")) as running:  # a path with a space
        yield running


def pid_of(site: Site, part: str) -> int:
    """Return the oldest process whose command line holds `part`."""
    return min(pid for pid, line in site.processes().items() if part in line)


def run_dir(site: Site) -> str:
    return json.loads((site.folder / "up.lock").read_text())["run_dir"]


def healthz(site: Site) -> dict[str, Any]:
    with urllib.request.urlopen(f"{site.url}/healthz", timeout=5) as answer:
        found: dict[str, Any] = json.loads(answer.read())
    return found


def test_bots_can_be_run_a_moment_after_the_start(up):
    until(lambda: healthz(up)["bots"] == {"ok": True, "unserved": [], "refusing": {}}, what="workers have looked")


def test_up_answers_before_it_says_ready_and_prints_the_password_once(up):
    found = healthz(up)
    # The workers may still be at their first look at the jail.
    del found["bots"]
    assert found == {"database": True, "redis": True, "disk": True, "ok": True}
    passwords = [found[1] for line in up.lines if (found := re.search(r"one-time password (\S+)", line))]
    assert len(passwords) == 1
    assert all(passwords[0].encode() not in path.read_bytes() for path in up.folder.rglob("*") if path.is_file())


def test_up_serves_hashed_compressed_files(up):
    manifest = json.loads((up.folder / "static" / "staticfiles.json").read_text())["paths"]
    name = manifest["soureh_site/base.css"]
    assert name != "soureh_site/base.css"
    asked = urllib.request.Request(f"{up.url}/static/{name}", headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(asked) as answer:
        assert "immutable" in answer.headers["Cache-Control"] and answer.headers["Content-Encoding"] == "gzip"


def test_a_second_run_says_that_one_is_running(up):
    second = subprocess.run(
        [sys.executable, "manage.py", "up", "--port", str(free_port())],
        env=up.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert second.returncode == 1
    assert f"running already at {up.url}/" in second.stderr and "Traceback" not in second.stderr


def test_a_taken_port_is_named(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        site = Site(tmp_path)
        site.port = taken.getsockname()[1]
        with pytest.raises(AssertionError, match=f"port {site.port} cannot be used"):
            site.start()


@pytest.mark.parametrize("port", ["0", "-1", "65536", "http"])
def test_a_port_that_is_none_is_named(tmp_path, port):
    done = subprocess.run(
        [sys.executable, "manage.py", "up", "--port", port],
        env=Site(tmp_path).environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "argument --port" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("kind", ["no answer", "no file", "no database"])
def test_database_that_cannot_be_used_is_named_without_a_traceback(tmp_path, kind):
    address = {
        "no answer": f"postgresql://me:s3kret@127.0.0.1:{free_port()}/soureh",
        "no file": f"sqlite:///{tmp_path}/nowhere/db.sqlite3",
        "no database": "",
    }[kind]
    if not address:
        (tmp_path / "db.sqlite3").mkdir()
    site = Site(tmp_path, DATABASE_URL=address)
    with pytest.raises(AssertionError) as ended:
        site.start()
    said = str(ended.value)
    assert ("DATABASE_URL: this" if address else "db.sqlite3: this") in said and "database cannot be used: " in said
    assert "Traceback" not in said and "s3kret" not in said
    assert not site.processes()


def test_sandboxed_workers_hold_no_secret(up):
    workers = [pid for pid, line in up.processes().items() if "soureh_site.sandbox_worker" in line]
    assert len(workers) >= 3
    for pid in workers:
        with open(f"/proc/{pid}/environ") as file:
            names = {item.partition("=")[0] for item in file.read().split("\0") if item}
        assert names <= {
            *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LOG_LEVEL"),
            *("SANDBOX_REDIS_URL", "SOUREH_UP", "PYTHONUNBUFFERED"),
        }, names


@pytest.mark.parametrize("part", ["soureh_site.web", "valkey-server", "soureh_site/guard.py"])
def test_a_killed_child_is_started_again(up, part):
    killed = pid_of(up, part)
    os.kill(killed, signal.SIGKILL)
    until(lambda: any(part in line and pid != killed for pid, line in up.processes().items()), what=f"another {part}")
    until(lambda: healthy(up), what="healthy again")


def healthy(site: Site) -> bool:
    try:
        with urllib.request.urlopen(f"{site.url}/healthz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def test_a_killed_manager_leaves_nothing(up):
    """Kill the site, which those below start again."""
    folder = run_dir(up)
    os.kill(up.process.pid, signal.SIGKILL)
    up.process.wait()
    until(lambda: not up.processes(), what="no process left")
    until(lambda: not os.path.exists(folder), what="no folder left")
    up.process.stdout.close()


def test_up_is_ready_where_its_own_address_is_no_allowed_host(up):
    if up.process.poll() is None:
        up.stop()
    up.environment["ALLOWED_HOSTS"] = "soureh.example.org"
    up.start()
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(f"{up.url}/healthz")


def test_a_second_start_makes_no_administrator_and_ctrl_c_stops_all(up):
    folder = run_dir(up)
    assert sum("one-time password" in line for line in up.lines) == 1
    assert up.stop(signal.SIGINT) == 0
    assert up.processes() == {} and not os.path.exists(folder)
