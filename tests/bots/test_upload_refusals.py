"""Every refusal of an upload, with its words and its place: the same on the page and in the API."""

import stat
import struct
from typing import Any, NamedTuple

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from rest_framework.test import APIClient

from bots.models import Bot, Source
from bots.upload_rules import MAX_BYTES, MEMBERS_MAX, SOURCE_MAX, UNPACKED_MAX
from tests.bots.archives import GOOD, Member, archive, deflated, descriptor, raw

BOT = Member("bot.py", GOOD)
ANEW = "Pack it anew."


class Case(NamedTuple):
    """A file that is refused: under this name, with these words, for this file in it and this place."""

    name: str
    data: bytes
    told: str
    member: str | None = None
    line: int | None = None
    column: int | None = None


def zipped(told: str, *members: Member, member: str | None = None, **options: Any) -> Case:
    return Case("bot.zip", raw(BOT, *members, **options), told, member)


def source(told: str, data: bytes, line: int | None = None, column: int | None = None) -> Case:
    return Case("mine.py", data, told, "bot.py", line, column)


def damaged(what: str) -> str:
    return f"The archive is damaged: {what}. {ANEW}"


def spoilt(name: str, what: str) -> str:
    return f"The archive is damaged at {name}: {what}. {ANEW}"


def link(name: str) -> str:
    return f"{name} is a link or a device. Put plain files into the archive."


ZIP64 = "The archive is in the format Zip64, which no bot needs. Pack it as a plain zip."
END = b"PK\x05\x06"
BOMB = Member("zeros.bin", bytes(48 << 20))
UNPACKS = f"The archive unpacks to more than {UNPACKED_MAX >> 10} KiB; that was reached in"
COMPILED = "is compiled Python. Leave it out; the source is enough."
NATIVE = "is a compiled program or library. Bots are plain Python."
HOOK = "would change how Python starts. Leave it out."
ABSOLUTE = "is an absolute path. Name files from the archive's own root."
TWO_THINGS = "it is one thing in the table of contents and another in its place"
SAYS_NOT = "its table of contents does not hold what it says"
NO_FILE = "bytes that belong to no file"

