"""How two versions differ: line by line, file by file, with nothing hidden and with an end to it."""

import random
import time
from typing import Any

import pytest
from django.test import Client

from bots import rates
from bots.diff import COLUMNS_MAX, LINES_MAX, SEARCHED_MAX, SHOWN_MAX, Change, Comparison, FileDiff, compare
from bots.models import BotVersion
from bots.versions import add_version
from tests.bots.archives import GOOD, archive
from tests.people import FIRST_BOT, person, uploaded

PAGE = "/bots/mim/versions/compare/"


def of_one(old: bytes, new: bytes) -> FileDiff:
    (file,) = compare({"bot.py": old}, {"bot.py": new}).files
    return file


def as_text(file: FileDiff) -> list[str]:
    return [f"{line.old or ''}/{line.new or ''}{line.sign}{line.text}" for hunk in file.hunks for line in hunk]


def test_changed_lines_stand_with_their_numbers_among_those_that_stayed() -> None:
    file = of_one(b"a\nb\nc\nd\ne\nf\n", b"a\nb\nc\nD\nDD\ne\nf\n")
    assert as_text(file) == ["1/1 a", "2/2 b", "3/3 c", "4/-d", "/4+D", "/5+DD", "5/6 e", "6/7 f"]
    assert (file.change, file.added, file.removed) == (Change.CHANGED, 2, 1)


def test_what_differs_within_a_line_is_marked_where_lines_are_much_alike() -> None:
    def marked(old: bytes, new: bytes) -> list[str]:
        return [line.parts[1] for hunk in of_one(old, new).hunks for line in hunk]

    assert marked(b"    best = pick(turn)\n", b"    top = pick(turn)\n") == ["best", "top"]
    assert marked(b"    best = pick(turn)\n", b"    best = pick(turn, 2)\n") == ["", ", 2"]
    assert marked(b"    one = 1\n", b"    while True:\n") == ["", ""], "an indent alone is no likeness"
    assert marked(b"a = 1\nb = 2\n", b"a = 3\nb = 4\n") == ["1", "2", "3", "4"]
    assert marked(b"value = 1\n", b"value = 1") == ["", ""], "an end of line is told in words"


def test_far_changes_are_parted_and_near_ones_are_not() -> None:
    old = [b"%d\n" % number for number in range(1, 31)]
    new = list(old)
    new[4], new[12], new[25] = b"x\n", b"y\n", b"z\n"
    file = of_one(b"".join(old), b"".join(new))
    assert [(hunk[0].old, hunk[-1].new) for hunk in file.hunks] == [(2, 8), (10, 16), (23, 29)]
    new[11] = b"w\n"
    assert [(hunk[0].old, hunk[-1].new) for hunk in of_one(b"".join(old), b"".join(new)).hunks] == [(2, 16), (23, 29)]


@pytest.mark.parametrize("seed", range(20))
def test_diff_leads_from_the_one_to_the_other(seed: int) -> None:
    dice = random.Random(seed)
    old, new = ([dice.choice("abcdefgh") for _ in range(dice.randrange(40))] for _ in range(2))
    texts = ["".join(f"{line}\n" for line in lines).encode() for lines in (old, new)]
    if texts[0] == texts[1]:
        return
    rebuilt, at = [], 0
    for line in (line for hunk in of_one(*texts).hunks for line in hunk):
        if line.old is not None:
            rebuilt += old[at : line.old - 1]
            at = line.old
            assert old[line.old - 1] == line.text
        if line.new is not None:
            rebuilt.append(line.text)
            assert len(rebuilt) == line.new
    assert rebuilt + old[at:] == new


def test_files_are_added_removed_changed_or_not_text() -> None:
    old = {"bot.py": b"a\n", "gone.py": b"x\n", "same.py": b"", "w.bin": b"\0\1", "late.bin": b"\xff"}
    new = {"bot.py": b"b\n", "new.py": b"y\nz\n", "same.py": b"", "w.bin": b"\0\1\2", "empty.py": b""}
    found = compare(old, new)
    assert found.same == ["same.py"]
    assert [(file.name, file.change.value, file.is_binary) for file in found.files] == [
        ("bot.py", "changed", False),
        ("empty.py", "added", False),
        ("gone.py", "removed", False),
        ("late.bin", "removed", True),
        ("new.py", "added", False),
        ("w.bin", "changed", True),
    ]
    assert (found.added, found.removed) == (3, 2)
    assert compare(old, old) == Comparison([], sorted(old))


def test_line_ends_are_told_apart() -> None:
    assert as_text(of_one(b"a\nb\n", b"a\r\nb\n")) == ["1/-a", "/1+a\r", "2/2 b"]
    # Throughout, then as now: not worth a word in each line.
    assert as_text(of_one(b"a\r\nb\r\n", b"a\r\nc\r\n")) == ["1/1 a", "2/-b", "/2+c"]
    assert [line.has_end for hunk in of_one(b"a\n", b"a").hunks for line in hunk] == [True, False]


def test_what_is_shown_has_an_end() -> None:
    (line,) = (line for hunk in of_one(b"", b"x" * 10_000).hunks for line in hunk)
    assert (len(line.text), line.is_cut) == (COLUMNS_MAX, True)
    file = of_one(b"", b"x\n" * (SHOWN_MAX + 5))
    assert (sum(map(len, file.hunks)), file.is_cut, file.added) == (SHOWN_MAX, True, SHOWN_MAX + 5)
    many = compare({}, {f"{number:02d}.py": b"x\n" * 1000 for number in range(5)})
    assert [sum(map(len, file.hunks)) for file in many.files] == [1000, 1000, 1000, 0, 0]
    assert [file.is_cut for file in many.files] == [False, False, False, True, True]


