"""Every hostile bot earns the fault that it is named for, at its place, in a match that the others play to its end.

Each script of `tests/fixtures/bots/` is named `<fault>_<what>.py` or `harmless_<what>.py` and sits, through the real
referee and the real sandbox, between two good bots. It has its control:

- what the sandbox refuses, by a denial (`harmless_…`) or by the end (`violation_…`), the same script attempts outside,
  as an ordinary process, and there it succeeds. Where this kernel lacks it, or this user may not, that is named and the
  control left out; which scripts that may happen to stands in MAY_LACK;
- where the bot's manners are at fault (a line that is no JSON, a spin without end), the same script does what comes
  closest and is allowed: the good line, the short spin. It earns no fault;
- those that attempt nothing and are harmless are controls themselves (GOOD_MANNERS).
"""

import ctypes
import json
import os
import platform
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from bots import process
from bots.process import Limits
from bots.sandbox.launcher import BOT_UID, BOT_UID_BASE
from bots.sandbox.runtime import DEFAULT_PYTHON as PYTHON
from bots.uploads import check_upload
from games.outcome import parse_outcome
from games.referee import open_game, play_match
from tests.bots.archives import archive
from tests.bots.hostile import FIXTURES, KIT, QUICK, SCRIPTS, hostile_job, kind_of, upload_of
from tests.games.jobs import CAREFUL, finished_record
from tests.live import ROOT, children

MODES = ["A", "B"] if os.geteuid() == 0 else ["A"]

# How a bot's process is found, whose clocks are read, differs by mode: one of each clock.
CLOCKS = {
    *("start_busy_in_threads", "start_silent", "timeout_cpu_spin", "timeout_emptying_the_bank"),
    *("timeout_ignoring_all_signals", "timeout_sleeping_for_ever", "timeout_threads_that_wait_for_each_other"),
}
# Before the first decision.
AT_START = {"protocol_answer_before_the_question", "protocol_banner", "protocol_wrong_greeting"}
# Done in its second turn as well, and seen when it is next asked.
SEEN_LATER = {
    *("crash_exit_in_the_middle", "output_log_flood_off_turn", "protocol_packets"),
    *("timeout_burning_cpu_off_turn", "timeout_emptying_the_bank", "timeout_never_reading"),
}
# Seen with the answer, or when it is next asked: whichever comes first.
SEEN_SOON = {"protocol_answer_between_questions"}
GOOD_MANNERS = {
    *("harmless_asyncio_and_threads", "harmless_descriptors_made_nonblocking", "harmless_line_of_4096_bytes"),
    *("harmless_log_of_a_megabyte", "harmless_log_of_markup_and_escapes", "harmless_storm_of_alarms"),
    *("harmless_thinking_within_the_free_time", "harmless_unusual_but_right_json", "harmless_usual_imports"),
}
# What a kernel may be built without, and what may be kept from the user or the container that runs the tests.
MAY_LACK = {"ENOSYS", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EOPNOTSUPP", "ENODEV"}
MAY_NOT = {"EPERM", "EACCES"}
TRACES = (Path("/tmp"), Path("/dev/shm"), Path("/var/tmp"), Path("/run"))
PR_SET_CHILD_SUBREAPER = 36


def is_of_the_mode(path: Path) -> bool:
    """Say whether the jail has a part in it: the rest is between the bot and its referee, in whatever jail."""
    return kind_of(path) not in ("protocol", "illegal", "output", "start", "timeout") or path.stem in CLOCKS


def grouped(paths: Sequence[Path], size: int) -> list[list[Path]]:
    return [list(paths[first : first + size]) for first in range(0, len(paths), size)]


def controls_in_jail() -> list[Path]:
    return [path for path in SCRIPTS if kind_of(path) not in ("harmless", "violation")]


def played(uploads: Sequence[bytes], limits: Limits) -> tuple[list[dict[str, Any]], dict[str, Any], list[str]]:
    """Play one hand; return the faults, the record, verified, and the logs by seat."""
    job, sources = hostile_job(uploads, limits)
    report = json.loads(json.dumps(play_match(job, sources)))
    outcome = parse_outcome(report)
    accepted = {"moves": outcome.moves, "ms": outcome.ms, "faults": [fault.public() for fault in outcome.faults]}
    return report["faults"], finished_record(job, report | accepted), outcome.logs


def own_turns(document: dict[str, Any], seat: int) -> list[int]:
    """Return the ids of the decisions that were a seat's own."""
    job, _ = hostile_job([b""] * len(document["seats"]), Limits())
    game = open_game(job)
    ids = []
    for move in document["hands"][0]["moves"]:
        assert game.decision is not None
        if game.decision.seat == seat:
            ids.append(game.decision.id)
        game.play(move)
    return ids


def named(paths: Sequence[Path]) -> str:
    return "+".join(path.stem for path in paths)


# Two at a time, to be quick.
CASES = [
    pytest.param(mode, pair, id=f"{mode}-{named(pair)}")
    for mode in MODES
    for pair in grouped([path for path in SCRIPTS if mode == "A" or is_of_the_mode(path)], 2)
]


class Leavings:
    """What a match could leave behind: processes, descriptors, files."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.before = self.held()

    def held(self) -> tuple[set[int], dict[str, str]]:
        """Return this process's children, orphans of theirs included, and its descriptors."""
        fds = {}
        for fd in os.listdir("/proc/self/fd"):
            try:
                fds[fd] = os.readlink(f"/proc/self/fd/{fd}")
            except FileNotFoundError:
                # The one that this very listing had.
                continue
        return set(children(os.getpid())), fds

    def bury(self) -> None:
        """Reap what had lost its parent and has ended since; what lives is left."""
        for pid in set(children(os.getpid())) - self.before[0]:
            orphan = os.pidfd_open(pid)
            if select.select([orphan], [], [], 2.0)[0]:
                os.waitpid(pid, 0)
            os.close(orphan)

    def files(self) -> list[str]:
        """Return the files that a bot or its launcher may have left, by their name or their owner."""
        left = [str(path) for path in self.scratch.iterdir()]
        for folder in TRACES:
            for entry in os.scandir(folder) if folder.exists() else ():
                try:
                    owner = entry.stat(follow_symlinks=False).st_uid
                except FileNotFoundError:
                    continue
                if entry.name.startswith("soureh-hostile") or owner == BOT_UID or owner >= BOT_UID_BASE:
                    left.append(entry.path)
        return left

    def require_none(self) -> None:
        self.bury()
        assert self.held() == self.before
        assert self.files() == []


@pytest.fixture(scope="module")
def leavings(sandbox: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Leavings]:
    """One process plays all these matches, as a worker does; whatever outlives its parent becomes its child."""
    libc = ctypes.CDLL(None, use_errno=True)
    scratch = tmp_path_factory.mktemp("scratch")
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(scratch))
        yield Leavings(scratch)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0


