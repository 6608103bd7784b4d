"""A cgroup for each bot: whose it may be, what is written where, and that none is left behind.

What needs the kernel runs in a cgroup of its own below the v2 hierarchy's root, without controllers, which a machine
with v1 beside it has not got; `tests/endurance/cgroups.py` runs it all with them, on a kernel of its own.
"""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bots.sandbox import cgroups
from bots.sandbox.cgroups import LEAF, BotCgroup, Cgroups, NotDelegated, delegated
from bots.sandbox.limits import Limits
from tests.bots.jails import MODES

PROJECT = Path(__file__).parents[2]


# Whose it may be


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host as its files tell of it: this process lives in `/unit`, delegated with both controllers."""
    mount = tmp_path / "cg"
    unit = mount / "unit"
    (unit / LEAF).mkdir(parents=True)
    for name in ("cgroup.events", "cgroup.procs", "cgroup.subtree_control"):
        (unit / name).touch()
    (unit / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "cgroup").write_text("1:name=systemd:/x\n0::/unit\n")
    lines = ["24 1 0:22 / /sys rw - sysfs sysfs rw", f"30 24 0:26 / {mount} rw,nosuid shared:9 - cgroup2 cgroup2 rw"]
    (tmp_path / "self" / "mountinfo").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(cgroups, "PROC", tmp_path)
    monkeypatch.setattr(cgroups, "SYSTEMD", tmp_path / "no-systemd")
    return tmp_path


def test_delegated_unit_is_taken(host: Path) -> None:
    assert delegated() == host / "cg" / "unit"


def test_worker_that_was_started_in_the_leaf_takes_the_folder_above(host: Path) -> None:
    (host / "self" / "cgroup").write_text(f"0::/unit/{LEAF}\n")
    assert delegated() == host / "cg" / "unit"


def test_container_sees_its_own_part_of_the_hierarchy(host: Path) -> None:
    mount = host / "cg" / "unit"
    line = f"30 24 0:26 /docker/a\\040b {mount} rw - cgroup2 cgroup2 rw\n"
    (host / "self" / "mountinfo").write_text(line)
    (host / "self" / "cgroup").write_text("0::/docker/a b\n")
    assert delegated() == mount


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("self/cgroup", "4:memory:/x\n1:name=systemd:/x\n", "no cgroup v2 here"),
        ("self/cgroup", "0::/../elsewhere\n", "outside of this namespace"),
        ("self/cgroup", "0::/\n", "nobody's own"),
        ("self/mountinfo", "24 1 0:22 / /sys rw - sysfs sysfs rw\n", "mounted nowhere"),
        ("self/mountinfo", "30 24 0:26 /other /cg rw - cgroup2 cgroup2 rw\n", "mounted nowhere"),
        ("cg/unit/cgroup.controllers", "", "no controllers here: memory pids"),
        ("cg/unit/cgroup.controllers", "cpu pids", "no controllers here: memory"),
    ],
)
def test_what_is_no_subtree_of_ours_is_left_alone(file: str, content: str, reason: str, host: Path) -> None:
    (host / file).write_text(content)
    with pytest.raises(NotDelegated, match=reason):
        delegated()


@pytest.mark.skipif(os.geteuid() != 0, reason="others are refused by the files' permissions")
def test_root_takes_nothing_that_systemd_holds_itself(host: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (host / "no-systemd").mkdir()
    with pytest.raises(NotDelegated, match="systemd holds"):
        delegated()
    monkeypatch.setattr(cgroups.os, "getxattr", lambda path, name: b"1" if name == "trusted.delegate" else b"0")
    assert delegated() == host / "cg" / "unit"


# What is written where


def test_limits_are_written_as_the_rlimits_are() -> None:
    limits = Limits(memory_mb=100)
    written = dict(Cgroups(Path("/none"))._limits(limits))
    assert written == {
        "memory.max": str(132 << 20),
        "memory.oom.group": "1",
        "memory.swap.max": "0",
        "pids.max": "18",
    }
    assert list(Cgroups(Path("/none"), ())._limits(limits)) == []


@pytest.mark.parametrize(
    ("events", "is_own_fault"),
    [
        ("low 0\nmax 12\noom 1\noom_kill 1\n", True),
        ("low 0\nmax 12\noom 1\noom_kill 0\n", False),
        # The host, or the whole worker, ran out of memory.
        ("low 0\nmax 0\noom 0\noom_kill 1\n", False),
        ("low 0\n", False),
        (None, False),
    ],
    ids=["own limit", "not killed", "host in need", "nothing", "no controller"],
)
def test_only_its_own_limit_is_the_bots_fault(events: str | None, is_own_fault: bool, tmp_path: Path) -> None:
    if events is not None:
        (tmp_path / "memory.events").write_text(events)
    assert BotCgroup(tmp_path).is_out_of_memory() == is_own_fault


# In a real hierarchy


@pytest.fixture
def base() -> Iterator[Path]:
    """A cgroup of this test's own."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    points = [fields[1] for fields in mounts if fields[2] == "cgroup2" and "ro" not in fields[3].split(",")]
    if not points or not os.access(points[0], os.W_OK):
        pytest.skip("no cgroup v2 in which this user may make one")
    path = Path(points[0]) / f"soureh-test-{os.getpid()}"
    try:
        path.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made: {error}")
    yield path
    for folder in [*(child for child in path.iterdir() if child.is_dir()), path]:
        BotCgroup(folder).kill()
        BotCgroup(folder).remove()
        assert not folder.exists()


