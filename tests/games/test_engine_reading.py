"""Files of records that anybody may have written: read strictly, refused clearly."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from games.engine import InvalidRecord, reading
from games.engine.reading import load, verify_file
from tests.games.engine_games import VECTORS, vector

ROOT = Path(__file__).parents[2]
DOC = vector("records.jsonl")[-1]
LINE = json.dumps(DOC).encode()


@pytest.fixture
def file(tmp_path):
    def write(data):
        path = tmp_path / "r.jsonl"
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (LINE, 1),
        (LINE + b"\n", 1),
        (LINE + b"\n\n" + LINE + b"\r\n", 2),
        (json.dumps(DOC, indent=2).encode(), 1),
        (b"\n\n" + json.dumps(DOC, indent=1).encode() + b"\n", 1),
    ],
    ids=["bare", "line", "lines", "indented", "indented-after-blank-lines"],
)
def test_a_record_or_lines_of_records_hold(file, data, count):
    assert verify_file(file(data)) == count


def test_vector_file_holds():
    assert verify_file(VECTORS / "records.jsonl") == 20


def test_progress_is_told_record_by_record(file):
    told = []
    assert verify_file(file(LINE + b"\n" + LINE + b"\n"), told.append) == 2
    assert told == [len(LINE) + 1, 2 * len(LINE) + 2]


DEEP = b"[" * 200_000 + b"]" * 200_000
DEEP_OBJECT = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file is empty"),
        (b"{", "expected JSON"),
        (LINE[:-1], "expected JSON"),
        (LINE[:1000], "expected JSON"),
        (LINE + b"\n" + LINE[:1000], "line 2: expected JSON"),
        (LINE + LINE, "expected JSON"),
        (LINE + b"\n[]", "line 2: record: expected an object"),
        (b"\xff\xfe" + LINE, "expected JSON in UTF-8"),
        (b"\xef\xbb\xbf" + LINE, "expected JSON"),
        (LINE.decode().encode("utf-16"), "expected JSON in UTF-8"),
        (b"\x00" * 100, "expected JSON"),
        (DEEP, "nested too deeply"),
        (DEEP_OBJECT, "nested too deeply"),
        (LINE.replace(b'"format"', b'"x": ' + DEEP + b', "format"'), "nested too deeply"),
        (LINE.replace(b'"totals": [66', b'"totals": [NaN'), "finite number: NaN"),
        (LINE.replace(b'"totals": [66', b'"totals": [-Infinity'), "finite number"),
        (LINE.replace(b'"totals": [66', b'"totals": [1e999'), "finite number"),
        (LINE.replace(b'"totals": [66', b'"totals": [66.0'), "expected an integer: 66.0"),
        (LINE.replace(b'"totals": [66', b'"totals": [true'), "expected an integer: True"),
        (LINE.replace(b'"totals": [66', b'"totals": [' + b"9" * 5000), "expected JSON"),
        (LINE.replace(b'"format"', b'"format": 1, "format"'), "each key once: 'format'"),
        (LINE.replace(b'"no": 2', b'"no": 2, "no": 2'), "each key once: 'no'"),
        (b"null", "expected an object: None"),
        (b'"\\ud800"', "expected an object"),
    ],
    ids=[
        *("empty", "blank", "brace", "no-end", "truncated", "truncated-second", "two-on-a-line", "list-second"),
        *("bad-utf8", "bom", "utf16", "zeros", "deep", "deep-object", "deep-inside", "nan", "infinity", "overflow"),
        *("float", "bool", "digits", "key-twice", "inner-key-twice", "null", "surrogate"),
    ],
)
def test_what_does_not_hold_is_refused_with_a_reason(file, data, reason):
    with pytest.raises(InvalidRecord) as refusal:
        verify_file(file(data))
    assert reason in str(refusal.value)
    assert len(str(refusal.value)) < 400
    str(refusal.value).encode("utf-8")


def test_every_cut_of_a_record_is_refused(file):
    for cut in range(0, len(LINE) - 1, 97):
        with pytest.raises(InvalidRecord):
            verify_file(file(LINE[:cut]))


@pytest.mark.parametrize("prefix", [b"", LINE + b"\n"], ids=["first-line", "second-line"])
def test_too_large_a_line_is_refused_unread(file, monkeypatch, prefix):
    monkeypatch.setattr(reading, "RECORD_MAX", len(LINE) + 10)
    with pytest.raises(InvalidRecord, match="it is larger"):
        verify_file(file(prefix + LINE + b" " * 100 + b"\n"))


def test_strict_json_of_other_values_is_read():
    assert load(b'{"a":[1,-2.5,"\xc3\xa9",null,true]}') == {"a": [1, -2.5, "é", None, True]}


def verify_command(*files):
    """Run the command as a user does, without any database in reach."""
    done = subprocess.run(
        [sys.executable, "manage.py", "verify", *map(str, files)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={
            "PATH": "/usr/bin:/bin",
            "SOUREH_VAR": str(files[0].parent),
            "DATABASE_URL": "postgres://127.0.0.1:1/none",
        },
        check=False,
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_command_prints_a_line_for_each_file(tmp_path):
    good, also_good = tmp_path / "a.json", tmp_path / "b.jsonl"
    good.write_bytes(LINE)
    also_good.write_bytes(LINE + b"\n" + LINE + b"\n")
    assert verify_command(good, also_good) == (0, [f"{good}: ok, 1 record", f"{also_good}: ok, 2 records"], "")


def test_command_stops_at_the_first_that_does_not_hold(tmp_path):
    good, bad, unread = tmp_path / "a.json", tmp_path / "b.jsonl", tmp_path / "c.json"
    good.write_bytes(LINE)
    unread.write_bytes(LINE)
    refused = next(case for case in vector("refused.jsonl") if case["lie"] == "points")
    bad.write_text(json.dumps(refused["record"]))
    status, lines, errors = verify_command(good, bad, unread)
    assert (status, lines) == (1, [f"{good}: ok, 1 record"])
    assert f"{bad}: line 1: hand 18: end.points" in errors and "Traceback" not in errors


def test_command_says_that_a_file_is_missing(tmp_path):
    status, lines, errors = verify_command(tmp_path / "none.json")
    assert (status, lines) == (1, [])
    assert "No such file" in errors and "Traceback" not in errors
