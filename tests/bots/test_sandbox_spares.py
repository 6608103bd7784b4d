"""Jails that are started ahead: as tight as any other, never used twice, and gone with their worker."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bots.process import BotFault, BotProcess
from bots.sandbox import late_file, probing
from bots.sandbox.late_file import LateFile, sweep
from bots.sandbox.launcher import Jail, Start
from bots.sandbox.limits import INTERPRETER_MB, MIB, Limits
from bots.sandbox.spares import Spare, Spares, begin, spares
from tests.bots.jails import assert_die_with
from tests.bots.test_process import GOOD, HELLO, question
from tests.live import children

PROJECT = Path(__file__).parents[2]
BESIDE = {"ours.py": b"WORD = 'beside'"}
LIMITS = Limits(memory_mb=64)

pytestmark = pytest.mark.usefixtures("sandbox")


@pytest.fixture
def pool() -> Iterator[Spares]:
    pool = Spares()
    yield pool
    pool.close()


def moved_in(pool: Spares, source: bytes, mode: str, limits: Limits = LIMITS) -> Jail:
    """Return the jail of a bot that has moved into an empty one."""
    spare = pool.take({"bot.py": source, **BESIDE}, limits=limits, mode=mode)
    assert isinstance(spare, Spare)
    return spare.finish()


def said(jail: Jail) -> str:
    """Return what a bot printed until its end."""
    words = b""
    try:
        while select.select([jail.stdout], [], [], 10)[0] and (chunk := os.read(jail.stdout, 65536)):
            words += chunk
    finally:
        jail.close()
    return words.decode()


def left_in_memory(pid: int) -> list[Path]:
    """Return the folders that a process has there; other tests' workers may have theirs."""
    return list(late_file.MEMORY.glob(f"soureh-bot-{pid}-*"))


def test_spare_denies_all_that_a_new_jail_denies(pool: Spares, mode: str) -> None:
    source = Path(probing.__file__).with_name("probe_bot.py").read_bytes()
    pool.fill(1, files=BESIDE, mode=mode)
    checks = json.loads(said(moved_in(pool, source, mode)))
    assert set(checks.values()) == {"denied"}


WORLD = b"""
import json, os, resource, sys
import ours
refused = []
for path in ("/bot/bot.py", "/bot/ours.py", "/bot/new.py", "/dev/shm/new"):
    for flags in (os.O_WRONLY, os.O_RDWR | os.O_CREAT):
        try:
            os.open(path, flags)
        except OSError:
            refused.append(path)
print(json.dumps({
    "name": __name__, "file": __file__, "argv": sys.argv, "word": ours.WORD, "path": sys.path[0],
    "files": sorted(os.listdir("/bot")), "own": open("/bot/bot.py").read() == open(__file__).read(),
    "refused": len(refused), "memory": resource.getrlimit(resource.RLIMIT_AS)[0],
    "links": os.stat("/bot/bot.py").st_mode & 0o777, "boot": [name for name in globals() if name == "lock"],
}))
"""


def test_bot_sees_the_world_of_a_new_jail(pool: Spares, mode: str) -> None:
    pool.fill(1, files=BESIDE, mode=mode)
    in_spare = said(moved_in(pool, WORLD, mode))
    anew = said(Start({"bot.py": WORLD, **BESIDE}, limits=LIMITS, mode=mode).finish())
    assert in_spare == anew
    assert json.loads(anew)["refused"] == 8


