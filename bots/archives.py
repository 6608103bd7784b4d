"""Read a zip that a stranger sent, strictly: whatever two programs could read in two ways is refused.

Nothing is written to disk and no figure of the archive's is believed: its parts must lie one behind the other from
the first byte to the last, none over another and nothing between, and each must be what the table of contents
says of it. Never imports Django. Source of the format: APPNOTE.TXT 6.3.10, sections 4.3 and 4.5.
"""

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from bots.upload_rules import (
    DEPTH_MAX,
    ENTRY,
    KIB,
    MAX_BYTES,
    MEMBERS_MAX,
    PATH_MAX,
    SOURCE_MAX,
    UNPACKED_MAX,
    UploadError,
    _,
    require_size,
)

ZIP_START, EMPTY_START = b"PK\x03\x04", b"PK\x05\x06"
END_SIGNATURE, ZIP64_SIGNATURE, DESCRIPTOR_SIGNATURE = b"PK\x05\x06", b"PK\x06\x07", b"PK\x07\x08"
# 4.3.16: signature, disk, disk of the table, entries here and in all, size and place of the table, length of comment.
END = struct.Struct("<4s4H2LH")
# 4.3.7: signature, version, flags, method, time, date, CRC, packed and full size, lengths of name and extra field.
LOCAL = struct.Struct("<4s5H3L2H")
SIZES = struct.Struct("<3L")
ZIP64_EXTRA, UNIX_EXTRA, ASI_EXTRA = 0x0001, 0x000D, 0x756E
ENCRYPTED, STREAMED = 0x0001 | 0x0040 | 0x2000, 0x0008

NAME_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)
COMPILED = frozenset({".pyc", ".pyo"})
NATIVE = frozenset({".so", ".pyd", ".dll", ".dylib", ".exe"})
PACKED = frozenset({".zip", ".whl", ".egg"})
HOOKS = frozenset({"sitecustomize.py", "usercustomize.py", "sitecustomize", "usercustomize"})
# What a Mac puts beside the files without being asked. It is left out.
MAC_FOLDER, MAC_FILE = "__MACOSX/", ".DS_Store"


def is_archive(data: bytes) -> bool:
    """Tell whether this is a zip, and not the source of a bot."""
    return data.startswith((ZIP_START, EMPTY_START))


def read_archive(data: bytes) -> dict[str, bytes]:
    """Return the files of an archive, path to content; folders and what a Mac adds are left out.

    Raises:
        UploadError: it is not to be taken; the message says why, and which of its files is at fault.
    """
    if len(data) > MAX_BYTES:
        raise UploadError(_("The archive is too large: at most %(most)d KiB are allowed."), most=MAX_BYTES // KIB)
    count, table_at = _read_end(data)
    members = _read_table(data, count)
    for member in members:
        _require_plain(member)
    places = _require_layout(data, members, table_at)
    files = [member for member in members if not _is_left_out(member.orig_filename)]
    _require_distinct([member.orig_filename for member in files])
    return _unpack(data, files, places)


def _damaged(what: str) -> UploadError:
    return UploadError(_("The archive is damaged: %(what)s. Pack it anew."), what=what)


def _spoilt(member: zipfile.ZipInfo, what: str) -> UploadError:
    return UploadError(
        _("The archive is damaged at %(name)s: %(what)s. Pack it anew."), name=shown(member.orig_filename), what=what
    )


def shown(name: str) -> str:
    """Return a name as it can be printed, cut to a length that a name may have."""
    return (name if name.isascii() and name.isprintable() else ascii(name)[1:-1])[:PATH_MAX]


# Its end and its table of contents


def _read_end(data: bytes) -> tuple[int, int]:
    """Return how many entries the table of contents has, and where it lies."""
    at = data.rfind(END_SIGNATURE)
    if at < 0 or at + END.size > len(data):
        raise _damaged(_("its end is missing, as if it had been cut off"))
    _sig, disk, table_disk, here, count, size, table_at, comment = END.unpack_from(data, at)
    if data[max(0, at - 20) :].startswith(ZIP64_SIGNATURE) or 0xFFFF in (here, count) or 0xFFFFFFFF in (size, table_at):
        raise UploadError(_("The archive is in the format Zip64, which no bot needs. Pack it as a plain zip."))
    if extra := len(data) - at - END.size - comment:
        if extra < 0:
            raise _damaged(_("its end is missing, as if it had been cut off"))
        raise UploadError(
            _("After the end of the archive come %(extra)d bytes more. Send the archive alone."), extra=extra
        )
    if disk or table_disk or here != count:
        raise _damaged(_("it is one part of several"))
    if table_at + size != at:
        raise _damaged(_("its table of contents is not where it should be"))
    if count == 0:
        raise UploadError(_("The archive is empty. Put bot.py into it."))
    return count, table_at


def _read_table(data: bytes, count: int) -> list[zipfile.ZipInfo]:
    if count > MEMBERS_MAX:
        raise UploadError(
            _("The archive holds too many files: %(count)d, and at most %(most)d are allowed."),
            count=count,
            most=MEMBERS_MAX,
        )
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
        raise _damaged(_("its table of contents cannot be read")) from error
    if len(members) != count:
        raise _damaged(_("its table of contents does not hold what it says"))
    return members


def _is_left_out(name: str) -> bool:
    return name.endswith("/") or name.startswith(MAC_FOLDER) or name.rpartition("/")[2] == MAC_FILE


def _require_plain(member: zipfile.ZipInfo) -> None:
    """Refuse what is neither a plain file nor a folder under a plain name."""
    # `filename` ends at a NUL and has its separators changed; what the archive says is here.
    name = member.orig_filename
    is_folder = name.endswith("/")
    if not _is_left_out(name) or (is_folder and not name.startswith(MAC_FOLDER)):
        _require_name(name.removesuffix("/"))
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFDIR if is_folder else stat.S_IFREG) or _is_linked(member):
        raise UploadError(_("%(name)s is a link or a device. Put plain files into the archive."), name=shown(name))
    if member.flag_bits & ENCRYPTED:
        raise UploadError(_("%(name)s is encrypted. Pack the archive without a password."), name=shown(name))
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UploadError(_("%(name)s is compressed in a way that is not supported; use deflate."), name=shown(name))
    if is_folder and member.file_size:
        raise _spoilt(member, _("it is a folder with content"))


