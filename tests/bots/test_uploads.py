"""What is accepted as a bot, and the sentence that each refusal says."""

import hashlib
import io
import subprocess
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bots.upload_rules import SOURCE_MAX
from bots.uploads import UploadError, check_upload, unpack
from tests.bots.archives import GOOD, Member, archive, raw


def refusal(filename: str, data: bytes) -> UploadError:
    with pytest.raises(UploadError) as caught:
        check_upload(filename, data)
    assert str(caught.value) == caught.value.message == caught.value.template % caught.value.params
    return caught.value


@pytest.mark.parametrize(
    "source",
    [
        GOOD,
        b"# nothing but words\n",
        b"\xef\xbb\xbfx = 'with a byte order mark'\n",
        "# -*- coding: utf-8 -*-\nname = 'Sólrún'\n".encode(),
        b"x = 1\r\ny = 2\r\n",
        b"# " + b"x" * (SOURCE_MAX - 2),
        b"raise SystemExit('never run here')\n",
        b"x = '\\d'  # a warning of the compiler is no refusal\n",
    ],
    ids=range(8),
)
def test_source_is_taken_byte_for_byte(source: bytes) -> None:
    upload = check_upload("My Bot.PY", source)
    assert upload.files == {"bot.py": source} == unpack(source)
    assert upload.sha256 == hashlib.sha256(source).hexdigest()
    assert upload.size == len(source)


@pytest.mark.parametrize(
    ("source", "line", "column", "says"),
    [
        (b"x = 1\ndef f(:\n", 2, 7, "Syntax error in bot.py, line 2, column 7: invalid syntax"),
        (b"x = 'a\n", 1, 5, "unterminated string literal"),
        (b"if 1:\n    x\n  y\n", 3, 4, "unindent does not match"),
        (b"return 1\n", 1, 1, "'return' outside function"),
        ("é = )\n".encode(), 1, 5, "unmatched ')'"),
        (b"x = 1\ny = '\0'\n", 2, 6, "holds a NUL character"),
        (b"x = 1\ny = '\xc3\xa9 \xe9'\n", 2, 8, "is not UTF-8 text"),
        ("x = 1\n".encode("utf-16"), 1, None, "is UTF-16 or UTF-32 text"),
        ("x = 1\n".encode("utf-16-be"), 1, 1, "holds a NUL character"),
        (b"# coding: latin-1\nx = 1\n", 1, None, "says that its encoding is iso-8859-1"),
        (b"#\n# vim: set fileencoding=utf-7 :\n", 1, None, "says that its encoding is utf-7"),
        (b"# coding: nonsense\n", 1, None, "names an encoding that is not known"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 1, None, "names an encoding"),
        (b"#" * (SOURCE_MAX + 1), None, None, "bot.py is too large: at most 256 KiB"),
        (b"x = 1\n" * (1 << 20), None, None, "too large"),
    ],
    ids=lambda value: ascii(value)[:30] if isinstance(value, bytes) else None,
)
def test_source_is_refused_with_its_place(source: bytes, line: int | None, column: int | None, says: str) -> None:
    error = refusal("bot.py", source)
    assert says in str(error)
    if line is not None:
        assert (error.line, error.column) == (line, column)


