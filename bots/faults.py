"""What a bot can do wrong, how one of its lines is read, and its log. Standard library only, no Django."""

import json
import math
import os
from collections.abc import Iterable
from typing import Any

FAULT_KINDS = ("start", "timeout", "illegal", "protocol", "crash", "memory", "output", "violation")

LINE_MAX = 4096
# Without a newline in this many bytes it is no line any more but a flood.
FLOOD = 65536
STDERR_KEPT = 65536
SHOWN = 200


class BotFault(Exception):
    """What a bot did wrong: `kind` (of FAULT_KINDS), a short public `reason`, and `detail` for its owner."""

    def __init__(self, kind: str, reason: str, detail: str = "") -> None:
        super().__init__(kind, reason, detail)
        self.kind, self.reason, self.detail = kind, reason, detail or reason

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


class Log:
    """A bot's stderr: the first and the last half of STDERR_KEPT bytes. `length` counts what came before it, too."""

    def __init__(self, before: int = 0) -> None:
        self.length = self._before = before
        self._head = bytearray()
        self._tail = bytearray()

    def drain(self, fd: int) -> bool:
        """Take what is there now, a bounded amount; False when the bot has closed it."""
        for _ in range(16):
            try:
                chunk = os.read(fd, 65536)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self.add(chunk)
        return True

    def add(self, chunk: bytes) -> None:
        half = STDERR_KEPT // 2
        self.length += len(chunk)
        room = half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        del self._tail[:-half]

    def text(self) -> str:
        left_out = self.length - self._before - len(self._head) - len(self._tail)
        mark = f"\n[… {left_out} bytes left out …]\n".encode() if left_out else b""
        return (self._head + mark + self._tail).decode(errors="replace")


# Strict reading of a line


def single_line(words: bytes) -> bytes:
    """Return the one line in `words`, which ends with it.

    Raises:
        BotFault: protocol, or output for a flood.
    """
    end = words.find(b"\n", 0, LINE_MAX + 1)
    if end < 0:
        if len(words) >= FLOOD:
            raise flood_fault(words)
        raise protocol_fault(f"a line of more than {LINE_MAX} bytes", words)
    if end + 1 != len(words):
        raise protocol_fault("more than one line", words)
    return words[:end]


def read_strictly(line: bytes) -> None:
    """Read a line that msgspec took, with an eye on what it lets pass.

    Raises:
        BotFault: protocol.
    """
    try:
        json.loads(line, object_pairs_hook=_unique, parse_int=_small_int, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise protocol_fault("not strict JSON", line, str(error)) from error
    # The C scanner of `json` gives no hook for strings; an escaped NUL is looked for in the text.
    if b"\\u0000" in line.replace(b"\\\\", b""):
        raise protocol_fault("a NUL character", line)


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key twice in one object")
    return dict(pairs)


def _small_int(digits: str) -> int:
    if len(digits) > 20 or not -(1 << 63) <= int(digits) < 1 << 63:
        raise ValueError(f"expected an integer of 64 bits: {digits[:24]}")
    return int(digits)


def _finite(digits: str) -> float:
    if not math.isfinite(float(digits)):
        raise ValueError(f"expected a finite number: {digits[:24]}")
    return float(digits)


def protocol_fault(reason: str, words: bytes, why: str = "") -> BotFault:
    shown = words[:SHOWN].decode(errors="backslashreplace")
    return BotFault("protocol", reason, f"{reason}{f' ({why})' if why else ''}: {shown!r:.{SHOWN}}")


def flood_fault(words: bytes) -> BotFault:
    return BotFault("output", "flooded its output", f"{len(words)} bytes at once: {words[:SHOWN]!r:.{SHOWN}}")
