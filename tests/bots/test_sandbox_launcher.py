"""One jail: who runs in it, how its end is told, and that it does not outlive its worker."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bots.sandbox import launcher
from bots.sandbox.ending import Ending, signal_name
from bots.sandbox.launcher import BOT_UID, COMMON, Jail, bwrap_path, launch
from bots.sandbox.leftovers import end_leftovers
from bots.sandbox.limits import Limits
from tests.bots.jails import assert_die_with

PROJECT = Path(__file__).parents[2]
LIMITS = Limits(memory_mb=64)

pytestmark = pytest.mark.usefixtures("sandbox")


@contextmanager
def jailed(source: bytes, mode: str) -> Iterator[Jail]:
    jail = launch({"bot.py": source}, limits=LIMITS, mode=mode)
    try:
        yield jail
    finally:
        jail.close()


def said(jail: Jail) -> str:
    assert select.select([jail.stdout], [], [], 10)[0]
    return os.read(jail.stdout, 65536).decode()


@pytest.mark.parametrize(
    ("source", "status", "number"),
    [
        (b"", 0, None),
        (b"raise SystemExit(3)", 3, None),
        (b"raise ValueError", 1, None),
        (b"raise SystemExit('said')", 1, None),
        (b"raise SystemExit(200)", 127, None),
        (b"raise SystemExit(-1)", 127, None),
        (b"hoard = bytearray(1 << 31)", 77, None),
        (b"import os; os._exit(200)", None, signal.SIGSEGV),
        (b"import ctypes; ctypes.string_at(0)", None, signal.SIGSEGV),
        (b"import ctypes; ctypes.CDLL(None).ptrace(16, 1, 0, 0)", None, signal.SIGSYS),
    ],
)
def test_end_is_told_as_it_was(source: bytes, status: int | None, number: int | None, mode: str) -> None:
    with jailed(source, mode) as jail:
        ending = jail.wait(10)
        assert ending is not None
        assert (ending.status, ending.signal) == (status, number)
        assert 0 < ending.cpu_s < 5
        assert jail.wait(0) == ending


def test_running_bot_has_no_end_yet(mode: str) -> None:
    with jailed(b"input()", mode) as jail:
        assert jail.wait(0.0) is None
        os.kill(jail.pid, signal.SIGKILL)
        ending = jail.wait(10)
        assert isinstance(ending, Ending)
        assert ending.signal == signal.SIGKILL


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be dropped")
def test_bot_of_root_runs_as_nobody_else(mode: str) -> None:
    with jailed(b"input()", mode) as one, jailed(b"input()", mode) as other:
        seen = [status(jail.pid) for jail in (one, other)]
    real = [fields["Uid"].split()[0] for fields in seen]
    if mode == "A":
        assert real == [str(BOT_UID)] * 2
    else:
        assert len({*real, "0"}) == 3
    for fields in seen:
        assert int(fields["CapEff"], 16) == int(fields["CapPrm"], 16) == int(fields["CapAmb"], 16) == 0
        assert fields["NoNewPrivs"] == "1"
        assert fields["Seccomp"] == "2"
        assert fields["Groups"].split() in ([], ["65534"])


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def test_output_of_a_closed_jail_is_gone_and_so_are_its_descriptors(mode: str) -> None:
    before = len(os.listdir("/proc/self/fd"))
    jail = launch({"bot.py": b"print('hello'); input()"}, limits=LIMITS, mode=mode)
    assert said(jail) == "hello\n"
    jail.close()
    jail.close()
    assert len(os.listdir("/proc/self/fd")) == before
    assert not Path(f"/proc/{jail.pid}").exists()


WORKER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from bots.sandbox.launcher import launch
from bots.sandbox.limits import Limits
source = b'''
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        continue
while True:
    pass
'''
jails = [launch({"bot.py": source}, limits=Limits(), mode=sys.argv[2]) for _ in range(2)]
print(*(jail.pid for jail in jails), flush=True)
sys.stdin.read()
"""


def test_bots_die_with_their_worker(mode: str) -> None:
    command = [sys.executable, "-c", WORKER, str(PROJECT), mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        bots = [os.pidfd_open(int(pid)) for pid in worker.stdout.readline().split()]
        assert_die_with(worker, bots, count=2)


def test_half_made_jail_of_a_killed_worker_is_ended(mode: str) -> None:
    # Killed while it still waits for its child's mapping or sets up its own end, bwrap leaves the
    # child waiting; when exactly is up to the scheduler, so it is tried until it happens.
    for _ in range(200):
        if child := orphaned(mode):
            break
    else:
        pytest.skip("no bwrap was caught in the moment")
    try:
        assert end_leftovers() >= 1
        assert select.select([child], [], [], 5)[0]
    finally:
        os.close(child)


def orphaned(mode: str) -> int | None:
    """Kill a bwrap as soon as it has a child; return the child's pidfd if it lives on."""
    report, report_end = os.pipe()
    argv = [bwrap_path(), *launcher.MODES[mode], *COMMON, "--json-status-fd", str(report_end)]
    argv += ["--ro-bind", "/usr", "/usr", "/boot.py"]
    user = {"user": BOT_UID} if mode == "A" and os.geteuid() == 0 else {}
    with subprocess.Popen(argv, pass_fds=[report, report_end], stderr=subprocess.DEVNULL, **user) as process:  # type: ignore[call-overload]
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not (found := children.read_text().split()) and process.poll() is None:
            pass
        process.kill()
    os.close(report)
    os.close(report_end)
    try:
        child = os.pidfd_open(int(found[0])) if found else None
    except ProcessLookupError:
        return None
    if child is not None and select.select([child], [], [], 0.3)[0]:
        os.close(child)
        return None
    return child


def test_jail_that_has_its_bwrap_is_no_leftover(mode: str) -> None:
    with jailed(b"print('x'); input()", mode) as jail:
        end_leftovers()
        assert said(jail) == "x\n"
        assert jail.wait(0.0) is None


def test_many_files_of_every_size_arrive(mode: str) -> None:
    files = {f"d{number}/f{number}.bin": bytes([number]) * (number * 1000) for number in range(120)}
    source = b"""
import json
sizes = {}
for n in range(120):
    with open(f"d{n}/f{n}.bin", "rb") as file:
        content = file.read()
    assert content == bytes([n]) * (n * 1000)
    sizes[n] = len(content)
print(json.dumps(sum(sizes.values())))
"""
    jail = launch({"bot.py": source, **files}, limits=LIMITS, mode=mode)
    try:
        assert json.loads(said(jail)) == sum(len(content) for content in files.values())
    finally:
        jail.close()


def test_signal_names() -> None:
    assert signal_name(11) == "SIGSEGV"
    assert signal_name(45) == "signal 45"
