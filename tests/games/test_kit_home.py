"""The authors' download: unpacked somewhere else, run by a bare interpreter with nothing installed."""

import io
import json
import re
import subprocess
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from django.core.management import call_command

from bots import lines as on_a_site
from bots.faults import BotFault
from bots.sandbox import launcher
from games.engine import record
from games.home.bundle import FOLDER, bundle, contents
from games.home.stand_ins import launcher as stand_in
from games.home.stand_ins import lines as at_home

HEAD = "import soureh_bot\ndef choose(turn):\n"
TAIL = "\nsoureh_bot.run(choose)\n"
GOOD = f"{HEAD}    return turn.legal[-1]{TAIL}"
CRASHING = f"{HEAD}    return 'd' if turn.id < 9 else turn.legal[1 / 0]{TAIL}"
ILLEGAL = f"{HEAD}    return 'd' if turn.id < 9 else 'k9'{TAIL}"
SLOW = f"{HEAD}    while turn.id > 4:\n        pass\n    return 'd'{TAIL}"
HUNGRY = f"{HEAD}    return bytearray(1 << 30){TAIL}"
MUTE = "import os\nos.read(0, 1 << 20)\nos.close(1)\nos.read(0, 1 << 20)\n"


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    """The unpacked download."""
    folder = tmp_path_factory.mktemp("kit")
    with zipfile.ZipFile(io.BytesIO(bundle())) as archive:
        archive.extractall(folder)
    return folder / FOLDER


