"""Find in a bot's log what Python said when the bot broke off: the last traceback, and its own last line in it.

A log is whatever a bot likes to write. What is found is a text to be shown, and a place in the author's own files.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

HEAD = "Traceback (most recent call last):"
FRAME = re.compile(r'^ +File "(?:/bot/)?([^"\n]{1,200})", line ([0-9]{1,7})\b')
SHOWN_LINES = 40
SEARCHED_CHARS = 20_000


@dataclass(frozen=True)
class Traceback:
    """A traceback's text, cut to `SHOWN_LINES`, and the innermost place in one of the author's files."""

    text: str
    file: str = ""
    line: int = 0


def last_traceback(log: str, files: Collection[str]) -> Traceback | None:
    """Return the last traceback of a log; `files` are the author's, by path inside /bot. None if there is none."""
    tail = log[-SEARCHED_CHARS:]
    start = tail.rfind(HEAD)
    if start < 0:
        return None
    lines = _own_lines(tail[start:].splitlines())
    file, number = "", 0
    for line in lines:
        found = FRAME.match(line)
        if found and found[1] in files:
            file, number = found[1], int(found[2])
    shown = lines if len(lines) <= SHOWN_LINES else [HEAD, "  …", *lines[2 - SHOWN_LINES :]]
    return Traceback("\n".join(shown), file, number)


def _own_lines(lines: list[str]) -> list[str]:
    """Return a traceback's lines, to the one that names the error; what was logged after it is no part of it."""
    for number, line in enumerate(lines[1:], 1):
        if line and not line.startswith(" "):
            return lines[: number + 1]
    return lines