def test_limits_are_those_of_the_bot_that_moves_in(pool: Spares, mode: str) -> None:
    pool.fill(2, files=BESIDE, mode=mode)
    source = b"import resource; print(resource.getrlimit(resource.RLIMIT_AS)[1])"
    given = [said(moved_in(pool, source, mode, Limits(memory_mb=size))) for size in (64, 192)]
    assert [int(words) // MIB - INTERPRETER_MB for words in given] == [64, 192]


def test_bot_in_a_spare_is_faulted_as_any_other(sandbox: str, pool: Spares, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bots.sandbox.spares.spares", pool)
    pool.fill(2, files=BESIDE, mode=sandbox)
    with BotProcess({"bot.py": GOOD, **BESIDE}, limits=LIMITS) as bot:
        bot.start(HELLO)
        assert bot.ask(question(1), id=1) == {"id": 1, "move": "d"}
        # What was done before it moved in is not its doing.
        assert bot.bank_s == LIMITS.bank_s
    with BotProcess({"bot.py": b"hoard = bytearray(96 << 20)", **BESIDE}, limits=LIMITS) as bot:
        with pytest.raises(BotFault) as caught:
            bot.start(HELLO)
        assert caught.value.kind == "memory"
        assert 'File "bot.py", line 1, in <module>\n    hoard = bytearray(96 << 20)\n' in bot.stderr
    assert len(pool) == 0


def test_every_spare_is_used_once_and_nothing_of_it_is_left(pool: Spares, mode: str) -> None:
    before = set(os.listdir("/proc/self/fd")), children(os.getpid())
    pool.fill(2, files=BESIDE, mode=mode)
    assert left_in_memory(os.getpid()) == []
    assert said(moved_in(pool, b"print('one')", mode)) == "one\n"
    assert said(moved_in(pool, b"print('two')", mode)) == "two\n"
    assert pool.take({"bot.py": b"", **BESIDE}, limits=LIMITS, mode=mode) is None
    pool.fill(3, files=BESIDE, mode=mode)
    pool.close()
    assert (set(os.listdir("/proc/self/fd")), children(os.getpid())) == before


@pytest.mark.parametrize("files", [{}, {"ours.py": b"WORD = 'mine'"}, {**BESIDE, "more.py": b""}])
def test_bot_with_other_files_beside_it_is_started_anew(
    files: dict[str, bytes], sandbox: str, pool: Spares, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bots.sandbox.spares.spares", pool)
    pool.fill(1, files=BESIDE, mode=sandbox)
    source = b"import os; print(sorted(os.listdir('/bot')))"
    start = begin({"bot.py": source, **files}, limits=LIMITS, mode=sandbox)
    assert not isinstance(start, Spare)
    assert said(start.finish()) == f"{sorted({'bot.py', *files})}\n"
    assert len(pool) == 1


def test_spare_that_died_is_not_used_and_is_replaced(pool: Spares, mode: str) -> None:
    others = children(os.getpid())
    pool.fill(2, files=BESIDE, mode=mode)
    for pid in set(children(os.getpid())) - set(others):
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert pool.take({"bot.py": b"", **BESIDE}, limits=LIMITS, mode=mode) is None
    pool.fill(2, files=BESIDE, mode=mode)
    assert said(moved_in(pool, b"print('alive')", mode)) == "alive\n"


def test_worker_that_cannot_start_ahead_goes_on(
    pool: Spares, sandbox: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(late_file, "MEMORY", tmp_path / "none")
    pool.fill(2, files=BESIDE, mode=sandbox)
    assert len(pool) == 0
    assert "not started ahead error=no place for the source of a bot" in caplog.text


WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from bots.sandbox.spares import spares
spares.fill(2, files={}, mode=sys.argv[2])
print(len(spares), flush=True)
sys.stdin.read()
"""


def test_spares_die_with_their_worker(mode: str) -> None:
    command = [sys.executable, "-c", WORKER, str(PROJECT), mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None and worker.stdout.readline() == "2\n"
        jails = children(worker.pid)
        processes = [os.pidfd_open(pid) for jail in jails for pid in (jail, *children(jail))]
        assert_die_with(worker, processes, count=4)
    assert left_in_memory(worker.pid) == []


def test_folder_of_a_killed_process_is_swept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(late_file, "MEMORY", tmp_path)
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    (tmp_path / f"soureh-bot-{gone.pid}-1-abc").mkdir()
    (tmp_path / f"soureh-bot-{gone.pid}-1-abc" / "bot.py").touch()
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "bot.py").touch()
    (tmp_path / f"soureh-bot-{gone.pid}-1-link").symlink_to(tmp_path / "victim")
    live = LateFile(group=None)
    try:
        assert sweep() == 1
        assert live.path.exists() and (tmp_path / "victim" / "bot.py").exists()
        assert live.path.parent.stat().st_mode & 0o777 == 0o700
    finally:
        live.close()
    assert {path.name for path in tmp_path.iterdir()} == {"victim", f"soureh-bot-{gone.pid}-1-link"}


def test_nothing_is_started_ahead_unasked() -> None:
    assert len(spares) == 0