@pytest.fixture
def soureh(kit, tmp_path):
    """Run `python -m soureh` in it, with nothing installed and no environment; no folder of a bot may be left."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    def run(*arguments):
        command = [sys.executable, "-S", "-s", "-m", "soureh", *map(str, arguments)]
        environment = {"TMPDIR": str(scratch)}
        return subprocess.run(command, cwd=kit, env=environment, capture_output=True, text=True, timeout=120)

    yield run
    assert list(scratch.iterdir()) == []


@pytest.fixture
def write(tmp_path):
    def put(source, name="mine.py"):
        path = tmp_path / name
        path.write_text(source)
        return path

    return put


def test_the_bot_that_comes_with_it_passes(soureh):
    ended = soureh("check", "my_bot.py", "--games", 3, "--seed", "s", "--set", "target=60")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[0].endswith("bytes, its form is accepted")
    assert [line.split()[0] for line in lines[2:5]] == ["1", "2", "3"]
    assert lines[-2] == "Would pass its trial: 3 games without a fault."


@pytest.mark.parametrize(
    ("source", "fault", "seen"),
    [
        pytest.param(CRASHING, "crash at hand ", "ZeroDivisionError: division by zero", id="crash"),
        pytest.param(ILLEGAL, "illegal at hand ", '"move": "k9"', id="illegal"),
        pytest.param(SLOW, "timeout at hand ", "move_s ran out: 1.", id="slow"),
        pytest.param(HUNGRY, "memory at hand ", "MemoryError, with memory_mb 256", id="memory"),
        pytest.param(MUTE, "timeout at its start", "closed its standard output", id="mute"),
    ],
)
def test_a_faulty_bot_is_shown_its_fault_and_how_to_have_it_again(soureh, write, source, fault, seen):
    path = write(source)
    ended = soureh("check", path, "--games", 1, "--seed", "it's", "--set", "target=30")
    assert (ended.returncode, ended.stderr) == (1, "")
    assert f"FAULT {fault}" in ended.stdout
    assert seen in ended.stdout
    assert f"python3 -m soureh check {path} --seed 'it'\"'\"'s' --only 1 --set target=30\n" in ended.stdout
    assert f"Would not pass its trial: {fault.split()[0]} in game 1." in ended.stdout


def test_a_fault_has_the_bot_s_own_traceback_and_comes_again_with_the_command_that_is_given(soureh, write):
    path = write(CRASHING)
    first = soureh("check", path, "--games", 2, "--seed", "s", "--rules", "inventor", "--set", "target=50")
    assert "--seed s --only 2 --rules inventor --set target=50" in first.stdout
    again = soureh("check", path, "--seed", "s", "--only", 2, "--rules", "inventor", "--set", "target=50")
    log = first.stdout.partition("the end of its log:\n")[2].splitlines()
    assert [line.strip() for line in log[:3]] == [
        "Traceback (most recent call last):",
        'File "bot.py", line 4, in <module>',
        "soureh_bot.run(choose)",
    ]
    faults = [[line for line in ended.stdout.splitlines() if "FAULT" in line] for ended in (first, again)]
    assert len(faults[0]) == 2
    assert faults[1] == faults[0][1:]
    assert first.stdout.count("to have it again:") == 2
    assert first.stdout.count("Traceback") == 1, "the same log is shown once"
    assert "to have it again:" in again.stdout and "Traceback" in again.stdout


def test_what_a_site_would_refuse_is_refused_with_its_place(soureh, write, tmp_path):
    ended = soureh("check", write("def choose(turn):\n    return turn.legal[\n"))
    assert ended.returncode == 1
    assert "Syntax error in bot.py, line 2, column 22: '[' was never closed" in ended.stdout
    assert "       2 |     return turn.legal[\n         |                      ^\n" in ended.stdout
    assert ended.stdout.endswith("A site would refuse it.\n")
    assert "at most 256 KiB" in soureh("check", write("#" * (300 << 10))).stdout
    packed = tmp_path / "mine.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("folder/bot.py", GOOD)
    assert "no bot.py at its root" in soureh("check", packed).stdout


def test_a_zip_with_a_module_of_its_own_passes(soureh, tmp_path):
    packed = tmp_path / "mine.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("bot.py", "import soureh_bot\nfrom ways.plain import choose\nsoureh_bot.run(choose)\n")
        archive.writestr("ways/__init__.py", "")
        archive.writestr("ways/plain.py", "def choose(turn):\n    return turn.legal[-1]\n")
    ended = soureh("check", packed, "--games", 1)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "3 files, its form is accepted" in ended.stdout


LINES = [
    *(b'{"id":1,"move":"d"}', b' {"id": 1, "x": [1.5e3, null, true], "move": "d"} ', b'{"id":1,"move":"\\u00e9"}'),
    *(
        b"",
        b"[]",
        b"1",
        b"null",
        b'{"id":1',
        b"{'id':1}",
        b'{"id":1}{"id":1}',
        b'\xef\xbb\xbf{"id":1}',
        b'{"id":"\xff"}',
    ),
    *(b'{"id":1,"id":1}', b'{"id":1,"\\u0069d":1}', b'{"x":{"a":1,"a":2}}', b'{"id":NaN}', b'{"id":-Infinity}'),
    *(b'{"id":1e999}', b'{"id":18446744073709551616}', b'{"id":9223372036854775807}', b'{"id":' + b"9" * 5000 + b"}"),
    *(
        b'{"x":"\\ud800"}',
        b'{"x":"\\u0000"}',
        b'{"x":"\\\\u0000"}',
        b'{"x":"\x00"}',
        b'{"x":' + b"[" * 9000 + b"]" * 9000 + b"}",
    ),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: repr(line[:24]))
def test_lines_are_read_as_strictly_as_on_a_site(line):
    found = []
    for parse in (at_home.parse_object, on_a_site.parse_object):
        try:
            found.append(parse(line))
        except BotFault as fault:
            found.append(fault.kind)
    assert found[0] == found[1]


def test_messages_are_written_alike():
    message = {
        "type": "hello",
        "names": ["ada", "Süreya", "\n"],
        "limits": {"move_s": 1.0, "wall_s": None},
        "up": [[], ["Td"]],
    }
    assert at_home.encode(message) == on_a_site.encode(message)


def test_play_deals_and_reports_as_the_site_s_command_does(soureh, write, tmp_path, capsys):
    bot = write(GOOD)
    series = [bot, "house:careful", "--games", 4, "--duplicate", "--seed", "s", "--set", "target=40", "--json"]
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    ended = soureh("play", *series, "--records", ours)
    assert ended.returncode == 0, ended.stderr
    call_command("play", *map(str, series), "--records", str(theirs), "--jobs", "1")
    reports = [json.loads(text) for text in (ended.stdout, capsys.readouterr().out)]
    for report in reports:
        for key in ("seconds", "turns_per_s", "records"):
            del report[key]
    assert reports[0] == reports[1]
    assert [without_times(document) for document in read(ours)] == [
        without_times(document) for document in read(theirs)
    ]
    verified = soureh("verify", ours)
    assert (verified.returncode, verified.stdout) == (0, f"{ours}: ok, 4 records\n")


def read(path):
    documents = [json.loads(line) for line in path.read_text().splitlines()]
    for document in documents:
        record.verify(document)
    return documents


def without_times(document):
    """Return a record without what depends on when it was played, and how fast."""
    hands = [{key: hand[key] for key in hand if key != "ms"} for hand in document["hands"]]
    return {**{key: document[key] for key in document if key != "played"}, "hands": hands}


def test_play_prints_a_table_and_says_what_is_wrong_with_a_command(soureh):
    ended = soureh("play", "my_bot.py", "house:random", "--games", 2, "--seed", "s")
    assert "2 games, " in ended.stdout
    assert "house:random" in ended.stdout
    wrong = soureh("play", "my_bot.py", "house:nobody")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "expected one of house:careful" in wrong.stderr


def test_verify_names_a_record_that_does_not_hold(soureh, tmp_path):
    path = tmp_path / "r.json"
    path.write_text("{}")
    ended = soureh("verify", path)
    assert ended.returncode == 1
    assert str(path) in ended.stderr


def test_what_a_bot_starts_ends_with_it(soureh, write):
    ended = soureh("check", write(f"import subprocess\nsubprocess.Popen(['sleep', '601'])\n{GOOD}"), "--games", 1)
    assert ended.returncode == 0, ended.stdout
    assert b"sleep\x00601\x00" not in command_lines()


def command_lines():
    """Return the command line of every process that there is."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        # One that ends while it is looked at is no matter.
        with suppress(FileNotFoundError, ProcessLookupError):
            found.append(path.read_bytes())
    return found


