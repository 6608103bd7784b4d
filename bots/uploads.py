"""What is accepted as a bot: one Python file, or a zip of some. Says why not, with line and column.

An upload is hostile until proven otherwise: nothing of it is ever executed here, nothing is
written to disk, and even its syntax is checked in a process of its own with limits, since the
compiler can be made to eat memory or to overflow its stack. Never imports Django; the messages
are marked for translation by `_` and can be translated from `UploadError.template`.
"""

import codecs
import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bots.archives import is_archive, read_archive
from bots.sandbox.runtime import read_variables
from bots.upload_rules import ENTRY, MAX_BYTES, SOURCE_MAX, UploadError, _, require_size

__all__ = ["Upload", "UploadError", "check_upload", "is_archive", "size_limit", "unpack"]

# The child has 8 s of CPU; a busy machine must not make a sound source look too complex.
CHECK_S = 40
# How many sources are compiled at once: some take all of the half gigabyte that one child may have.
_CHECKS = threading.BoundedSemaphore(2)
BYTE_ORDER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


@dataclass(frozen=True)
class Upload:
    """An accepted upload: its files by path inside /bot, and the digest and size of what was sent."""

    files: dict[str, bytes]
    sha256: str
    size: int


def check_upload(filename: str, data: bytes) -> Upload:
    """Return an upload as it will be run.

    Raises:
        UploadError: it is not acceptable; the message says what to mend.
    """
    _require_kind(filename, data)
    files = unpack(data)
    sources = {name: content for name, content in files.items() if name.endswith(".py")}
    for name, source in sources.items():
        _require_text(name, source)
    if not sources[ENTRY].removeprefix(codecs.BOM_UTF8).strip():
        raise UploadError(_("%(name)s is empty: there is no bot in it."), name=ENTRY)
    _require_syntax(sources)
    return Upload(files, hashlib.sha256(data).hexdigest(), len(data))


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the files of a bot, path inside /bot to content, from what was uploaded.

    Raises:
        UploadError: too large, or no archive that can be taken.
    """
    if is_archive(data):
        return read_archive(data)
    require_size(ENTRY, len(data))
    return {ENTRY: data}


def size_limit(filename: str) -> int:
    """Return how many bytes a file of this name may have, as it is sent."""
    return MAX_BYTES if _suffix(filename) == ".zip" else SOURCE_MAX


def _suffix(filename: str) -> str:
    return PurePosixPath(filename).suffix.lower()


def _require_kind(filename: str, data: bytes) -> None:
    suffix = _suffix(filename)
    if suffix not in (".py", ".zip"):
        raise UploadError(_("Send a .py file, or a .zip with a bot.py at its root."))
    if suffix == ".py" and is_archive(data):
        raise UploadError(_("This is a zip archive, though its name ends in .py. Let its name end in .zip."))
    if suffix == ".zip" and not data:
        raise UploadError(_("The file is empty, not even an archive. Pack bot.py into it."))
    if suffix == ".zip" and not is_archive(data):
        raise UploadError(
            _("This is not a zip archive, though its name ends in .zip. A Python file's name ends in .py.")
        )


# Sources


def _require_text(name: str, source: bytes) -> None:
    """Refuse a source that is not UTF-8, says that it is something else, or holds a NUL."""
    if source.startswith(BYTE_ORDER_MARKS):
        raise UploadError(_("%(name)s is UTF-16 or UTF-32 text. Save it as UTF-8."), name=name, line=1, source=source)
    if (at := source.find(b"\0")) >= 0:
        line, column = _place(source, at)
        raise UploadError(_("%(name)s holds a NUL character."), name=name, line=line, column=column, source=source)
    try:
        source.decode()
    except UnicodeDecodeError as error:
        line, column = _place(source, error.start)
        raise UploadError(
            _("%(name)s is not UTF-8 text: see byte %(byte)d. Save it as UTF-8."),
            name=name,
            byte=error.start,
            line=line,
            column=column,
            source=source,
        ) from error
    try:
        encoding, _lines = tokenize.detect_encoding(io.BytesIO(source).readline)
    except SyntaxError as error:
        raise UploadError(
            _("%(name)s names an encoding that is not known. Save it as UTF-8."), name=name, line=1, source=source
        ) from error
    if encoding not in ("utf-8", "utf-8-sig"):
        raise UploadError(
            _("%(name)s says that its encoding is %(encoding)s. Save it as UTF-8."),
            name=name,
            encoding=encoding,
            line=1,
            source=source,
        )


def _place(source: bytes, at: int) -> tuple[int, int]:
    """Return line and column, from 1 and in characters, of a byte of a source."""
    before = io.StringIO(source[:at].decode(errors="replace"), newline=None).read()
    return before.count("\n") + 1, len(before) - before.rfind("\n")


# Reads names and sizes, then the sources; compiles them, and never runs any. Says which it begins, and what it finds.
CHECKER = """
import json, resource, sys
for limit, value in (("AS", 512 << 20), ("CPU", 8), ("FSIZE", 0), ("CORE", 0), ("NOFILE", 16)):
    resource.setrlimit(getattr(resource, "RLIMIT_" + limit), (value, value))
for name, size in json.loads(sys.stdin.buffer.readline()):
    print(json.dumps(name), flush=True)
    try:
        compile(sys.stdin.buffer.read(size), name, "exec", dont_inherit=True)
    except SyntaxError as error:
        print(json.dumps([error.msg, error.lineno or 1, max(1, error.offset or 1)]))
        break
    except (MemoryError, RecursionError, OverflowError, ValueError) as error:
        sys.exit(1)
"""


def _require_syntax(sources: Mapping[str, bytes]) -> None:
    """Compile in a child with limits, by the interpreter that will run it where that is installed."""
    python = read_variables(os.environ)[0]
    python = python if Path(python).exists() else sys.executable
    head = json.dumps([[name, len(source)] for name, source in sources.items()]).encode() + b"\n"
    command = [python, "-I", "-S", "-B", "-W", "ignore", "-X", "utf8", "-c", CHECKER]
    try:
        with _CHECKS:
            done = subprocess.run(
                command, input=head + b"".join(sources.values()), capture_output=True, timeout=CHECK_S
            )
        said, is_done = done.stdout, done.returncode == 0
    except subprocess.TimeoutExpired as error:
        said, is_done = error.stdout or b"", False
    said_lines = [json.loads(line) for line in said.splitlines()]
    if not said_lines:
        raise RuntimeError("expected the checker of sources to start: it said nothing")
    found = said_lines.pop()
    if not is_done:
        # The compiler itself overflowed its stack, or ran into a limit.
        raise UploadError(_("%(name)s is too deeply nested, or too complex to be compiled."), name=found)
    if isinstance(found, str):
        return
    name, (message, line, column) = said_lines[-1], found
    raise UploadError(
        _("Syntax error in %(name)s, line %(line)s, column %(column)s: %(message)s"),
        name=name,
        message=message,
        line=line,
        column=column,
        source=sources[name],
    )