def members(path: Path) -> list[int]:
    return [int(pid) for pid in (path / "cgroup.procs").read_text().split()]


def folders(base: Path) -> list[str]:
    return sorted(path.name for path in base.iterdir() if path.is_dir())


def test_killing_a_cgroup_ends_all_that_is_in_it_and_it_is_removed(base: Path) -> None:
    cgroup = Cgroups(base, ()).add(Limits())
    # It starts a process of its own and ignores what can be ignored.
    command = ["/bin/sh", "-c", "trap '' TERM INT HUP; sleep 600 & echo; wait"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        cgroup.take(process.pid)
        process.stdout.readline()
        assert cgroup.holds(process.pid)
        if not (cgroup.path / "cgroup.kill").exists():
            process.kill()
            pytest.skip("cgroup.kill came with Linux 5.14")
        cgroup.kill()
        assert process.wait(10) == -signal.SIGKILL
    cgroup.remove()
    cgroup.remove()
    assert folders(base) == []


WORKER = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from bots.sandbox import cgroups, launcher
from bots.sandbox.limits import Limits
base, mode = Path(sys.argv[2]), sys.argv[3]
cgroups._write(base / "cgroup.procs", str(os.getpid()))
found = cgroups.Found(cgroups.take_over(base, ()))
launcher.own_cgroups = lambda: found
jails = [launcher.launch({"bot.py": b"input()"}, limits=Limits(), mode=mode) for _ in range(2)]
print(json.dumps([jail.pid for jail in jails]), flush=True)
sys.stdin.readline()
jails[0].close()
print(flush=True)
sys.stdin.readline()
"""


@pytest.fixture(params=MODES)
def worker(base: Path, request: pytest.FixtureRequest, sandbox: str) -> Iterator["subprocess.Popen[str]"]:
    """A worker that took `base` over and runs two bots; the first is closed at the first line, all end at the next."""
    command = [sys.executable, "-c", WORKER, str(PROJECT), str(base), request.param]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_every_bot_has_a_cgroup_of_its_own_and_the_worker_a_leaf(base: Path, worker: "subprocess.Popen[str]") -> None:
    assert worker.stdout and worker.stdin
    bots = json.loads(worker.stdout.readline())
    assert members(base) == []
    assert worker.pid in members(base / LEAF)
    leaf, *own = sorted(folders(base), key=lambda name: name != LEAF)
    assert leaf == LEAF and len(own) == 2
    for name, bot in zip(own, bots, strict=True):
        # In mode B bwrap's process 1 is in it too.
        assert bot in members(base / name)
        assert len(members(base / name)) <= 2
    print(file=worker.stdin, flush=True)
    worker.stdout.readline()
    assert folders(base) == sorted([LEAF, own[1]])
    # Its maker lives: nobody else may sweep it away.
    assert Cgroups(base, ()).sweep() == 0
    assert bots[1] in members(base / own[1])


def test_cgroups_of_a_killed_worker_are_swept_by_the_next(base: Path, worker: "subprocess.Popen[str]") -> None:
    assert worker.stdout
    bots = [os.pidfd_open(pid) for pid in json.loads(worker.stdout.readline())]
    worker.kill()
    worker.wait()
    for bot in bots:
        assert select.select([bot], [], [], 10)[0]
        os.close(bot)
    assert len(folders(base)) == 3
    assert Cgroups(base, ()).sweep() == 2
    assert folders(base) == [LEAF]


def test_what_cannot_be_shaped_is_left_as_it_was(base: Path) -> None:
    script = "import sys, os; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
    script += "from bots.sandbox import cgroups; base = Path(sys.argv[2])\n"
    script += "cgroups._write(base / 'cgroup.procs', str(os.getpid()))\n"
    # This controller is nowhere, so that the kernel refuses it.
    script += "try: cgroups.take_over(base, ('none',))\nexcept cgroups.NotDelegated as error: print(error)\n"
    script += "print(cgroups._own_cgroup() == base)\n"
    done = subprocess.run([sys.executable, "-c", script, str(PROJECT), str(base)], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[0].startswith(f"{base} cannot be shaped: ")
    assert done.stdout.splitlines()[1] == "True"
    assert folders(base) == []
