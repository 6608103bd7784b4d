"""What the documents say is what the files are."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from soureh_site.valkey import SANDBOX_COMMANDS, SANDBOX_KEYS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SETTINGS = (ROOT / "soureh_site" / "settings.py").read_text(encoding="utf-8")


def test_readme_has_a_row_for_every_setting_and_none_else():
    read = set(re.findall(r'environment\.\w+\(\s*"([A-Z_]+)"', SETTINGS))
    described = set(re.findall(r"^\| `([A-Z_]+)` \|", README, re.MULTILINE))
    assert len(read) > 12
    assert described == read


@pytest.mark.parametrize(
    ("name", "value"), re.findall(r'environment\.number\("([A-Z_]+)", (\d+)', SETTINGS), ids=lambda value: str(value)
)
def test_readme_has_the_defaults_of_numbers(name, value):
    assert f"| `{name}` | `{value}` |" in README


def test_readme_shows_the_example_bot():
    assert f"```python\n{(ROOT / 'docs' / 'example_bot.py').read_text()}```" in README


@pytest.mark.parametrize("document", ["README.md", "docs/operations.md"])
def test_documents_link_to_files_that_are_there(document):
    path = ROOT / document
    links = re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8"))
    missing = [link for link in links if not (path.parent / link).exists() and not link.endswith("screenshot.png")]
    assert missing == []


def test_deployed_sandbox_user_may_do_what_the_embedded_one_may():
    users = (ROOT / "deploy" / "redis-users.acl").read_text()
    assert f"resetchannels {SANDBOX_KEYS} {SANDBOX_COMMANDS}\n" in users


@pytest.mark.parametrize("name", ["site.env", "sandbox.env"])
def test_deployed_settings_are_the_same_to_a_shell_and_to_systemd(name):
    path = ROOT / "deploy" / name
    written = dict(re.findall(r"^([A-Z_]+)=(.*)$", path.read_text(), re.MULTILINE))
    script = f"set -aeu; . {shlex.quote(str(path))}; env"
    seen = subprocess.run(["sh", "-c", script], env={"PATH": os.environ["PATH"]}, capture_output=True, text=True)
    assert seen.returncode == 0, seen.stderr
    assert written and {f"{key}={value.strip(chr(39))}" for key, value in written.items()} <= set(
        seen.stdout.split("\n")
    )


def test_deployed_workers_of_bots_get_no_secret_of_the_site():
    units = list((ROOT / "deploy").glob("*.service"))
    assert len(units) == 7
    for unit in units:
        text = unit.read_text()
        expected = "sandbox.env" if "soureh_site.sandbox_worker" in text else "site.env"
        assert f"EnvironmentFile=/etc/soureh/{expected}\n" in text
    names = re.findall(r"^([A-Z_]+)=", (ROOT / "deploy" / "sandbox.env").read_text(), re.MULTILINE)
    assert names == ["SANDBOX_REDIS_URL"]
