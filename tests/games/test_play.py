import hashlib
import io
import itertools
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import termios
import time
import zipfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from bots.process import FAULT_KINDS
from games.arena import Bot, Game, Series
from games.comparison import Score
from games.engine import Rules, record
from games.playing import Records, RecordsError, Tally, tell_report
from games.sequential import Duel

ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / "docs" / "example_bot.py").read_bytes()
PLAY = [sys.executable, "manage.py", "play"]
# Neither answers, and neither may be asked.
UNREACHABLE = {"DATABASE_URL": "postgres://nobody@127.0.0.1:9/none", "REDIS_URL": "redis://127.0.0.1:9/0"}


@pytest.fixture
def shell(tmp_path):
    """Where the command is given."""
    return {"cwd": ROOT, "env": {**os.environ, **UNREACHABLE, "SOUREH_VAR": str(tmp_path / "var")}}


@pytest.fixture
def play(shell):
    """Run `manage.py play` as one would from a shell, and return how it ended."""

    def run(*arguments):
        command = [*PLAY, *map(str, arguments)]
        return subprocess.run(command, **shell, capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture
def start(shell):
    """Start `manage.py play` in a session of its own, so that all it started can be found."""
    started = []

    def begin(*arguments):
        command, pipe = [*PLAY, *map(str, arguments)], subprocess.PIPE
        process = subprocess.Popen(command, **shell, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def report_of(ended):
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("\n") == 1
    return json.loads(ended.stdout)


def records_of(path):
    documents = [json.loads(line) for line in path.read_text().splitlines()]
    for document in documents:
        record.verify(document)
    return documents


def test_play_reports_as_json_and_every_record_verifies(play, tmp_path):
    records = tmp_path / "r.jsonl"
    ended = play(
        *("house:random", "house:careful", "house:spoiler", "--games", 5, "--seed", "t", "--set", "target=60"),
        *("--records", records, "--jobs", 2, "--json"),
    )
    report = report_of(ended)
    assert ended.stderr == ""
    documents = records_of(records)
    assert report["games"] == len(documents) == 5
    assert report["turns"] == sum(len(hand["moves"]) for document in documents for hand in document["hands"])
    assert report["turns_per_s"] == pytest.approx(report["turns"] / report["seconds"], rel=0.01)
    assert report["records"] == str(records)
    assert report["verdict"] is None
    assert [row["bot"] for row in report["bots"]] == ["house:random", "house:careful", "house:spoiler"]
    for row in report["bots"]:
        assert row["games"] == sum(row["places"]) == 5
        assert row["faults"] == dict.fromkeys(FAULT_KINDS, 0)
        assert row["interval"][0] <= row["elo"] <= row["interval"][1]
        points = [
            document["result"]["totals"][[seat["name"] for seat in document["seats"]].index(row["bot"])]
            for document in documents
        ]
        assert row["mean_points"] == pytest.approx(sum(points) / 5, abs=0.01)


def test_game_g_is_dealt_from_the_seed_text_and_g(play, tmp_path):
    records = tmp_path / "r.jsonl"
    asked = ("--games", 3, "--seed", "é", "--set", "target=30", "--records", records, "--json")
    report_of(play("house:careful", "house:careful", *asked))
    seeds = [document["fairness"]["server_seed"] for document in records_of(records)]
    assert seeds == [hashlib.sha256(f"é:{game}".encode()).hexdigest() for game in (1, 2, 3)]
    assert all(document["seating"]["how"] == "draw" for document in records_of(records))


def test_duplicate_sets_share_a_deal_and_rotate_the_seats(play, tmp_path):
    bots = ["house:random", "house:careful", "house:counter"]
    records = tmp_path / "r.jsonl"
    report_of(
        play(*bots, "--games", 6, "--duplicate", "--seed", "d", "--set", "target=40", "--records", records, "--json")
    )
    documents = records_of(records)
    for index, document in enumerate(documents):
        assert document["fairness"]["server_seed"] == hashlib.sha256(f"d:{index // 3 + 1}".encode()).hexdigest()
        assert document["seating"] == {"how": "fixed"}
        seated = [seat["name"] for seat in document["seats"]]
        assert [seated.index(bot) for bot in bots] == [(bot + index % 3) % 3 for bot in range(3)]
    assert documents[0]["hands"][0]["deck"] == documents[2]["hands"][0]["deck"]


def test_a_duplicate_series_ends_as_soon_as_the_first_is_known_to_be_better(play, tmp_path):
    records = tmp_path / "r.jsonl"
    asked = ("--duplicate", "--until-decided", "--games", 60, "--set", "target=30", "--seed", "d")
    report = report_of(play("house:careful", "house:random", *asked, "--records", records, "--json"))
    places = [document["result"]["places"] for document in records_of(records)]
    # Nine whitewashes are the least that decides; a random bot wins a game now and then.
    assert report["games"] == len(places) == 2 * report["verdict"]["sets"] and 18 <= len(places) < 60
    ahead = sum(game[seat] < game[1 - seat] for game, seat in zip(places, itertools.cycle((0, 1)), strict=False))
    verdict = report["verdict"]
    assert (verdict["first"], verdict["second"], verdict["better"]) == ("house:careful", "house:random", "first")
    assert verdict["share"] == pytest.approx(ahead / len(places), abs=1e-4)
    assert verdict["evidence"] >= 20 and verdict["level"] == 0.05
    assert 0.5 < verdict["share_interval"][0] < verdict["share_interval"][1] == 1


def test_the_same_seed_plays_the_same_games_on_any_number_of_processes(play, tmp_path):
    seen = []
    for jobs in (1, 3):
        records = tmp_path / f"{jobs}.jsonl"
        asked = ("--games", 4, "--seed", "s", "--set", "target=60", "--jobs", jobs, "--records", records, "--json")
        report_of(play("house:random", "house:careful", *asked))
        seen.append([[hand["moves"] for hand in document["hands"]] for document in records_of(records)])
    assert seen[0] == seen[1]


def test_play_prints_a_table_for_people(play):
    ended = play("house:random", "house:careful", "--games", 2, "--seed", "t", "--set", "target=30")
    assert ended.returncode == 0, ended.stderr
    header, *_ = ended.stdout.splitlines()
    assert header.split() == ["bot", "Elo", "95", "%", "points", "95", "%", "places", "faults"]
    assert "2 games" in ended.stdout and "seed 't'" in ended.stdout
    assert ended.stderr == ""


def test_a_terminal_gets_a_progress_bar(shell):
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    command = [*PLAY, "house:careful", "house:careful", "--games", "3", "--json", "--set", "target=30"]
    ended = subprocess.run(command, **shell, stdout=subprocess.PIPE, stderr=theirs, timeout=120)
    os.close(theirs)
    shown = read_all(ours)
    os.close(ours)
    assert ended.returncode == 0
    assert "3/3" in shown
    assert json.loads(ended.stdout)["games"] == 3


@pytest.fixture
def tally():
    """Count games of two bots that are called alike, the first of which wins all."""
    bots = [Bot("house:careful", b"", ""), Bot("house:careful", b"", "")]
    series = Series(bots=bots, rules=Rules.preset("classic"), games=100, seed="t", duplicate=True)
    return Tally(series, Duel())


def won_by(bot, number):
    places = [1 if each == bot else 2 for each in (0, 1)]
    return Game(number, 10, Score((number + 1) // 2, [20 * place for place in places], places), [], {})


def test_whole_sets_alone_are_evidence_and_the_bar_shows_it(tally):
    notes = []
    for number in range(1, 20):
        tally.add(won_by(0, number))
        notes.append(tally.note())
    assert notes[0] == "" and notes[1] == notes[2] == "evidence 0.6 to 1 for house:careful (the first)"
    assert notes[-1] == notes[-2] == "evidence 30 to 1 for house:careful (the first)"
    assert tally.duel.shares.total() == 9 and tally.is_decided()
    report = tally.report(2.0, None)
    assert report["games"] == 19 and report["verdict"]["sets"] == 9 and report["verdict"]["better"] == "first"
    *_, said = tell_report(report, tally).split("\n\n")
    assert said.startswith("house:careful (the first) is better than house:careful (the second): 9 sets,")
    assert max(map(len, said.splitlines())) <= 100


def read_all(terminal):
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 65536)
        except OSError:
            # Linux: the other end of the terminal is closed.
            return shown.decode()


def test_files_and_archives_play(play, tmp_path):
    (tmp_path / "mine.py").write_bytes((ROOT / "docs" / "example_bot.py").read_bytes())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("bot.py", "import soureh_bot, taste\nsoureh_bot.run(taste.choose)\n")
        archive.writestr("taste.py", "def choose(turn):\n    return turn.legal[-1]\n")
    (tmp_path / "theirs.zip").write_bytes(packed.getvalue())
    report = report_of(
        play(tmp_path / "mine.py", tmp_path / "theirs.zip", "--games", 2, "--set", "target=30", "--json")
    )
    assert [row["bot"] for row in report["bots"]] == [str(tmp_path / "mine.py"), str(tmp_path / "theirs.zip")]
    assert all(sum(row["faults"].values()) == 0 for row in report["bots"])
    assert report["bots"][0]["places"][0] == 2


def test_faults_of_bots_are_counted_and_are_no_failure(play, tmp_path):
    (tmp_path / "broken.py").write_text("raise SystemExit(3)\n")
    (tmp_path / "cheat.py").write_text("import soureh_bot\nsoureh_bot.run(lambda turn: 'k9')\n")
    records = tmp_path / "r.jsonl"
    report = report_of(
        play(
            *(tmp_path / "broken.py", "house:careful", tmp_path / "cheat.py", "--games", 2),
            *("--set", "target=30", "--records", records, "--json"),
        )
    )
    broken, careful, cheat = report["bots"]
    assert broken["faults"]["crash"] == 2 and cheat["faults"]["illegal"] == 2
    assert careful["places"] == [2, 0, 0] and broken["places"] == [0, 0, 2]
    assert all(document["result"]["how"] == "fault" for document in records_of(records))


@pytest.mark.parametrize("preset", ["common", "inventor"])
def test_other_presets_are_played_by_all_house_bots(play, tmp_path, preset):
    records = tmp_path / "r.jsonl"
    report = report_of(
        play(
            *("house:random", "house:careful", "house:spoiler", "house:counter", "--rules", preset),
            *("--set", "target=30", "--set", 'picks="player"', "--games", 4, "--records", records, "--json"),
        )
    )
    assert all(sum(row["faults"].values()) == 0 for row in report["bots"])
    assert {document["rules"]["picks"] for document in records_of(records)} == {"player"}


FILES = {"BROKEN": "broken.py", "TEXT": "bot.txt", "GOOD": "good.py"}
USAGE = [
    pytest.param(["house:careful"], "expected 2 to 4 bots: 1", id="one_bot"),
    pytest.param(["house:careful"] * 5, "expected 2 to 4 bots: 5", id="five_bots"),
    pytest.param(["house:careful", "house:clever"], "house:careful, house:counter, house:random", id="no_such_house"),
    pytest.param(["house:careful", "no/such.py"], "no/such.py: No such file or directory", id="no_such_file"),
    pytest.param(["house:careful", "BROKEN"], "line 2, column", id="syntax_error"),
    pytest.param(["house:careful", "TEXT"], ".txt", id="not_a_bot"),
    pytest.param(["house:careful", "house:careful", "--rules", "poker"], "classic", id="preset"),
    pytest.param(["house:careful", "house:careful", "--set", "colour=any"], "coop_colour", id="option"),
    pytest.param(["house:careful", "house:careful", "--set", "target=0"], "1 to 10000", id="value"),
    pytest.param(["house:careful", "house:careful", "--set", "target"], "expected OPTION=VALUE: target", id="no_value"),
    pytest.param(["house:careful", "house:careful", "--records", "/no/such/r"], "/no/such/r", id="records"),
    pytest.param(
        ["house:careful", "GOOD", "--records", "GOOD"], "no bot's to write the records to", id="records_on_bot"
    ),
    pytest.param(["house:careful", "house:careful", "--until-decided"], "expected --duplicate", id="decided_by_games"),
    pytest.param(["house:careful", "house:careful", "--level", "0.1"], "expected --duplicate", id="level_of_nothing"),
    pytest.param(
        ["house:careful", "house:careful", "--duplicate", "--level", "0.6"], "chance (0.0001 to 0.5)", id="level"
    ),
    pytest.param(
        ["house:careful", "house:random", "--duplicate", "--until-decided", "--games", "1"],
        "expected at least one set, 2 games: --games 1",
        id="no_whole_set",
    ),
    pytest.param(["house:careful", "house:careful", "--jobs", "257"], "at most 256 processes: 257", id="jobs"),
    pytest.param(["house:careful", "house:careful", "--seed", "\udcff"], "a seed in UTF-8: \\udcff", id="seed"),
    pytest.param(["house:careful", "a\x1b[2J\u202e.py"], "a\\x1b[2J\\u202e.py: No such file", id="escapes"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_usage_errors_say_what_is_allowed(tmp_path, arguments, message):
    (tmp_path / "broken.py").write_text("import soureh_bot\ndef choose(turn:\n    pass\n")
    (tmp_path / "bot.txt").write_text("hello\n")
    (tmp_path / "good.py").write_bytes(EXAMPLE)
    named = {name: str(tmp_path / file) for name, file in FILES.items()}
    with pytest.raises(CommandError) as refused:
        call_command("play", *(named.get(argument, argument) for argument in arguments))
    # What argparse refuses ends with 2 on the shell alone: see below.
    assert refused.value.returncode == (1 if "invalid" in str(refused.value) else 2)
    assert message in str(refused.value)
    assert (tmp_path / "good.py").read_bytes() == EXAMPLE


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--games", "0"], "positive integer"),
        (["--set", "target=many"], "1 to 10000"),
        (["--duplicate", "--level", "1"], "chance"),
        (["--until-decided"], "expected --duplicate"),
    ],
)
def test_usage_errors_end_with_2_on_the_shell(play, more, message):
    ended = play("house:careful", "house:careful", *more)
    assert ended.returncode == 2
    assert message in ended.stderr and "Traceback" not in ended.stderr
    assert ended.stdout == ""


def test_without_a_sandbox_it_ends_with_2_and_the_reason(shell):
    program = (
        "import bots.sandbox.launcher as launcher, sys\n"
        "launcher.bwrap_path = lambda: '/no/such/bwrap'\n"
        "import bots.sandbox.probing as probing\n"
        "probing.bwrap_path = launcher.bwrap_path\n"
        "sys.argv[1:] = ['play', 'house:careful', 'house:careful', '--games', '1']\n"
        "exec(open('manage.py').read())\n"
    )
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, **shell, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "/no/such/bwrap" in ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.parametrize("signal_sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_series_is_reported_as_far_as_it_came(start, tmp_path, signal_sent):
    records = tmp_path / "r.jsonl"
    playing = start("house:careful", "house:careful", "--games", 100_000, "--duplicate", "--records", records)
    until_written(records, playing)
    os.killpg(playing.pid, signal_sent)
    out, err = playing.communicate(timeout=30)
    assert playing.returncode == 128 + signal_sent
    assert "interrupted" in err.splitlines() and "Traceback" not in err
    until_ended(playing.pid)
    assert re.search(rf"\n{len(records_of(records))} games?, ", out)
    assert out.count("ecided") == 1


def test_an_interrupted_series_gives_no_json(start, tmp_path):
    records = tmp_path / "r.jsonl"
    playing = start("house:careful", "house:careful", "--games", 100_000, "--records", records, "--json")
    until_written(records, playing)
    playing.send_signal(signal.SIGINT)
    out, _ = playing.communicate(timeout=30)
    assert (playing.returncode, out) == (130, "")


def test_a_killed_series_leaves_nothing_behind_and_says_nothing(start, tmp_path):
    records = tmp_path / "r.jsonl"
    playing = start("house:careful", "house:careful", "--games", 100_000, "--records", records, "--set", "target=30")
    until_written(records, playing)
    playing.kill()
    _, err = playing.communicate(timeout=60)
    until_ended(playing.pid)
    assert "Traceback" not in err
    assert len(records_of(records)) >= 1


def test_a_full_disk_ends_the_series_and_its_games_are_reported(play):
    ended = play("house:careful", "house:careful", "--games", 4, "--set", "target=30", "--records", "/dev/full")
    assert ended.returncode == 1
    assert "the records cannot be written any more: /dev/full: No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr and ended.stdout == ""


def test_records_end_with_the_last_whole_one_when_the_disk_is_full(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Records(tmp_path / "r.jsonl") as records:
        records.write({"game": 1})
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
        try:
            with pytest.raises(RecordsError, match="File too large"):
                records.write({"game": 2, "why": "there is no room for all of it"})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / "r.jsonl").read_text() == '{"game":1}\n'


def test_a_reader_who_goes_away_is_no_failure_of_ours(start):
    playing = start("house:careful", "house:careful", "--games", 1, "--set", "target=30")
    playing.stdout.close()
    assert playing.wait(60) == 141
    assert "Traceback" not in playing.stderr.read()


def test_closed_standard_streams_are_no_hindrance(shell, tmp_path):
    records = tmp_path / "r.jsonl"
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *PLAY, "house:careful", "house:careful"]
    command += ["--games", "1", "--set", "target=30", "--records", str(records)]
    assert subprocess.run(command, **shell, timeout=120).returncode == 0
    assert len(records_of(records)) == 1


def test_names_that_act_are_shown_and_sent_as_escapes(play, tmp_path):
    names = [b"\x1b[2J\xe2\x80\xae.py", b"\xff.py", "牌é.py".encode()]
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes(EXAMPLE)
    records = tmp_path / "r.jsonl"
    ended = play(
        *(tmp_path / os.fsdecode(name) for name in names),
        *("--games", 1, "--set", "target=30", "--records", records),
    )
    assert ended.returncode == 0, ended.stderr
    labels = {f"{tmp_path}/{name}" for name in ("\\x1b[2J\\u202e.py", "\\udcff.py", "牌é.py")}
    [document] = records_of(records)
    assert {seat["name"] for seat in document["seats"]} == labels
    shown = [line.split()[1] for line in ended.stdout.splitlines()[1:4]]
    assert set(shown) == labels
    assert (ended.stdout + ended.stderr).replace("\n", "").isprintable()


def until_ended(session):
    """Wait until nothing of a session runs; its process group alone would miss what left it."""
    deadline = time.monotonic() + 10
    while running := [pid for pid, of in sessions() if of == session]:
        assert time.monotonic() < deadline, running
        time.sleep(0.02)


def sessions():
    """Yield every process that is not a zombie, with its session."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = entry.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            yield int(entry.parent.name), int(session)


def until_written(path, process):
    """Wait until a file has a whole line in it."""
    while not (path.exists() and b"\n" in path.read_bytes()):
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