def _is_linked(member: zipfile.ZipInfo) -> bool:
    """Tell whether an extra field (4.5.7, or Info-ZIP's 0x756e) makes the member a link or a device."""
    for kind, value in _extras(member.extra):
        if kind == ZIP64_EXTRA:
            raise UploadError(
                _("%(name)s is stored in the format Zip64, which no bot needs. Pack it as a plain zip."),
                name=shown(member.orig_filename),
            )
        # Beyond times and ids there is the name of what it links to, or the device's number.
        if kind == UNIX_EXTRA and len(value) > 12:
            return True
        if kind == ASI_EXTRA and (
            len(value) != 14 or stat.S_IFMT(int.from_bytes(value[4:6], "little")) not in (0, stat.S_IFREG, stat.S_IFDIR)
        ):
            return True
    return False


def _extras(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kind and value of each extra field; what is left over and is none ends it."""
    while len(extra) >= 4:
        kind, size = struct.unpack_from("<2H", extra)
        yield kind, extra[4 : 4 + size]
        extra = extra[4 + size :]


def _require_name(name: str) -> None:
    parts = name.split("/")
    if "\\" in name:
        raise UploadError(_("%(name)s has a backslash in its name. Folders are parted by a /."), name=shown(name))
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        raise UploadError(_("%(name)s is an absolute path. Name files from the archive's own root."), name=shown(name))
    if ".." in parts:
        raise UploadError(_("%(name)s leads out of the archive by “..”."), name=shown(name))
    if len(parts) > DEPTH_MAX or len(name) > PATH_MAX:
        raise UploadError(
            _("%(name)s is too long a path: at most %(most)d characters and %(depth)d levels."),
            name=shown(name),
            most=PATH_MAX,
            depth=DEPTH_MAX,
        )
    if not all(NAME_PART.fullmatch(part) for part in parts):
        raise UploadError(
            _("%(name)s is no name for a bot's file: use letters, digits, _, - and . but begin with neither - nor ."),
            name=shown(name),
        )
    for part in parts:
        _require_harmless(name, part.lower())


def _require_harmless(name: str, part: str) -> None:
    suffix = PurePosixPath(part).suffix
    if part == "__pycache__" or suffix in COMPILED:
        raise UploadError(_("%(name)s is compiled Python. Leave it out; the source is enough."), name=name)
    if suffix in NATIVE:
        raise UploadError(_("%(name)s is a compiled program or library. Bots are plain Python."), name=name)
    if part in HOOKS or suffix == ".pth":
        raise UploadError(_("%(name)s would change how Python starts. Leave it out."), name=name)
    if suffix in PACKED:
        raise UploadError(_("%(name)s is an archive itself. Put its files in, not the archive."), name=name)


def _require_distinct(names: Sequence[str]) -> None:
    """Refuse names that repeat, differ by case only, or are a file here and a folder there; ask for the entry."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower(), name)
        if other is name:
            continue
        if other == name:
            raise UploadError(_("%(name)s is in the archive twice."), name=name)
        raise UploadError(_("%(name)s and %(other)s differ by case only. Rename one."), name=name, other=other)
    folders = {str(parent).lower() for name in names for parent in PurePosixPath(name).parents}
    if clash := seen.keys() & folders:
        raise UploadError(_("%(name)s is both a file and a folder."), name=seen[min(clash)])
    if ENTRY in names:
        return
    if found := min((name for name in names if name.lower().rpartition("/")[2] == ENTRY), key=len, default=""):
        raise UploadError(
            _("The archive has no bot.py at its root, but %(name)s. Pack the files themselves, not their folder."),
            name=found,
        )
    raise UploadError(_("The archive has no bot.py at its root."))


# Its parts


def _require_layout(data: bytes, members: Sequence[zipfile.ZipInfo], table_at: int) -> dict[int, slice]:
    """Return where each member's packed bytes lie, by where its header does, once all parts have proved to join."""
    places: dict[int, slice] = {}
    position, before = 0, ""
    for member in sorted(members, key=lambda member: member.header_offset):
        if member.header_offset < position:
            raise UploadError(
                _("%(name)s lies over %(other)s in the archive. Pack it anew."),
                name=shown(member.orig_filename),
                other=shown(before),
            )
        if member.header_offset > position:
            raise _spoilt(member, _("before it come bytes that belong to no file"))
        places[position], position = _read_place(data, member)
        before = member.orig_filename
        if position > table_at:
            raise _spoilt(member, _("it is longer than the archive"))
    if position != table_at:
        raise _damaged(_("before its table of contents come bytes that belong to no file"))
    return places


def _read_place(data: bytes, member: zipfile.ZipInfo) -> tuple[slice, int]:
    """Return where a member's packed bytes are, and where the next part begins."""
    start = member.header_offset + LOCAL.size
    if start > len(data):
        raise _spoilt(member, _("its header is missing"))
    signature, _version, flags, method, _time, _date, crc, packed, full, name_length, extra_length = LOCAL.unpack_from(
        data, member.header_offset
    )
    name = data[start : start + name_length]
    start += name_length + extra_length
    end = start + member.compress_size
    is_same = signature == ZIP_START and method == member.compress_type and name == _raw_name(member)
    sizes = (member.CRC, member.compress_size, member.file_size)
    if not is_same or flags & ENCRYPTED or (not flags & STREAMED and (crc, packed, full) != sizes):
        raise _spoilt(member, _("it is one thing in the table of contents and another in its place"))
    if flags & STREAMED:
        # 4.3.9: the sizes come behind the data, with or without a signature.
        stated = SIZES.pack(*sizes)
        behind = DESCRIPTOR_SIGNATURE + stated if data[end:].startswith(DESCRIPTOR_SIGNATURE) else stated
        if not data[end:].startswith(behind):
            raise _spoilt(member, _("the sizes behind it are missing"))
        return slice(start, end), end + len(behind)
    return slice(start, end), end


def _raw_name(member: zipfile.ZipInfo) -> bytes:
    return member.orig_filename.encode("utf-8" if member.flag_bits & 0x800 else "cp437")


def _unpack(data: bytes, files: Sequence[zipfile.ZipInfo], places: dict[int, slice]) -> dict[str, bytes]:
    """Unpack into memory, never beyond what is left to take."""
    unpacked, left = {}, UNPACKED_MAX
    for member in files:
        name = member.orig_filename
        most = min(left, SOURCE_MAX) if name.endswith(".py") else left
        content = _inflate(data[places[member.header_offset]], member, most)
        if name.endswith(".py"):
            require_size(name, len(content))
        left -= len(content)
        if left < 0:
            raise UploadError(
                _("The archive unpacks to more than %(most)d KiB; that was reached in %(name)s."),
                most=UNPACKED_MAX // KIB,
                name=name,
            )
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise _spoilt(member, _("its content is not what was packed"))
        unpacked[name] = content
    return unpacked


def _inflate(packed: bytes, member: zipfile.ZipInfo, most: int) -> bytes:
    """Return a member's content, or its first `most` + 1 bytes if it has more."""
    if member.compress_type == zipfile.ZIP_STORED:
        return packed[: most + 1]
    inflating = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        content = inflating.decompress(packed, most + 1)
    except zlib.error as error:
        raise _spoilt(member, _("its content cannot be unpacked")) from error
    if len(content) <= most and (not inflating.eof or inflating.unused_data):
        raise _spoilt(member, _("its content does not end where it should"))
    return content
