"""The probe refuses every host on which one denial is missing, and says what is missing."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bots.sandbox import ProbeReport, SandboxError, launcher, policy, probe, probing, require
from bots.sandbox.launcher import launch
from bots.sandbox.limits import Limits
from bots.sandbox.runtime import Runtime

PROJECT = Path(__file__).parents[2]
ALLOW_ALL = bytes.fromhex("06000000 0000ff7f")

is_root = os.geteuid() == 0
needs_root = pytest.mark.skipif(not is_root, reason="mode B and the choice between modes are root's")


@pytest.fixture(autouse=True)
def fresh_probe() -> Iterator[None]:
    probe.cache_clear()
    yield
    probe.cache_clear()


def test_every_attempt_is_denied_here(sandbox: str) -> None:
    report = probe()
    assert report.ok
    assert report.mode == require() == sandbox
    assert set(report.checks.values()) == {"denied"}
    assert len(report.checks) > 20


@needs_root
@pytest.mark.parametrize("mode", ["A", "B"])
def test_every_attempt_is_denied_in_each_mode(mode: str, sandbox: str) -> None:
    assert set(probing.try_mode(mode).values()) == {"denied"}


def test_missing_bwrap_is_named_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher.shutil, "which", lambda *_, **__: None)
    assert probe() == ProbeReport(
        False, None, "bots cannot run safely here: bubblewrap is not installed (apt install bubblewrap)"
    )
    with pytest.raises(SandboxError, match="apt install bubblewrap"):
        require()


def test_old_bwrap_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "bwrap"
    old.write_text("#!/bin/sh\necho bubblewrap 0.6.1\n")
    old.chmod(0o755)
    monkeypatch.setattr(probing, "bwrap_path", lambda: str(old))
    assert probe().reason.startswith("bots cannot run safely here: expected bubblewrap 0.8 or newer: bubblewrap 0.6.1")


def test_missing_filter_is_seen(monkeypatch: pytest.MonkeyPatch, sandbox: str) -> None:
    monkeypatch.setattr(launcher, "filter_program", lambda: ALLOW_ALL)
    probe.cache_clear()
    report = probe()
    assert not report.ok
    assert report.mode is None
    assert "internet socket (done: <socket" in report.reason
    assert "flock (locked)" in report.reason
    with pytest.raises(SandboxError, match="not denied"):
        require()


def test_writable_folder_is_seen(monkeypatch: pytest.MonkeyPatch, sandbox: str) -> None:
    def with_tmp(files: object, fds: object, bot: object, tree: object = launcher._tree) -> Iterator[str]:
        yield from ("--tmpfs", "/tmp")
        yield from tree(files, fds, bot)  # type: ignore[operator]

    monkeypatch.setattr(launcher, "_tree", with_tmp)
    monkeypatch.setattr(launcher, "filter_program", lambda: ALLOW_ALL)
    checks = probing.try_mode(sandbox)
    # Landlock, where the kernel has it, is the second wall; the rlimits still hold.
    assert checks["write a file"] in ("wrote to /tmp", "denied")
    assert checks["memory"] == "denied"
    assert checks["raise a limit"] == "denied"


def test_broken_filter_is_no_start(monkeypatch: pytest.MonkeyPatch, sandbox: str) -> None:
    monkeypatch.setattr(launcher, "filter_program", lambda: b"\xff" * 16)
    with pytest.raises(SandboxError, match="the sandbox did not start: OSError: .*Invalid argument"):
        launch({"bot.py": b""}, limits=Limits(), mode=sandbox)


def test_missing_python_is_no_start(monkeypatch: pytest.MonkeyPatch, sandbox: str) -> None:
    monkeypatch.setattr(launcher, "runtime", lambda: Runtime(python="/usr/bin/python0"))
    with pytest.raises(SandboxError, match="the sandbox did not start: bwrap: .*python0"):
        launch({"bot.py": b""}, limits=Limits(), mode=sandbox)


def test_what_ends_before_it_is_looked_at_is_told_in_bwraps_words(
    monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    first_process = launcher._first_process

    def looked_at_late(*arguments: Any) -> int:
        first = first_process(*arguments)
        while Path(f"/proc/{first}").exists():
            time.sleep(0.01)
        return first

    monkeypatch.setattr(launcher, "_first_process", looked_at_late)
    monkeypatch.setattr(launcher, "runtime", lambda: Runtime(python="/usr/bin/python0"))
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(SandboxError, match="the sandbox did not start: bwrap: .*python0"):
        launch({"bot.py": b""}, limits=Limits(), mode=sandbox)
    assert len(os.listdir("/proc/self/fd")) == before


def test_filter_is_made_once_and_of_reasonable_size(sandbox: str) -> None:
    assert policy.filter_program() is policy.filter_program()
    assert 200 < len(policy.filter_program()) / 8 < 500


# Loads a filter of its own that refuses namespaces as such hosts do, then probes.
FORBIDDING = """
import errno, json, os, sys
import pyseccomp as seccomp
sys.path.insert(0, sys.argv[1])
from bots.sandbox import probe
rules = seccomp.SyscallFilter(seccomp.ALLOW)
flag = int(sys.argv[2])
for name in ("unshare", "clone"):
    rules.add_rule(seccomp.ERRNO(errno.EPERM), name, seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
rules.load()
if sys.argv[3] != "0":
    os.setgroups([]); os.setgid(int(sys.argv[3])); os.setuid(int(sys.argv[3]))
report = probe()
print(json.dumps([report.ok, report.mode, report.reason]))
"""
NEWUSER, NEWPID = 0x10000000, 0x20000000


def probed(flag: int, *, uid: int) -> tuple[bool, str | None, str]:
    """Probe in a process to which this namespace is forbidden."""
    command = [sys.executable, "-c", FORBIDDING, str(PROJECT), str(flag), str(uid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    ok, mode, reason = json.loads(done.stdout)
    return ok, mode, reason


@needs_root
def test_root_without_user_namespaces_gets_mode_b(sandbox: str) -> None:
    assert probed(NEWUSER, uid=0) == (True, "B", "")


@needs_root
def test_without_user_namespaces_nobody_else_gets_any(sandbox: str) -> None:
    ok, mode, reason = probed(NEWUSER, uid=61002)
    assert (ok, mode) == (False, None)
    assert reason.startswith("bots cannot run safely here: mode A: the sandbox did not start: bwrap: ")
    assert "user namespaces are" in reason


@needs_root
def test_without_process_namespaces_even_root_gets_none(sandbox: str) -> None:
    ok, mode, reason = probed(NEWPID, uid=0)
    assert (ok, mode) == (False, None)
    assert "mode A: " in reason and "mode B: " in reason


@needs_root
def test_unprivileged_worker_gets_mode_a(sandbox: str) -> None:
    # A flag that nothing asks for: nothing is forbidden.
    assert probed(0x80, uid=61002) == (True, "A", "")


@pytest.mark.parametrize(
    ("switch", "value", "cure"),
    [
        ("APPARMOR", "1\n", "/etc/apparmor.d/bwrap"),
        ("CLONE_SWITCH", "0\n", "kernel.unprivileged_userns_clone=1"),
        ("MAX_NAMESPACES", "0\n", "user.max_user_namespaces=10000"),
        (None, "", "in a container"),
    ],
)
def test_hint_names_what_forbids_namespaces(
    switch: str | None, value: str, cure: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("APPARMOR", "CLONE_SWITCH", "MAX_NAMESPACES"):
        path = tmp_path / name
        if name == switch:
            path.write_text(value)
        monkeypatch.setattr(probing, name, path)
    assert cure in probing._hint("bwrap: No permissions to create new namespace")
    assert probing._hint("bwrap: Can't find source path") == ""


def test_command_that_is_printed_writes_the_profile_that_the_manual_shows() -> None:
    writing = probing.ALLOW_BWRAP.split(" | ")[0]
    profile = subprocess.run(["sh", "-c", writing], capture_output=True, text=True, check=True).stdout
    assert f"<<'PROFILE'\n{profile}PROFILE\n" in (PROJECT / "docs" / "operations.md").read_text()
