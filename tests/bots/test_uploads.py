"""What is accepted as a bot, and the sentence that each refusal says."""

import hashlib
import io
import stat
import struct
import zipfile

import pytest

from bots.uploads import MAX_BYTES, MEMBERS_MAX, SOURCE_MAX, UNPACKED_MAX, UploadError, check_upload, unpack

GOOD = b"import helper\nprint('hello')\n"


def archive(*members: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as written:
        for name, content in members:
            written.writestr(name, content)
    return file.getvalue()


def member(name: str, mode: int, content: bytes = b"bot.py") -> bytes:
    """Return an archive with a good bot and one member of this file mode."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        written.writestr("bot.py", GOOD)
        info = zipfile.ZipInfo(name)
        info.create_system = 3
        info.external_attr = mode << 16
        written.writestr(info, content)
    return file.getvalue()


def refusal(filename: str, data: bytes) -> UploadError:
    with pytest.raises(UploadError) as caught:
        check_upload(filename, data)
    assert str(caught.value) == caught.value.message == caught.value.template % caught.value.params
    return caught.value


@pytest.mark.parametrize(
    "source",
    [
        GOOD,
        b"",
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
        (b"x = 1\ny = '\0'\n", 2, None, "holds a NUL character"),
        (b"x = 1\ny = '\xc3\xa9 \xe9'\n", 2, 8, "is not UTF-8 text"),
        ("x = 1\n".encode("utf-16"), None, None, "NUL"),
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


@pytest.mark.parametrize("name", ["bot.txt", "bot", "bot.py.exe", "bot.tar.gz", ".py.pyc"])
def test_other_kinds_of_file_are_refused(name: str) -> None:
    assert str(refusal(name, GOOD)) == "Send a .py file, or a .zip with a bot.py in it."


def test_name_must_not_lie_about_the_content() -> None:
    for name, data in (("bot.py", archive(("bot.py", GOOD))), ("bot.zip", GOOD)):
        assert str(refusal(name, data)) == "The content of the file is not what its name says."


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
    "name",
    [
        *("../x.py", "a/../../x.py", "/etc/x.py", "//x", "./x.py", "a//b.py", "a/./b.py", "C:x.py", "a\\..\\x.py"),
        *("x\n.py", "x\x1b[2J.py", ".hidden", "é.py", "con .py", "-x.py", "a/b/c/d/e/f/g.py", "n" * 130 + ".py", "~x"),
    ],
)
def test_name_that_could_leave_the_folder_or_deceive_is_refused(name: str) -> None:
    error = refusal("bot.zip", archive(("bot.py", GOOD), (name, b"")))
    assert "is no name for a bot's file" in str(error)
    assert str(error).isprintable()


def test_name_with_a_nul_is_refused() -> None:
    data = archive(("bot.py", GOOD), ("helper.pyX", b"")).replace(b"helper.pyX", b"helper.py\0")
    assert "is no name for a bot's file" in str(refusal("bot.zip", data))


@pytest.mark.parametrize(
    "name",
    [
        *("__pycache__/bot.cpython-311.pyc", "__pycache__/x", "x.pyc", "x.PYC", "x.so", "lib/x.so", "x.pyd", "x.dll"),
        *("sitecustomize.py", "usercustomize.py", "SiteCustomize.py", "x.pth", "x.whl", "inner.zip"),
    ],
)
def test_compiled_files_and_hooks_are_refused(name: str) -> None:
    error = refusal("bot.zip", archive(("bot.py", GOOD), (name, b"")))
    assert str(error) == f"{name}: leave compiled files and start-up hooks out."


@pytest.mark.parametrize(
    "mode",
    [
        stat.S_IFLNK | 0o777,
        stat.S_IFCHR | 0o666,
        stat.S_IFBLK | 0o666,
        stat.S_IFIFO | 0o666,
        stat.S_IFSOCK | 0o666,
        stat.S_IFDIR,
    ],
    ids=["symlink", "character device", "block device", "fifo", "socket", "folder"],
)
def test_links_and_devices_are_refused(mode: int) -> None:
    assert str(refusal("bot.zip", member("x.txt", mode))).startswith("x.txt is a link or a device.")


def test_plain_mode_is_taken() -> None:
    assert check_upload("bot.zip", member("x.txt", stat.S_IFREG | 0o777)).files["x.txt"] == b"bot.py"


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["x.txt", "x.txt"], "twice"),
        (["x.txt", "X.TXT"], "twice"),
        (["bot.PY"], "twice"),
        (["a", "a/b.txt"], "both a file and a folder"),
        (["A/b.txt", "a"], "both a file and a folder"),
    ],
)
def test_names_that_clash_are_refused(names: list[str], says: str) -> None:
    assert says in str(refusal("bot.zip", archive(("bot.py", GOOD), *((name, b"") for name in names))))


@pytest.mark.parametrize("names", [[], ["main.py"], ["my/bot.py"], ["Bot.py"]], ids=str)
def test_archive_without_its_entry_is_refused(names: list[str]) -> None:
    data = archive(("x.txt", b""), *((name, GOOD) for name in names))
    assert str(refusal("bot.zip", data)) == "The archive has no bot.py at its top."


def test_zip_bomb_is_refused_unread() -> None:
    bomb = archive(("bot.py", GOOD), ("zeros.bin", bytes(48 << 20)))
    assert len(bomb) < MAX_BYTES
    assert str(refusal("bot.zip", bomb)) == f"The archive unpacks to more than {UNPACKED_MAX >> 10} KiB."


def test_bomb_of_many_members_is_refused() -> None:
    parts = [(f"{number}.bin", bytes(UNPACKED_MAX // 4)) for number in range(6)]
    assert "unpacks to more" in str(refusal("bot.zip", archive(("bot.py", GOOD), *parts)))


def test_size_that_an_archive_states_is_not_believed() -> None:
    data = bytearray(archive(("bot.py", GOOD), ("zeros.bin", bytes(8 << 20))))
    size = struct.pack("<I", 8 << 20)
    assert data.count(size) == 2
    lying = bytes(data).replace(size, struct.pack("<I", 10))
    assert str(refusal("bot.zip", lying)) in (
        "The archive is damaged.",
        f"The archive unpacks to more than {UNPACKED_MAX >> 10} KiB.",
    )


def test_archive_limits_are_named() -> None:
    many = archive(("bot.py", GOOD), *((f"{number}.txt", b"") for number in range(MEMBERS_MAX)))
    assert "at most 100" in str(refusal("bot.zip", many))
    large = archive(("bot.py", GOOD), ("x.bin", bytes(MAX_BYTES)), compression=zipfile.ZIP_STORED)
    assert str(refusal("bot.zip", large)) == "The archive is too large: at most 1024 KiB are allowed."
    source = archive(("bot.py", b"#" * (SOURCE_MAX + 1)))
    assert str(refusal("bot.zip", source)) == "bot.py is too large: at most 256 KiB."


def test_every_source_of_an_archive_is_checked() -> None:
    error = refusal("bot.zip", archive(("bot.py", GOOD), ("pack/deep.py", b"x = 1\nx = (\n")))
    assert str(error) == "Syntax error in pack/deep.py, line 2, column 5: '(' was never closed"
    assert "pack/deep.py holds a NUL" in str(refusal("bot.zip", archive(("bot.py", GOOD), ("pack/deep.py", b"\0"))))


def test_odd_compression_and_encryption_are_refused() -> None:
    for compression in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        assert "use deflate" in str(refusal("bot.zip", archive(("bot.py", GOOD), compression=compression)))
    data = bytearray(archive(("bot.py", GOOD)))
    data[data.index(b"PK\x01\x02") + 8] |= 1
    assert str(refusal("bot.zip", bytes(data))) == "bot.py is encrypted."


def test_damaged_archive_is_refused_and_nothing_else_happens() -> None:
    whole = archive(("bot.py", GOOD), ("data.bin", bytes(range(256)) * 20))
    for cut in range(4, len(whole), 7):
        assert str(refusal("bot.zip", whole[:cut])) == "The archive is damaged."
    for place in range(4, len(whole), 5):
        broken = bytearray(whole)
        broken[place] ^= 0xFF
        try:
            files = check_upload("bot.zip", bytes(broken)).files
        except UploadError:
            continue
        assert files["bot.py"] == GOOD
