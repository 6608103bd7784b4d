"""What is accepted as a bot: one Python file, or a zip of some. Says why not, with line and column.

An upload is hostile until proven otherwise: nothing of it is ever executed here, nothing is
written to disk, and even its syntax is checked in a process of its own with limits, since the
compiler can be made to eat memory or to overflow its stack. Never imports Django; the messages
are marked for translation by `_` and can be translated from `UploadError.template`.
"""

import hashlib
import io
import json
import re
import stat
import subprocess
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bots.sandbox.launcher import PYTHON

ENTRY = "bot.py"
KIB = 1024
SOURCE_MAX = 256 * KIB
# Nothing larger than this needs to be read at all.
MAX_BYTES = 1024 * KIB
UNPACKED_MAX = 4096 * KIB
MEMBERS_MAX = 100
DEPTH_MAX = 6
NAME_MAX = 120
CHECK_S = 10

NAME_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
# Compiled code and hooks of the interpreter: nobody can read the one, the other has no use here.
REFUSED_SUFFIXES = frozenset({".pyc", ".pyo", ".so", ".pyd", ".dll", ".dylib", ".exe", ".pth", ".egg", ".whl", ".zip"})
REFUSED_NAMES = frozenset({"__pycache__", "sitecustomize.py", "usercustomize.py"})
ZIP_START = b"PK\x03\x04"
ENCRYPTED = 0x1


def _(text: str) -> str:
    """Mark a text for translation; whoever shows it translates it."""
    return text


class UploadError(Exception):
    """Why an upload is refused: a sentence for its owner, and the place in the source if there is one.

    `str(error)` is `template % params`; `line` and `column` count from 1.
    """

    def __init__(self, template: str, *, line: int | None = None, column: int | None = None, **params: object) -> None:
        self.template, self.params = template, {**params, "line": line, "column": column}
        self.message = template % self.params
        super().__init__(self.message)
        self.line, self.column = line, column


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
    suffix = PurePosixPath(filename).suffix.lower()
    if suffix not in (".py", ".zip"):
        raise UploadError(_("Send a .py file, or a .zip with a bot.py in it."))
    if (suffix == ".zip") != data.startswith(ZIP_START):
        raise UploadError(_("The content of the file is not what its name says."))
    files = unpack(data)
    sources = {name: content for name, content in files.items() if name.endswith(".py")}
    for name, source in sources.items():
        _require_text(name, source)
    _require_syntax(sources)
    return Upload(files, hashlib.sha256(data).hexdigest(), len(data))


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the files of a bot, path inside /bot to content, from what was uploaded.

    Raises:
        UploadError: too large, or no archive that can be taken.
    """
    if data.startswith(ZIP_START):
        return _unpack_zip(data)
    _require_size(ENTRY, len(data))
    return {ENTRY: data}


# Sources


def _require_size(name: str, size: int) -> None:
    if size > SOURCE_MAX:
        raise UploadError(_("%(name)s is too large: at most %(most)d KiB."), name=name, most=SOURCE_MAX // KIB)


def _require_text(name: str, source: bytes) -> None:
    """Refuse a source that is not UTF-8, says that it is something else, or holds a NUL."""
    if b"\0" in source:
        line = source.count(b"\n", 0, source.index(b"\0")) + 1
        raise UploadError(_("%(name)s holds a NUL character."), name=name, line=line)
    try:
        source.decode()
    except UnicodeDecodeError as error:
        start = source.rfind(b"\n", 0, error.start) + 1
        line = source.count(b"\n", 0, error.start) + 1
        column = len(source[start : error.start].decode()) + 1
        raise UploadError(
            _("%(name)s is not UTF-8 text: see byte %(byte)d. Save it as UTF-8."),
            name=name,
            byte=error.start,
            line=line,
            column=column,
        ) from error
    try:
        encoding, _lines = tokenize.detect_encoding(io.BytesIO(source).readline)
    except SyntaxError as error:
        raise UploadError(_("%(name)s names an encoding that is not known."), name=name, line=1) from error
    if encoding not in ("utf-8", "utf-8-sig"):
        raise UploadError(
            _("%(name)s says that its encoding is %(encoding)s. Save it as UTF-8."),
            name=name,
            encoding=encoding,
            line=1,
        )


# Reads names and sizes, then the sources; compiles them, and never runs any.
CHECKER = """
import json, resource, sys
for limit, value in (("AS", 512 << 20), ("CPU", 8), ("FSIZE", 0), ("CORE", 0), ("NOFILE", 16)):
    resource.setrlimit(getattr(resource, "RLIMIT_" + limit), (value, value))
