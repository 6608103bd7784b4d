"""Compare the files of two uploads line by line, for a page: pure, capped, and with nothing hidden.

What is compared is a stranger's: long lines are cut, and beyond a number of lines a file is only said to differ, since
the comparison takes time that grows faster than its length.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import StrEnum

CONTEXT_LINES = 3
# Of the lines in which two files differ, between what their beginnings and their ends have in common.
COMPARED_MAX = 1500
# Of all files together.
ALL_COMPARED_MAX = 3000
SHOWN_MAX = 3000
COLUMNS_MAX = 400


class Change(StrEnum):
    """What became of a file."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True)
class Line:
    """A line of either file or of both; `old` and `new` are its numbers there, from 1. `sign` is +, - or blank."""

    sign: str
    old: int | None
    new: int | None
    text: str
    is_cut: bool = False
    has_end: bool = True


@dataclass
class FileDiff:
    """How one file differs. `hunks` are runs of lines; without any, `reason` may say why."""

    name: str
    change: Change
    old_size: int | None
    new_size: int | None
    is_binary: bool = False
    is_too_long: bool = False
    is_cut: bool = False
    added: int = 0
    removed: int = 0
    hunks: list[list[Line]] = field(default_factory=list)


@dataclass
class Comparison:
    """How two uploads differ, file by file in order of their names; `same` names those that are equal."""

    files: list[FileDiff]
    same: list[str]

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed for file in self.files)


def compare(old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Comparison:
    """Return how the files of one upload became those of another."""
    budget = _Budget()
    files, same = [], []
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before == after:
            same.append(name)
        else:
            files.append(_compare_file(name, before, after, budget))
    return Comparison(files, same)


@dataclass
class _Budget:
    """How many lines may still be compared, and shown."""

    compared: int = ALL_COMPARED_MAX
    shown: int = SHOWN_MAX


def _compare_file(name: str, before: bytes | None, after: bytes | None, budget: _Budget) -> FileDiff:
    change = Change.ADDED if before is None else Change.REMOVED if after is None else Change.CHANGED
    old_size, new_size = (None if content is None else len(content) for content in (before, after))
    found = FileDiff(name, change, old_size, new_size)
    old, new = _text(before), _text(after)
    if old is None or new is None:
        found.is_binary = True
        return found
    # A file that has \r\n throughout, then as now, is shown without saying so in each line.
    if all(text.count("\n") == text.count("\r\n") for text in (old, new)):
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    _compare_lines(found, _lines(old), _lines(new), budget)
    return found


def _text(content: bytes | None) -> str | None:
    """Return a file as text, "" for none; None if it is not text."""
    try:
        text = (content or b"").decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _lines(text: str) -> list[str]:
    """Return the lines with their ends. Only \\n ends a line, so that what else might is seen."""
    return list(io.StringIO(text, newline="\n"))


def _compare_lines(found: FileDiff, old: Sequence[str], new: Sequence[str], budget: _Budget) -> None:
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    size = max(len(middle_old), len(middle_new))
    # Where one side is empty there is nothing to search for.
    if middle_old and middle_new:
        if size > min(COMPARED_MAX, budget.compared):
            found.is_too_long = True
            return
        budget.compared -= size
    matcher = SequenceMatcher(None, middle_old, middle_new, autojunk=True)
    edits = [
        (tag, i + head, j + head, k + head, m + head) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"
    ]
    found.removed = sum(j - i for _tag, i, j, _k, _m in edits)
    found.added = sum(m - k for _tag, _i, _j, k, m in edits)
    for hunk in _hunks(edits, old, new):
        room = budget.shown
        budget.shown -= min(room, len(hunk))
        if room:
            found.hunks.append(hunk[:room])
        if len(hunk) > room:
            found.is_cut = True
            return


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines two files begin with alike."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _hunks(
    edits: Sequence[tuple[str, int, int, int, int]], old: Sequence[str], new: Sequence[str]
) -> Iterator[list[Line]]:
    """Yield runs of lines: what was taken out and put in, with a few lines around that stayed."""
    hunk: list[Line] = []
    end_old = end_new = 0
    for number, (_tag, i, j, k, m) in enumerate(edits):
        gap = i - end_old
        if number and gap > 2 * CONTEXT_LINES:
            yield hunk + _kept(old, end_old, end_new, CONTEXT_LINES)
            hunk = []
        lead = gap if hunk else min(gap, CONTEXT_LINES)
        hunk += _kept(old, i - lead, k - lead, lead)
        hunk += [_line("-", old[at], old=at + 1) for at in range(i, j)]
        hunk += [_line("+", new[at], new=at + 1) for at in range(k, m)]
        end_old, end_new = j, m
    if hunk:
        yield hunk + _kept(old, end_old, end_new, min(CONTEXT_LINES, len(old) - end_old))


def _kept(old: Sequence[str], at_old: int, at_new: int, count: int) -> list[Line]:
    return [_line(" ", old[at_old + n], old=at_old + n + 1, new=at_new + n + 1) for n in range(count)]


def _line(sign: str, text: str, *, old: int | None = None, new: int | None = None) -> Line:
    plain = text.removesuffix("\n")
    return Line(sign, old, new, plain[:COLUMNS_MAX], is_cut=len(plain) > COLUMNS_MAX, has_end=plain != text)