def test_long_file_that_changed_at_both_ends_is_told_line_by_line() -> None:
    lines = [f"def f{n // 3}():\n" if n % 3 == 0 else "    pass\n" for n in range(9000)]
    file = of_one("".join(["a\n", *lines, "b\n"]).encode(), "".join(["A\n", *lines, "B\n"]).encode())
    assert (file.added, file.removed, file.is_coarse, len(file.hunks)) == (2, 2, False, 2)


def test_comparing_takes_no_longer_than_a_request_may() -> None:
    """Lines that all stand twice and repeat every other line are the worst that was found for the search."""

    def lines(mark: str, count: int) -> bytes:
        return "".join(f"{n // 4}\n" if n % 2 else f"{mark}{n // 4}\n" for n in range(count)).encode()

    names = [f"{number}.py" for number in range(5)]
    started = time.process_time()
    found = compare(*({name: lines(mark, SEARCHED_MAX) for name in names} for mark in "ab"))
    assert time.process_time() - started < 10
    assert [file.is_coarse for file in found.files] == [False, False, False, True, True]
    assert {file.added for file in found.files[3:]} == {SEARCHED_MAX - 1}, "true all the same"
    huge = compare({"a": b"\n" * LINES_MAX}, {"a": b"\n"}).files[0]
    assert (huge.is_too_long, huge.hunks) == (True, [])


def test_short_stretches_of_one_line_over_and_over_are_not_all_searched() -> None:
    """Below 200 lines `difflib` looks at every pair of equal lines, once for each run that it finds."""

    def lines(other: str, count: int) -> bytes:
        return "".join(f"x\n{other}\n" * 99 + f"anchor {n}\n" for n in range(count)).encode()

    started = time.process_time()
    few, many = (of_one(lines("x", count), lines("y", count)) for count in (1, 15))
    assert time.process_time() - started < 2
    assert (few.is_coarse, many.is_coarse) == (False, True)
    assert (few.added, few.removed) == (99, 99), "half of the lines stayed"


# The page


def two_versions(ada: Any, old: bytes, new: bytes, *, file_name: str = "bot.py") -> BotVersion:
    first = uploaded(ada, source=old)
    return add_version(ada, bot=first.bot, file_name=file_name, data=new, note="Second <thoughts>")


def test_page_shows_both_with_escapes_for_what_would_act(client: Client, ada: Any) -> None:
    two_versions(ada, b"pass\n", "x = '\u202e<script>\x1b[31m'\n".encode())
    page = client.get(PAGE + "?old=1&new=2").content.decode()
    assert "x = &#x27;\\u202e&lt;script&gt;\\x1b[31m&#x27;" in page
    assert "\u202e" not in page and "\x1b" not in page and "<script>\\x1b" not in page
    assert "Second &lt;thoughts&gt;" in page
    assert "1 line added, 1 line removed" in page and "1 lines" not in page
    assert '<tr class="diff-removed"><td class="diff-no">1</td><td class="diff-no"></td>' in page


def test_page_goes_either_way_and_from_a_file_to_an_archive(client: Client, ada: Any) -> None:
    two_versions(ada, GOOD, archive(("bot.py", GOOD), ("helper.py", b"x = 1\n")), file_name="bot.zip")
    page = client.get(PAGE + "?old=1&new=2").content.decode()
    assert "<code>helper.py</code>" in page and "1 file differs" in page and "1 file is the same" in page
    assert ">removed</span>" in client.get(PAGE + "?old=2&new=1").content.decode()


def test_the_same_in_other_packing_is_said(client: Client, ada: Any) -> None:
    two_versions(ada, GOOD, archive(("bot.py", GOOD)), file_name="bot.zip")
    assert "The files in both are the same" in client.get(PAGE + "?old=1&new=2").content.decode()
    assert "Both are the same file" in client.get(PAGE + "?old=1&new=1").content.decode()


@pytest.mark.parametrize("query", ["?old=1&new=9", "?old=x&new=1", "?old=1", "?old=0&new=1", "?old=99999999999&new=1"])
def test_versions_that_are_not_there_are_told(client: Client, ada: Any, query: str) -> None:
    two_versions(ada, b"x = 1\n", b"x = 2\n")
    answer = client.get(PAGE + query)
    assert answer.status_code == 422
    assert answer.context["form"].errors


def test_page_without_numbers_asks_for_them(client: Client, ada: Any) -> None:
    two_versions(ada, b"x = 1\n", b"x = 2\n")
    answer = client.get(PAGE)
    assert answer.status_code == 200
    assert 'name="old"' in answer.content.decode()


@pytest.mark.parametrize("rights", [{}, {"is_staff": True, "is_superuser": True}], ids=["person", "staff"])
def test_nobody_else_sees_what_changed(ada: Any, rights: dict[str, bool]) -> None:
    two_versions(ada, FIRST_BOT, FIRST_BOT + b"SECRET = 1\n")
    other = Client()
    other.force_login(person("ben", **rights))
    assert other.get(PAGE + "?old=1&new=2").status_code == 404
    assert Client().get(PAGE + "?old=1&new=2").status_code == 302


def test_comparing_is_counted(client: Client, ada: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    two_versions(ada, b"x = 1\n", b"x = 2\n")
    monkeypatch.setattr("bots.views.COMPARISONS_PER_MINUTE", 1)
    monkeypatch.setattr(rates, "time", lambda: 1e9)
    assert [client.get(PAGE + "?old=1&new=2").status_code for _ in range(2)] == [200, 429]
    assert client.get(PAGE).status_code == 200, "the form itself costs nothing"