@pytest.mark.parametrize(
    "source",
    [
        b"(" * 100_000,
        b"-" * 200_000 + b"1",
        b"a" + b".a" * 100_000,
        b"x = " + b"1+" * 100_000 + b"1",
        b"lambda:" * 30_000 + b"1",
        b"not " * 60_000 + b"1",
        b"a if b else " * 20_000 + b"c",
        b"f(" * 60_000,
        b"if 1:\n" + b"".join(b" " * depth + b"if 1:\n" for depth in range(1, 110)),
        b"x = " + b"9" * 200_000,
    ],
    ids=lambda source: ascii(source[:12]),
)
def test_source_that_hurts_the_compiler_is_only_refused(source: bytes) -> None:
    assert "bot.py" in str(refusal("bot.py", source))


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archive_is_unpacked(compression: int) -> None:
    files = {
        "bot.py": GOOD,
        "helper.py": b"x = 1\n",
        "data/weights.bin": bytes(range(256)) * 100,
        "pack/__init__.py": b"",
    }
    data = archive(("data/", b""), *files.items(), compression=compression)
    upload = check_upload("bot.zip", data)
    assert upload.files == files == unpack(data)
    assert upload.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        *((name, "leads out of the archive") for name in ("../x.py", "a/../../x.py", "a/..")),
        *((name, "is an absolute path") for name in ("/etc/x.py", "//x", "C:x.py", "c:/x.py")),
        *((name, "has a backslash") for name in ("a\\..\\x.py", "..\\x.py", "\\x.py", "C:\\x.py")),
        *((name, "is too long a path") for name in ("a/b/c/d/e/f/g.py", "n" * 130 + ".py", "a/" * 60 + "x.py")),
        *((name, "is no name") for name in ("./x.py", "a//b.py", "a/./b.py", "x\n.py", "x\x1b[2J.py", ".hidden")),
        *((name, "is no name") for name in ("é.py", "con .py", "-x.py", "~x", "a/.b", "\u202ex.py", "x\x7f")),
        *((name, "is compiled Python") for name in ("__pycache__/x", "a/__PYCACHE__/x.txt", "x.pyc", "x.PYC", "x.pyo")),
        *((name, "is a compiled program") for name in ("x.so", "lib/x.SO", "x.pyd", "x.dll", "x.dylib", "x.exe")),
        *((name, "how Python starts") for name in ("sitecustomize.py", "UserCustomize.py", "a/sitecustomize/x.py")),
        *((name, "how Python starts") for name in ("x.pth", "a/X.PTH")),
        *((name, "is an archive itself") for name in ("x.whl", "inner.zip", "a/x.egg")),
    ],
)
def test_name_that_could_leave_the_folder_or_deceive_or_harm_is_refused(name: str, says: str) -> None:
    error = refusal("bot.zip", archive(("bot.py", GOOD), (name, b"")))
    assert says in str(error)
    assert str(error).isprintable() and len(str(error)) < 260


def test_zip64_that_python_writes_is_refused_in_words() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written, written.open("bot.py", "w", force_zip64=True) as entry:
        entry.write(GOOD)
    data = bytearray(file.getvalue())
    # The sizes in the file's own header say to look elsewhere; Pythons of before 3.11.4 write what the table says.
    data[18:26] = b"\xff" * 8
    assert "it is one thing in the table of contents and another" in str(refusal("bot.zip", bytes(data)))


def test_archive_written_as_a_stream_is_taken() -> None:
    class Pipe(io.RawIOBase):
        written = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            self.written += bytes(data)
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as written:
        written.writestr("bot.py", GOOD)
        written.writestr("data/x.bin", bytes(range(256)))
    assert check_upload("bot.zip", pipe.written).files == {"bot.py": GOOD, "data/x.bin": bytes(range(256))}


def test_what_a_mac_adds_is_left_out() -> None:
    data = raw(Member("bot.py", GOOD), Member("__MACOSX/._bot.py", b"\0\5"), Member("a/.DS_Store"), Member("a/", b""))
    assert unpack(data) == {"bot.py": GOOD}


def test_source_that_hurts_the_compiler_is_named_in_an_archive() -> None:
    data = archive(("bot.py", GOOD), ("a.py", b"x = 1\n"), ("deep.py", b"not " * 60_000 + b"1"), ("z.py", b"x = 1\n"))
    assert str(refusal("bot.zip", data)).startswith("deep.py is too deeply nested")


def test_damaged_archive_is_refused_and_nothing_else_happens() -> None:
    whole = archive(("bot.py", GOOD), ("data.bin", bytes(range(256)) * 20))
    for cut in range(4, len(whole), 7):
        assert "damaged" in str(refusal("bot.zip", whole[:cut]))
    for place in range(4, len(whole), 5):
        broken = bytearray(whole)
        broken[place] ^= 0xFF
        try:
            files = check_upload("bot.zip", bytes(broken)).files
        except UploadError:
            continue
        assert files["bot.py"] == GOOD


def test_no_more_than_two_sources_are_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    run, running, most = subprocess.run, 0, 0

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            return run(*args, **options)
        finally:
            running -= 1

    monkeypatch.setattr(subprocess, "run", counted)
    with ThreadPoolExecutor(5) as pool:
        uploads = list(pool.map(lambda n: check_upload("bot.py", b"x = %d\n" % n), range(5)))
    assert len({upload.sha256 for upload in uploads}) == 5
    assert most == 2