for name, size in json.loads(sys.stdin.buffer.readline()):
    try:
        compile(sys.stdin.buffer.read(size), name, "exec", dont_inherit=True)
    except SyntaxError as error:
        print(json.dumps([name, error.msg, error.lineno, max(1, error.offset or 1)]))
        break
    except (MemoryError, RecursionError, OverflowError, ValueError) as error:
        print(json.dumps([name, None, None, None]))
        break
else:
    print("[]")
"""


def _require_syntax(sources: Mapping[str, bytes]) -> None:
    """Compile in a child with limits, by the interpreter that will run it where that is installed."""
    python = PYTHON if Path(PYTHON).exists() else sys.executable
    head = json.dumps([[name, len(source)] for name, source in sources.items()]).encode() + b"\n"
    command = [python, "-I", "-S", "-B", "-W", "ignore", "-X", "utf8", "-c", CHECKER]
    too_complex = _("%(name)s is too deeply nested, or too complex to be compiled.")
    try:
        done = subprocess.run(command, input=head + b"".join(sources.values()), capture_output=True, timeout=CHECK_S)
    except subprocess.TimeoutExpired as error:
        raise UploadError(too_complex, name=ENTRY) from error
    if done.returncode != 0:
        # The compiler itself overflowed its stack, or ran into a limit.
        raise UploadError(too_complex, name=ENTRY)
    found = json.loads(done.stdout)
    if not found:
        return
    name, message, line, column = found
    if message is None:
        raise UploadError(too_complex, name=name)
    raise UploadError(
        _("Syntax error in %(name)s, line %(line)s, column %(column)s: %(message)s"),
        name=name,
        message=message,
        line=line,
        column=column,
    )


# Archives


def _unpack_zip(data: bytes) -> dict[str, bytes]:
    if len(data) > MAX_BYTES:
        raise UploadError(_("The archive is too large: at most %(most)d KiB are allowed."), most=MAX_BYTES // KIB)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [member for member in archive.infolist() if _is_file(member)]
            _require_distinct([member.filename for member in members])
            return _read_members(archive, members)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, ValueError) as error:
        raise UploadError(_("The archive is damaged.")) from error


def _is_file(member: zipfile.ZipInfo) -> bool:
    """Say whether a member is a file to unpack; refuse whatever is neither that nor a folder."""
    # `filename` ends at a NUL and has its separators changed; what the archive says is here.
    name = member.orig_filename
    is_folder = name.endswith("/")
    _require_name(name.removesuffix("/"))
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG):
        raise UploadError(_("%(name)s is a link or a device. Put plain files into the archive."), name=name)
    if member.flag_bits & ENCRYPTED:
        raise UploadError(_("%(name)s is encrypted."), name=name)
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UploadError(_("%(name)s is compressed in a way that is not supported; use deflate."), name=name)
    return not is_folder


def _require_name(name: str) -> None:
    parts = name.split("/")
    is_plain = all(NAME_PART.fullmatch(part) for part in parts)
    if not is_plain or len(parts) > DEPTH_MAX or len(name) > NAME_MAX:
        raise UploadError(
            _("%(name)s is no name for a bot's file: use letters, digits, _, - and . and stay inside the archive."),
            name=ascii(name[:NAME_MAX])[1:-1],
        )
    for part in parts:
        if part.lower() in REFUSED_NAMES or PurePosixPath(part.lower()).suffix in REFUSED_SUFFIXES:
            raise UploadError(_("%(name)s: leave compiled files and start-up hooks out."), name=name)


def _require_distinct(names: list[str]) -> None:
    """Refuse names that repeat, differ by case only, or are a file here and a folder there."""
    if len(names) > MEMBERS_MAX:
        raise UploadError(_("The archive holds too many files: at most %(most)d are allowed."), most=MEMBERS_MAX)
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise UploadError(_("%(name)s is in the archive twice, or differs by case only."), name=name)
        seen.add(name.lower())
    folders = {str(parent).lower() for name in names for parent in PurePosixPath(name).parents}
    if clash := seen & folders:
        raise UploadError(_("%(name)s is both a file and a folder."), name=min(clash))
    if ENTRY not in names:
        raise UploadError(_("The archive has no bot.py at its top."))


def _read_members(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo]) -> dict[str, bytes]:
    """Unpack into memory, never trusting a size that the archive states."""
    files, left = {}, UNPACKED_MAX
    for member in members:
        most = min(left, SOURCE_MAX) if member.filename.endswith(".py") else left
        with archive.open(member) as file:
            content = file.read(most + 1)
        if member.filename.endswith(".py"):
            _require_size(member.filename, len(content))
        left -= len(content)
        if left < 0:
            raise UploadError(_("The archive unpacks to more than %(most)d KiB."), most=UNPACKED_MAX // KIB)
        files[member.filename] = content
    return files
