"""Compare the files of two uploads line by line, for a page: pure, capped, and with nothing hidden.

Lines that stand once in either file hold the two together, and what lies between them is compared by `difflib`. What is
compared is a stranger's: where that would take long, it is only said to have been replaced, which is true as well.
"""

import io
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from enum import StrEnum
from os.path import commonprefix
from typing import NamedTuple

CONTEXT_LINES = 3
# Of all files together: more are not even taken apart.
LINES_MAX = 40_000
# Of a stretch between two lines that hold the files together, and of all stretches.
SEARCHED_MAX, ALL_SEARCHED_MAX = 1000, 3000
# Of all searched stretches, in lines of the old file that a line of the new one is like: what searching them costs.
PAIRS_MAX = 30_000
SHOWN_MAX = 3000
COLUMNS_MAX = 400


class Change(StrEnum):
    """What became of a file."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True)
class Line:
    """A line of either file or of both; `old` and `new` are its numbers there, from 1. `sign` is +, - or blank.

    Where it gave way to one much like it, what differs is from `marked_from` to `marked_to`, in characters.
    """

    sign: str
    old: int | None
    new: int | None
    text: str
    is_cut: bool = False
    has_end: bool = True
    marked_from: int = 0
    marked_to: int = 0

    @property
    def parts(self) -> tuple[str, str, str]:
        """Return the line as what comes before, within and after what is marked."""
        start, end = self.marked_from, self.marked_to
        return self.text[:start], self.text[start:end], self.text[end:]


@dataclass
class FileDiff:
    """How one file differs; `hunks` are runs of lines, the first of them if `is_cut`.

    `is_coarse`: some stretch was too long to be searched for what stayed in it.
    """

    name: str
    change: Change
    old_size: int | None
    new_size: int | None
    is_binary: bool = False
    is_too_long: bool = False
    is_coarse: bool = False
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
    """How many lines may still be taken apart, searched and shown, and how many pairs of equal ones be looked at."""

    lines: int = LINES_MAX
    searched: int = ALL_SEARCHED_MAX
    pairs: int = PAIRS_MAX
    shown: int = SHOWN_MAX


class Edit(NamedTuple):
    """Lines `old_start` to `old_end` of the old file gave way to `new_start` to `new_end` of the new, from 0."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def _compare_file(name: str, before: bytes | None, after: bytes | None, budget: _Budget) -> FileDiff:
    change = Change.ADDED if before is None else Change.REMOVED if after is None else Change.CHANGED
    old_size, new_size = (None if content is None else len(content) for content in (before, after))
    found = FileDiff(name, change, old_size, new_size)
    old, new = _text(before), _text(after)
    if old is None or new is None:
        found.is_binary = True
        return found
    budget.lines -= old.count("\n") + new.count("\n")
    if budget.lines < 0:
        found.is_too_long = True
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
    edits = []
    start = Edit(0, 0, 0, 0)
    for at_old, at_new in [*_anchors(old, new), (len(old), len(new))]:
        stretch = _trimmed(old, new, Edit(start.old_start, at_old, start.new_start, at_new))
        searched = _search(old, new, stretch, budget)
        found.is_coarse |= searched is None
        edits += [stretch] if searched is None else searched
        start = Edit(at_old + 1, 0, at_new + 1, 0)
    found.removed = sum(edit.old_end - edit.old_start for edit in edits)
    found.added = sum(edit.new_end - edit.new_start for edit in edits)
    for hunk in _hunks(edits, old, new):
        room = budget.shown
        budget.shown -= min(room, len(hunk))
        if room:
            found.hunks.append(hunk[:room])
        if len(hunk) > room:
            found.is_cut = True
            return


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return where lines that stand once in either file do so, as many as are in the same order in both."""
    before, after = _once(old), _once(new)
    pairs = [(at, after[line]) for line, at in before.items() if line in after]
    # The longest run that rises, by patience sorting: on each pile the lowest end, and what it was laid behind.
    ends: list[int] = []
    piles: list[int] = []
    behind: list[int] = []
    for number, (_at, place) in enumerate(pairs):
        pile = bisect_left(ends, place)
        behind.append(piles[pile - 1] if pile else -1)
        ends[pile : pile + 1], piles[pile : pile + 1] = [place], [number]
    chain = []
    number = piles[-1] if piles else -1
    while number >= 0:
        chain.append(pairs[number])
        number = behind[number]
    return chain[::-1]


def _once(lines: Sequence[str]) -> dict[str, int]:
    """Return where each line is that stands once."""
    counts = Counter(lines)
    return {line: at for at, line in enumerate(lines) if counts[line] == 1}


def _trimmed(old: Sequence[str], new: Sequence[str], edit: Edit) -> Edit:
    """Return the stretch without the lines with which both sides of it begin and end alike."""
    one, other = old[edit.old_start : edit.old_end], new[edit.new_start : edit.new_end]
    head = _common(one, other)
    tail = _common(one[head:][::-1], other[head:][::-1])
    return Edit(edit.old_start + head, edit.old_end - tail, edit.new_start + head, edit.new_end - tail)


def _search(old: Sequence[str], new: Sequence[str], stretch: Edit, budget: _Budget) -> list[Edit] | None:
    """Return what changed within a stretch; None if it is too long to be searched."""
    one, other = old[stretch.old_start : stretch.old_end], new[stretch.new_start : stretch.new_end]
    if not one or not other:
        return [stretch] if one or other else []
    size = max(len(one), len(other))
    if size > min(SEARCHED_MAX, budget.searched) or (pairs := _pairs(one, other)) > budget.pairs:
        return None
    budget.searched -= size
    budget.pairs -= pairs
    opcodes = SequenceMatcher(None, one, other).get_opcodes()
    i, k = stretch.old_start, stretch.new_start
    return [Edit(i + a, i + b, k + c, k + d) for tag, a, b, c, d in opcodes if tag != "equal"]


def _pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many pairs of equal lines a search goes through, again and again.

    `difflib` leaves out, in 200 new lines or more, those that come in more than a hundredth of them.
    """
    before, after = Counter(old), Counter(new)
    most = len(new) // 100 + 1 if len(new) >= 200 else len(new)
    return sum(before[line] * count for line, count in after.items() if count <= most)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines two files begin with alike."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _hunks(edits: Sequence[Edit], old: Sequence[str], new: Sequence[str]) -> Iterator[list[Line]]:
    """Yield runs of lines: what was taken out and put in, with a few lines around that stayed."""
    hunk: list[Line] = []
    end_old = end_new = 0
    for number, (i, j, k, m) in enumerate(edits):
        gap = i - end_old
        if number and gap > 2 * CONTEXT_LINES:
            yield hunk + _kept(old, end_old, end_new, CONTEXT_LINES)
            hunk = []
        lead = gap if hunk else min(gap, CONTEXT_LINES)
        hunk += _kept(old, i - lead, k - lead, lead)
        spans = [_differing(old[i + n], new[k + n]) for n in range(j - i)] if j - i == m - k else []
        hunk += [_line("-", old[i + n], old=i + n + 1, marked=spans[n][0] if spans else None) for n in range(j - i)]
        hunk += [_line("+", new[k + n], new=k + n + 1, marked=spans[n][1] if spans else None) for n in range(m - k)]
        end_old, end_new = j, m
    if hunk:
        yield hunk + _kept(old, end_old, end_new, min(CONTEXT_LINES, len(old) - end_old))


def _kept(old: Sequence[str], at_old: int, at_new: int, count: int) -> list[Line]:
    return [_line(" ", old[at_old + n], old=at_old + n + 1, new=at_new + n + 1) for n in range(count)]


def _differing(old: str, new: str) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return from where to where two lines differ in each; None where they have too little in common to say so."""
    head = len(commonprefix([old, new]))
    tail = len(commonprefix([old[head:][::-1], new[head:][::-1]]))
    if 2 * (len(old[:head].strip()) + len(old[len(old) - tail :].strip())) < min(len(old.strip()), len(new.strip())):
        return None, None
    return (head, len(old) - tail), (head, len(new) - tail)


def _line(
    sign: str, text: str, *, old: int | None = None, new: int | None = None, marked: tuple[int, int] | None = None
) -> Line:
    plain = text.removesuffix("\n")
    start, end = marked or (0, 0)
    return Line(
        sign,
        old,
        new,
        plain[:COLUMNS_MAX],
        is_cut=len(plain) > COLUMNS_MAX,
        has_end=plain != text,
        marked_from=start,
        marked_to=end,
    )
