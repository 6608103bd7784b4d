"""Read records from files that anybody may have written, and verify them one at a time.

Takes JSON strictly: UTF-8, no key twice, no NaN. What cannot be read is refused with
InvalidRecord and never with a traceback; a line at a time is in memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any, BinaryIO

from .game import InvalidRecord
from .notation import show
from .record import verify

RECORD_MAX = 64 * 1024 * 1024  # bytes; a thousand hands of the longest kind have some 12 MiB


def load(data: bytes) -> Any:
    """Return the one JSON value in `data`.

    Raises:
        InvalidRecord: it is not strictly JSON, or too large or too deep.
    """
    if len(data) > RECORD_MAX:
        raise InvalidRecord(f"expected a record of at most {RECORD_MAX} bytes: it is larger")
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_float=_finite,
            parse_constant=_no_constant,
        )
    except InvalidRecord:
        raise
    except RecursionError as error:
        raise InvalidRecord("expected a record: the document is nested too deeply") from error
    except ValueError as error:  # bad UTF-8, bad JSON, or a number of thousands of digits
        raise InvalidRecord(f"expected JSON in UTF-8: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    doc: dict[str, Any] = {}
    for key, value in pairs:
        if key in doc:
            raise InvalidRecord(f"expected each key once: {show(key)}")
        doc[key] = value
    return doc


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidRecord(f"expected a finite number: {show(text)}")
    return number


def _no_constant(text: str) -> float:
    raise InvalidRecord(f"expected a finite number: {text}")


def verify_file(path: str | PathLike[str], on_progress: Callable[[int], object] | None = None) -> int:
    """Verify every record of a file, a record or JSON lines of records, and return their number.

    `on_progress` is told, after each record, how many bytes of the file have been read.

    Raises:
        InvalidRecord: the first record that does not hold, with line, hand, move and reason.
        OSError: the file cannot be read.
    """
    count = 0
    with open(path, "rb") as file:
        for where, doc in _documents(file):
            try:
                verify(doc)
            except InvalidRecord as error:
                raise InvalidRecord(f"{where}: {error}") from error
            count += 1
            if on_progress:
                on_progress(file.tell())
    if not count:
        raise InvalidRecord("expected a record: the file is empty")
    return count


def _documents(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """Yield each document with the name of its place."""
    is_first = True
    for number, line in enumerate(iter(lambda: file.readline(RECORD_MAX + 1), b""), 1):
        if not line.strip():
            continue
        yield f"line {number}", _load_first(line, file, number) if is_first else _load_line(line, number)
        is_first = False


def _load_line(line: bytes, number: int) -> Any:
    try:
        return load(line)
    except InvalidRecord as error:
        raise InvalidRecord(f"line {number}: {error}") from error


def _load_first(line: bytes, file: BinaryIO, number: int) -> Any:
    """Return the document of the first line, or of the whole file if one document spans its lines."""
    try:
        return load(line)
    except InvalidRecord:
        rest = b"" if len(line) > RECORD_MAX else file.read(RECORD_MAX + 1)
        if not rest.strip():
            return _load_line(line, number)
        return load(b"\n" * (number - 1) + line + rest)