@pytest.mark.parametrize("name", ["Jail", "Start"])
def test_a_stand_in_has_the_face_of_what_it_stands_for(name):
    ours, theirs = ({key for key in vars(getattr(m, name)) if key[0] != "_"} for m in (stand_in, launcher))
    # With one process there is nothing to tell apart.
    assert theirs - {"note_bot"} <= ours


def test_the_download_is_the_same_for_the_same_files_and_names_no_place_of_this_machine():
    assert bundle.__wrapped__() == bundle.__wrapped__()
    names = [name for name, _path in contents()]
    assert len(names) == len(set(names))
    with zipfile.ZipFile(io.BytesIO(bundle())) as archive:
        assert sorted(archive.namelist()) == [f"{FOLDER}/{name}" for name in sorted(names)]
        assert not any(b"/home/" in archive.read(name) for name in archive.namelist())


def test_the_documents_in_it_link_to_what_is_there(kit):
    found = set()
    for page in (kit / "docs").glob("*.md"):
        if page.name != "engine.md":
            links = re.findall(r"\]\(([^)#/][^)#]*)", page.read_text())
            assert [link for link in links if not (page.parent / link).exists()] == [], page.name
            found.update(links)
    assert {"bots.md", "guide.md", "engine.md"} <= found


def test_the_command_writes_it(tmp_path, capsys):
    call_command("kit", str(tmp_path / "k.zip"))
    assert (tmp_path / "k.zip").read_bytes() == bundle()
    assert capsys.readouterr().out == f"{tmp_path / 'k.zip'}: {len(bundle())} bytes\n"
