"""Every hostile bot earns the fault that it is named for, at its place, in a match that the others play to its end.

Each script of `tests/fixtures/bots/` is named `<fault>_<what>.py` or `harmless_<what>.py` and sits, through the real
referee and the real sandbox, in every mode that there is here, at a table with two others of different kinds and a good
bot. It has its control:

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
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest

from bots import process
from bots.process import Limits
from bots.sandbox.launcher import BOT_UID, BOT_UID_BASE
from bots.sandbox.runtime import DEFAULT_PYTHON as PYTHON
from bots.uploads import check_upload
from games.outcome import parse_outcome
from games.referee import open_game, play_match
from tests.bots.archives import archive
from tests.bots.hostile import FIXTURES, KIT, QUICK, SCRIPTS, control_of, hostile_job, kind_of, upload_of
from tests.bots.jails import MODES
from tests.games.jobs import CAREFUL, finished_record
from tests.live import ROOT, children

SEATS = 4
# A script, or what else is brought to a table, by its name.
Guest = TypeVar("Guest", bound=Hashable)
Play = Callable[..., "Played"]
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


def is_of_this_machine(path: Path) -> bool:
    """Say whether its system calls are called by the numbers of this machine."""
    return platform.machine() == "x86_64" or b"call(" not in path.read_bytes()


def parameter(path: Path) -> Any:
    marks = [] if is_of_this_machine(path) else [pytest.mark.skip(reason="system call numbers of x86-64")]
    return pytest.param(path, id=path.stem, marks=marks)


def grouped(guests: Sequence[Guest], size: int) -> list[tuple[Guest, ...]]:
    return [tuple(guests[first : first + size]) for first in range(0, len(guests), size)]


def mixed(paths: Sequence[Path]) -> list[tuple[Path, ...]]:
    """Return who plays whom: three at a table, one harmless and two that earn faults of different kinds.

    Two are then left who do no wrong, and the game goes on to its end.
    """
    harmless = [path for path in paths if kind_of(path) == "harmless"]
    guilty = [path for path in paths if kind_of(path) != "harmless"]
    half = (len(guilty) + 1) // 2
    tables = zip_longest(guilty[:half], guilty[half:], harmless[:half])
    seated = [tuple(path for path in table if path is not None) for table in tables]
    return seated + grouped(harmless[half:], SEATS - 1)


PLAYED = [path for path in SCRIPTS if is_of_this_machine(path)]
# Bad manners, for which the script has a control that comes closest.
BAD_MANNERS = [path for path in SCRIPTS if kind_of(path) not in ("harmless", "violation")]
TABLES = mixed(PLAYED)
CONTROL_TABLES = grouped([path for path in PLAYED if path in BAD_MANNERS], SEATS)


class Played(NamedTuple):
    """What came of one match: faults, the record (verified), the logs by seat, who sat where.

    `left` says what was found of it afterwards.
    """

    faults: list[dict[str, Any]]
    record: dict[str, Any]
    logs: list[str]
    seats: dict[Hashable, int]
    left: str

    def __str__(self) -> str:
        return f"{self.faults}\n" + "\n".join(log[-800:] for log in self.logs)

    def fault_of(self, guest: Hashable) -> dict[str, Any] | None:
        return next((fault for fault in self.faults if fault["seat"] == self.seats[guest]), None)

    def require_fair(self) -> None:
        """Require that the game went to its end, the good bots without a fault or a word, and that nothing is left."""
        guests = self.seats.values()
        assert self.record["result"]["how"] == "hands", self
        assert {fault["seat"] for fault in self.faults} <= set(guests), self
        assert [log for seat, log in enumerate(self.logs) if seat not in guests and log] == [], self
        assert self.left == ""


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

    def found(self) -> str:
        """Say what is left, or nothing; the next match does not answer for it."""
        self.bury()
        before, self.before = self.before, self.held()
        is_clean = self.before == before
        files = self.files()
        return "" if is_clean and not files else f"{before} became {self.before}, {files}"


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


@pytest.fixture(scope="module")
def play(leavings: Leavings) -> Play:
    """Play one hand in this mode, the table filled with good bots; each table once, whoever asks."""

    @cache
    def play(
        mode: str, table: tuple[Guest, ...], upload: Callable[[Guest], bytes], *, limits: Limits = QUICK
    ) -> Played:
        good = [CAREFUL] * (SEATS - len(table))
        job, sources = hostile_job([*good, *map(upload, table)], limits)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(process, "require", lambda: mode)
            report = json.loads(json.dumps(play_match(job, sources)))
        outcome = parse_outcome(report)
        accepted = {"moves": outcome.moves, "ms": outcome.ms, "faults": [fault.public() for fault in outcome.faults]}
        seats = {guest: len(good) + place for place, guest in enumerate(table)}
        document = finished_record(job, report | accepted)
        return Played(report["faults"], document, outcome.logs, seats, leavings.found())

    return play


def table_of(guest: Guest, tables: Sequence[tuple[Guest, ...]]) -> tuple[Guest, ...]:
    return next(table for table in tables if guest in table)


@pytest.mark.parametrize("path", [parameter(path) for path in SCRIPTS])
@pytest.mark.parametrize("mode", MODES)
def test_hostile_bot_earns_its_fault_and_harms_nobody(mode: str, path: Path, play: Play) -> None:
    table = play(mode, table_of(path, TABLES), upload_of)
    fault, seat = table.fault_of(path), table.seats[path]
    if kind_of(path) == "harmless":
        assert fault is None, table
    else:
        assert fault is not None and fault["kind"] == kind_of(path), table
        assert (fault["hand"], fault["turn"]) in places_of(path, table.record, seat), table
        # The reason is public, and nothing of the bot's own words is in it.
        assert fault["detail"].isascii() and fault["detail"].isprintable() and len(fault["detail"]) < 80
        # Behind all who did no wrong.
        assert table.record["result"]["places"][seat] > SEATS - len(table.faults)
    # No database takes that everywhere.
    assert "\0" not in table.logs[seat]
    table.require_fair()


def places_of(path: Path, document: dict[str, Any], seat: int) -> list[tuple[int, int]]:
    """Return the hand and the decision at which this bot is to be found out; more than one where it is a race."""
    if kind_of(path) == "start" or path.stem.endswith("_at_start") or path.stem in AT_START:
        return [(1, 0)]
    _, second, third, *_ = own_turns(document, seat)
    if path.stem in SEEN_SOON:
        return [(1, second), (1, third)]
    return [(1, third if path.stem in SEEN_LATER else second)]


@pytest.mark.parametrize("path", [parameter(path) for path in BAD_MANNERS])
def test_control_that_comes_closest_earns_no_fault(path: Path, play: Play) -> None:
    table = play(MODES[0], table_of(path, CONTROL_TABLES), control_of)
    assert table.fault_of(path) is None, table
    table.require_fair()


@pytest.mark.parametrize("path", [parameter(path) for path in SCRIPTS if path not in BAD_MANNERS])
def test_control_outside_gets_what_it_attempts(path: Path, tmp_path: Path) -> None:
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


def odd_files(name: str) -> dict[str, bytes]:
    return {"bot.py": b"import kit\n\nkit.play()\n", "kit.py": KIT, **ODD_ARCHIVES[name]}


def odd_upload(name: str) -> bytes:
    return archive(*odd_files(name).items())


@pytest.mark.parametrize("name", ODD_ARCHIVES)
@pytest.mark.parametrize("mode", MODES)
def test_upload_with_odd_files_is_played(mode: str, name: str, play: Play) -> None:
    assert set(check_upload("bot.zip", odd_upload(name)).files) == set(odd_files(name))
    table = play(mode, table_of(name, grouped(list(ODD_ARCHIVES), SEATS)), odd_upload)
    assert table.faults == [], table
    table.require_fair()


@pytest.mark.parametrize("mode", MODES)
def test_match_after_all_these_is_played(mode: str, play: Play) -> None:
    started = time.monotonic()
    table = play(mode, (), odd_upload, limits=Limits())
    assert table.faults == [], table
    table.require_fair()
    assert time.monotonic() - started < 30