@pytest.fixture
def mode(request: pytest.FixtureRequest, leavings: Leavings, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Play in this mode, and require afterwards that nothing is left."""
    monkeypatch.setattr(process, "require", lambda: request.param)
    yield request.param
    leavings.require_none()


def skip_other_machines(path: Path) -> None:
    if platform.machine() != "x86_64" and b"call(" in path.read_bytes():
        pytest.skip("system call numbers of x86-64")


@pytest.mark.parametrize(("mode", "pair"), CASES, indirect=["mode"])
def test_hostile_bots_earn_their_faults_and_harm_nobody(mode: str, pair: list[Path]) -> None:
    for path in pair:
        skip_other_machines(path)
    culprits = dict(zip((1, 3), pair, strict=False))
    uploads = [upload_of(culprits[seat]) if seat in culprits else CAREFUL for seat in range(4)]
    faults, document, logs = played(uploads, QUICK)
    seen = f"{faults}\n" + "\n".join(log[-800:] for log in logs)
    assert document["result"]["how"] == "hands"
    # No database takes that everywhere.
    assert "\0" not in "".join(logs)
    assert [logs[seat] for seat in range(4) if seat not in culprits] == [""] * (4 - len(culprits)), seen
    due = {seat: kind_of(path) for seat, path in culprits.items() if kind_of(path) != "harmless"}
    assert {fault["seat"]: fault["kind"] for fault in faults} == due, seen
    for fault in faults:
        path = culprits[fault["seat"]]
        assert (fault["hand"], fault["turn"]) in places_of(path, document, fault["seat"]), seen
        assert document["result"]["places"][fault["seat"]] > 2
        # The reason is public, and nothing of the bot's own words is in it.
        assert fault["detail"].isascii() and fault["detail"].isprintable() and len(fault["detail"]) < 80


def places_of(path: Path, document: dict[str, Any], seat: int) -> list[tuple[int, int]]:
    """Return the hand and the decision at which this bot is to be found out; more than one where it is a race."""
    if kind_of(path) == "start" or path.stem.endswith("_at_start") or path.stem in AT_START:
        return [(1, 0)]
    _, second, third, *_ = own_turns(document, seat)
    if path.stem in SEEN_SOON:
        return [(1, second), (1, third)]
    return [(1, third if path.stem in SEEN_LATER else second)]


@pytest.mark.parametrize("mode", MODES[:1], indirect=True)
@pytest.mark.parametrize("group", grouped(controls_in_jail(), 4), ids=named)
def test_control_that_comes_closest_earns_no_fault(group: list[Path], mode: str) -> None:
    controls = [upload_of(path, is_control=True) for path in group]
    faults, document, logs = played(controls + [CAREFUL] * (4 - len(controls)), QUICK)
    assert faults == [], logs
    assert document["result"]["how"] == "hands"


@pytest.mark.parametrize(
    "path", [path for path in SCRIPTS if path not in controls_in_jail()], ids=lambda path: path.stem
)
def test_control_outside_gets_what_it_attempts(path: Path, tmp_path: Path) -> None:
    skip_other_machines(path)
    told = attempted_outside(path, tmp_path)
    if path.stem in GOOD_MANNERS:
        assert told == {}
        return
    assert told
    refused = {what: said for what, said in told.items() if not said.startswith("got ")}
    if set(refused.values()) - MAY_LACK - MAY_NOT or len(refused) < len(told):
        # Part of it may be lacking; the rest then has to succeed.
        assert set(refused.values()) <= MAY_LACK | MAY_NOT, refused
    else:
        pytest.skip(f"not to be had on this host: {refused}")


def attempted_outside(path: Path, folder: Path) -> dict[str, str]:
    """Run a bot's attempts as an ordinary process in this folder; return what each led to."""
    (folder / "project.txt").write_text(str(ROOT))
    (folder / "another_bot.py").write_text("")
    done = subprocess.run(
        [PYTHON, "-B", "-X", "utf8", str(path)],
        env={"KIT_OUTSIDE": "1", "PYTHONPATH": str(FIXTURES)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout)


# What comes near to keeping a jail from being built, which would be the platform's failure and void every match.
ODD_ARCHIVES = {
    "a folder in the kit's place": {"soureh_bot.py/data.txt": b"x"},
    "a kit of its own": {"soureh_bot.py": b"raise ValueError"},
    "names of the jail's own": {"boot.py": b"x", "dev/null": b"x", "usr/lib/x.so.txt": b"x", "bot/bot.py": b"x"},
    "modules in the place of others": {f"{name}.py": b"1 / 0" for name in ("ctypes", "io", "resource", "subprocess")},
    "empty files": {f"empty{number}.txt": b"" for number in range(20)},
    "many deep folders": {f"a{number}/b/c/d/e/f.txt": b"x" for number in range(95)},
    "large files": {f"f{number}.bin": bytes(1 << 19) for number in range(7)},
    "long names": {f"{'n' * 110}{number}": b"x" for number in range(50)},
}


@pytest.mark.parametrize("mode", MODES, indirect=True)
@pytest.mark.parametrize("members", ODD_ARCHIVES.values(), ids=ODD_ARCHIVES)
def test_upload_with_odd_files_is_played(mode: str, members: dict[str, bytes]) -> None:
    files = {"bot.py": b"import kit\n\nkit.play()\n", "kit.py": KIT, **members}
    data = archive(*files.items())
    assert set(check_upload("bot.zip", data).files) == set(files)
    faults, _, logs = played([CAREFUL, data], QUICK)
    assert [fault["kind"] for fault in faults] == [], logs


@pytest.mark.parametrize("mode", MODES, indirect=True)
def test_match_after_all_these_is_played(mode: str) -> None:
    started = time.monotonic()
    faults, document, logs = played([CAREFUL] * 4, Limits())
    assert (faults, document["result"]["how"], logs) == ([], "hands", [""] * 4)
    assert time.monotonic() - started < 30