CASES = {
    # What it is at all.
    "other kind": Case("bot.txt", GOOD, "Send a .py file, or a .zip with a bot.py at its root."),
    "tar": Case("bot.tar.gz", b"\x1f\x8b", "Send a .py file, or a .zip with a bot.py at its root."),
    "zip named py": Case(
        "bot.py", raw(BOT), "This is a zip archive, though its name ends in .py. Let its name end in .zip."
    ),
    "py named zip": Case(
        "bot.zip",
        GOOD,
        "This is not a zip archive, though its name ends in .zip. A Python file's name ends in .py.",
    ),
    "empty zip file": Case("bot.zip", b"", "The file is empty, not even an archive. Pack bot.py into it."),
    "empty archive": Case("bot.zip", raw(), "The archive is empty. Put bot.py into it."),
    "program": source("mine.py holds a NUL character. It stands in line 1, column 8.", b"\x7fELF\x02\x01\x01\0", 1, 8),
    # One source.
    "empty py": source("mine.py is empty: there is no bot in it.", b""),
    "blank py": source("mine.py is empty: there is no bot in it.", b"\xef\xbb\xbf \r\n\t\n"),
    "10 MB": source("mine.py is too large: at most 256 KiB.", b"x = 1\n" * 1_750_000)._replace(member="mine.py"),
    "NUL": source("mine.py holds a NUL character. It stands in line 2, column 6.", b"x = 1\ny = '\0'\n", 2, 6),
    "not UTF-8": source(
        "mine.py is not UTF-8 text: see byte 14. Save it as UTF-8. It stands in line 2, column 8.",
        b"x = 1\ny = '\xc3\xa9 \xe9'\n",
        2,
        8,
    ),
    "UTF-16": source(
        "mine.py is UTF-16 or UTF-32 text. Save it as UTF-8. It stands in line 1.", "x = 1\n".encode("utf-16"), 1
    ),
    "other encoding": source(
        "mine.py says that its encoding is iso-8859-1. Save it as UTF-8. It stands in line 1.",
        b"# coding: latin-1\n",
        1,
    ),
    "syntax": source("Syntax error in mine.py, line 2, column 7: invalid syntax", b"x = 1\ndef f(:\n", 2, 7),
    "old line ends": source("Syntax error in mine.py, line 2, column 7: invalid syntax", b"x = 1\rdef f(:\r", 2, 7),
    "too deep": source("mine.py is too deeply nested, or too complex to be compiled.", b"-" * 100_000 + b"1"),
    # Names.
    "parent": zipped("../x.py leads out of the archive by “..”.", Member("../x.py"), member="../x.py"),
    "parent within": zipped("a/../../x leads out of the archive by “..”.", Member("a/../../x"), member="a/../../x"),
    "absolute": zipped(f"/etc/x.py {ABSOLUTE}", Member("/etc/x.py"), member="/etc/x.py"),
    "drive": zipped(f"C:x.py {ABSOLUTE}", Member("C:x.py"), member="C:x.py"),
    "backslash": zipped(
        r"a\..\x.py has a backslash in its name. Folders are parted by a /.",
        Member(r"a\..\x.py"),
        member=r"a\..\x.py",
    ),
    "NUL in name": zipped(
        r"x.py\x00y is no name for a bot's file: use letters, digits, _, - and . but begin with neither - nor .",
        Member("x.py\0y"),
        member=r"x.py\x00y",
    ),
    "right-to-left name": zipped(
        r"a\u202eyp.b is no name for a bot's file: use letters, digits, _, - and . but begin with neither - nor .",
        Member("a\u202eyp.b", flags=0x800),
        member=r"a\u202eyp.b",
    ),
    "long name": zipped(
        f"{'n' * 120} is too long a path: at most 120 characters and 6 levels.", Member("n" * 130), member="n" * 120
    ),
    "deep name": zipped(
        "a/b/c/d/e/f/g is too long a path: at most 120 characters and 6 levels.",
        Member("a/b/c/d/e/f/g"),
        member="a/b/c/d/e/f/g",
    ),
    "twice": zipped("x.txt is in the archive twice.", Member("x.txt"), Member("x.txt"), member="x.txt"),
    "entry twice": zipped("bot.py is in the archive twice.", Member("bot.py", b"x"), member="bot.py"),
    "case": zipped("BOT.py and bot.py differ by case only. Rename one.", Member("BOT.py"), member="BOT.py"),
    "file and folder": zipped("A is both a file and a folder.", Member("a/b.txt"), Member("A"), member="A"),
    "no entry": Case("bot.zip", raw(Member("main.py")), "The archive has no bot.py at its root."),
    "entry in a folder": Case(
        "bot.zip",
        raw(Member("my/bot.py")),
        "The archive has no bot.py at its root, but my/bot.py. Pack the files themselves, not their folder.",
        "my/bot.py",
    ),
    # What is not a plain file of a bot's.
    "cache": zipped(f"__pycache__/x {COMPILED}", Member("__pycache__/x"), member="__pycache__/x"),
    "cache folder": zipped(f"__pycache__ {COMPILED}", Member("__pycache__/", b""), member="__pycache__"),
    "pyc": zipped(f"x.PYC {COMPILED}", Member("x.PYC"), member="x.PYC"),
    "so": zipped(f"lib/x.so {NATIVE}", Member("lib/x.so"), member="lib/x.so"),
    "sitecustomize": zipped(f"SiteCustomize.py {HOOK}", Member("SiteCustomize.py"), member="SiteCustomize.py"),
    "package of a hook": zipped(
        f"usercustomize/__init__.py {HOOK}", Member("usercustomize/__init__.py"), member="usercustomize/__init__.py"
    ),
    "pth": zipped(f"x.pth {HOOK}", Member("x.pth"), member="x.pth"),
    "archive within": zipped(
        "in.zip is an archive itself. Put its files in, not the archive.", Member("in.zip", raw(BOT)), member="in.zip"
    ),
    "symlink": zipped(link("x"), Member("x", b"bot.py", mode=stat.S_IFLNK | 0o777), member="x"),
    "device": zipped(link("x"), Member("x", b"", mode=stat.S_IFCHR | 0o666), member="x"),
    "fifo": zipped(link("x"), Member("x", b"", mode=stat.S_IFIFO | 0o666), member="x"),
    "folder with a file's name": zipped(link("x"), Member("x", b"", mode=stat.S_IFDIR | 0o755), member="x"),
    "hard link": zipped(
        link("x"), Member("x", extra=struct.pack("<2H2L2H", 0x0D, 18, 0, 0, 0, 0) + b"bot.py"), member="x"
    ),
    "device by extra field": zipped(
        link("x"), Member("x", extra=struct.pack("<2HLHLHH", 0x756E, 14, 0, stat.S_IFBLK, 7, 0, 0)), member="x"
    ),
    "encrypted": zipped(
        "x.bin is encrypted. Pack the archive without a password.", Member("x.bin", flags=1), member="x.bin"
    ),
    "compression": zipped(
        "x.bin is compressed in a way that is not supported; use deflate.", Member("x.bin", method=12), member="x.bin"
    ),
    # Too much.
    "too many files": zipped(
        f"The archive holds too many files: {MEMBERS_MAX + 1}, and at most {MEMBERS_MAX} are allowed.",
        *(Member(f"{number}.txt") for number in range(MEMBERS_MAX)),
    ),
    "large archive": zipped(
        "bot.zip is too large: at most 1024 KiB.", Member("x.bin", bytes(MAX_BYTES), method=0), member="bot.zip"
    ),
    "large source": zipped(
        "x.py is too large: at most 256 KiB.", Member("x.py", b"#" * (SOURCE_MAX + 1)), member="x.py"
    ),
    "bomb": zipped(f"{UNPACKS} zeros.bin.", BOMB, member="zeros.bin"),
    "bomb of many": zipped(
        f"{UNPACKS} 3.bin.", *(Member(f"{n}.bin", bytes(UNPACKED_MAX // 4)) for n in range(6)), member="3.bin"
    ),
    "bomb that says it is small": zipped(
        f"{UNPACKS} zeros.bin.", Member("zeros.bin", bytes(8 << 20), full_size=10, crc=0), member="zeros.bin"
    ),
    "small that says it is large": zipped(
        spoilt("x.txt", "its content is not what was packed"), Member("x.txt", full_size=10), member="x.txt"
    ),
    # What two programs could read in two ways.
    "more behind the content": zipped(
        spoilt("x.py", "its content does not end where it should"),
        Member("x.py", b"x = 1\n", packed=deflated(b"x = 1\n") + b"more"),
        member="x.py",
    ),
    "content without end": zipped(
        spoilt("x.py", "its content does not end where it should"),
        Member("x.py", b"x = 1\n", packed=deflated(b"x = 1\n")[:-1]),
        member="x.py",
    ),
    "no deflate": zipped(
        spoilt("x.py", "its content cannot be unpacked"), Member("x.py", packed=b"\xff\xff\xff"), member="x.py"
    ),
    "wrong sum": zipped(spoilt("x.py", "its content is not what was packed"), Member("x.py", crc=1), member="x.py"),
    "two names": zipped(spoilt("x.py", TWO_THINGS), Member("x.py", local_name=b"y.py"), member="x.py"),
    "two sizes": zipped(spoilt("x.py", TWO_THINGS), Member("x.py", local_size=7), member="x.py"),
    "one over the other": zipped(
        "x.py lies over bot.py in the archive. Pack it anew.", Member("x.py", offset=4), member="x.py"
    ),
    "the same twice": zipped(
        "a.py lies over bot.py in the archive. Pack it anew.", Member("a.py", GOOD, offset=0), member="a.py"
    ),
    "gap": zipped(
        spoilt("x.py", f"before it come {NO_FILE}"), Member("x.py", before=b"hidden"), member="x.py"
    ),
    "gap at the end": zipped(damaged(f"before its table of contents come {NO_FILE}"), between=b"hidden"),
    "sizes behind are missing": zipped(
        spoilt("x.py", "the sizes behind it are missing"), Member("x.py", flags=8), member="x.py"
    ),
    "sizes behind are others": zipped(
        spoilt("x.py", "the sizes behind it are missing"),
        Member("x.py", flags=8, behind=descriptor(b"another\n")),
        member="x.py",
    ),
    "folder with content": zipped(spoilt("x/", "it is a folder with content"), Member("x/", b"y"), member="x/"),
    "garbage behind": zipped(
        "After the end of the archive come 8 bytes more. Send the archive alone.", tail=b"#garbage"
    ),
    "archive before": Case(
        "bot.zip", raw(Member("other.py")) + raw(BOT), damaged("its table of contents is not where it should be")
    ),
    "cut off": Case("bot.zip", raw(BOT)[:60], damaged("its end is missing, as if it had been cut off")),
    "cut off at the end": Case("bot.zip", raw(BOT)[:-3], damaged("its end is missing, as if it had been cut off")),
    "several disks": zipped(damaged("it is one part of several"), disk=1),
    "wrong count": zipped(damaged(SAYS_NOT), count=2),
    "zip64 count": zipped(ZIP64, count=0xFFFF),
    "zip64 locator": Case("bot.zip", raw(BOT, between=b"").replace(END, b"PK\x06\x07" + bytes(16) + END), ZIP64),
    "zip64 sizes": zipped(
        "x.py is stored in the format Zip64, which no bot needs. Pack it as a plain zip.",
        Member("x.py", extra=struct.pack("<2HQ", 1, 8, 6)),
        member="x.py",
    ),
    # The sources in it are checked like one alone, and named.
    "empty entry": Case("bot.zip", raw(Member("bot.py", b"")), "bot.py is empty: there is no bot in it.", "bot.py"),
    "syntax within": Case(
        "bot.zip",
        raw(BOT, Member("pack/deep.py", b"x = 1\nx = (\n")),
        "Syntax error in pack/deep.py, line 2, column 5: '(' was never closed",
        *("pack/deep.py", 2, 5),
    ),
    "syntax in the entry": Case(
        "bot.zip",
        raw(Member("bot.py", b"x = (\n"), Member("a.py", b"x = )\n")),
        "Syntax error in bot.py, line 1, column 5: '(' was never closed",
        *("bot.py", 1, 5),
    ),
    "NUL within": Case(
        "bot.zip",
        raw(BOT, Member("pack/deep.py", b"\n\0")),
        "pack/deep.py holds a NUL character. It stands in line 2, column 1.",
        *("pack/deep.py", 2, 1),
    ),
    "too complex within": Case(
        "bot.zip",
        raw(BOT, Member("deep.py", b"-" * 100_000 + b"1")),
        "deep.py is too deeply nested, or too complex to be compiled.",
        "deep.py",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_refusal_says_the_same_on_the_page_and_in_the_api(case: Case, client: Client, ada: Any) -> None:
    fields = {"name": "Mim’s 2nd", "note": "Plays <better>."}
    file = SimpleUploadedFile(case.name, case.data)
    page = client.post("/bots/upload/", {**fields, "source": "", "file": file})
    assert (page.status_code, page.context["form"].errors.get_json_data()["file"][0]["message"]) == (200, case.told)
    shown = page.content.decode()
    assert 'value="Mim’s 2nd"' in shown and 'value="Plays &lt;better&gt;."' in shown, "nothing typed is lost"
    assert ('class="line-wrong"' in shown) == (case.line is not None)

    program = APIClient()
    program.force_authenticate(ada)
    file = SimpleUploadedFile(case.name, case.data)
    answer = program.post("/api/v1/bots/", {**fields, "file": file}, format="multipart")
    place = {"member": case.member, "line": case.line, "column": case.column}
    assert (answer.status_code, answer.json()) == (400, {"detail": case.told, "code": "upload", **place})
    assert not Bot.objects.exists() and not Source.objects.exists()


def test_excerpt_is_of_the_file_at_fault(client: Client) -> None:
    data = raw(BOT, Member("pack/deep.py", b"x = 1\nlet y = 2\n"))
    page = client.post("/bots/upload/", {"name": "Mim", "file": SimpleUploadedFile("b.zip", data)}).content.decode()
    assert "Where it stands in pack/deep.py:" in page
    assert '<span class="line-wrong">    2  let y = 2</span>' in page
    assert "please choose your archive again" in page


@pytest.mark.parametrize("door", ["page", "api"])
@pytest.mark.parametrize(
    "data",
    [
        archive(("bot.py", GOOD), ("data/", b""), ("data/weights.bin", bytes(range(256)))),
        archive(("bot.py", GOOD), ("json.py", b"loads = dumps = None\n"), comment=b"made at home"),
        raw(BOT, Member("x.py", b"x = 1\n", flags=8, behind=descriptor(b"x = 1\n"))),
        raw(BOT, Member("x.py", b"x = 1\n", flags=8, behind=descriptor(b"x = 1\n", signature=b""))),
        raw(BOT, Member("__MACOSX/._bot.py", b"\0\5\x16\7"), Member("a/.DS_Store", b"Bud1")),
    ],
    ids=["folders", "json.py", "streamed", "streamed-unsigned", "from-a-Mac"],
)
def test_sound_archives_are_taken_at_both_doors(door: str, data: bytes, ada: Any) -> None:
    client: Any = Client() if door == "page" else APIClient()
    client.force_login(ada)
    sent = {"name": "Mim", "note": "Three files.", "file": SimpleUploadedFile("my bot.zip", data)}
    answer = client.post("/bots/upload/" if door == "page" else "/api/v1/bots/", sent)
    assert answer.status_code == (302 if door == "page" else 201)
    version = Bot.objects.get().versions.select_related("source").get()
    assert (bytes(version.source.data), version.file_name, version.note) == (data, "my bot.zip", "Three files.")
    assert version.size == len(data)
