"""Zips as strangers make them: sound ones, and such as no program would write by itself."""

import io
import struct
import warnings
import zipfile
import zlib
from dataclasses import dataclass

GOOD = b"import helper\nprint('hello')\n"


def archive(*members: tuple[str, bytes], compression: int = zipfile.ZIP_DEFLATED, comment: bytes = b"") -> bytes:
    """Return a zip as Python packs it."""
    file = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(file, "w", compression) as written:
        warnings.filterwarnings("ignore", "Duplicate name", UserWarning)
        for name, content in members:
            written.writestr(name, content)
        written.comment = comment
    return file.getvalue()


@dataclass
class Member:
    """A file in an archive, and what is said of it there; what is None is said truly."""

    name: str | bytes
    content: bytes = b"x = 1\n"
    method: int = 8
    flags: int = 0
    mode: int = 0
    extra: bytes = b""
    full_size: int | None = None
    crc: int | None = None
    packed: bytes | None = None
    local_name: bytes | None = None
    local_size: int | None = None
    local_extra: bytes = b""
    before: bytes = b""
    behind: bytes = b""
    offset: int | None = None


def raw(*members: Member, count: int | None = None, between: bytes = b"", tail: bytes = b"", disk: int = 0) -> bytes:
    """Return a zip written byte by byte, with whatever its members say of themselves."""
    body, table = b"", b""
    for member in members:
        body += member.before
        name = member.name.encode() if isinstance(member.name, str) else member.name
        packed = _packed(member)
        crc = zlib.crc32(member.content) if member.crc is None else member.crc
        full = len(member.content) if member.full_size is None else member.full_size
        local = member.local_name or name
        stated = (0, 0, 0) if member.flags & 8 else (crc, len(packed), full)
        if member.local_size is not None:
            stated = (crc, len(packed), member.local_size)
        offset = len(body) if member.offset is None else member.offset
        sizes = (len(local), len(member.local_extra))
        body += struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, member.flags, member.method, 0, 33, *stated, *sizes)
        body += local + member.local_extra + packed + member.behind
        facts = (crc, len(packed), full, len(name), len(member.extra), 0, 0, 0, member.mode << 16, offset)
        table += struct.pack("<4s6H3L5H2L", b"PK\x01\x02", 0x0314, 20, member.flags, member.method, 0, 33, *facts)
        table += name + member.extra
    body += between
    number = len(members) if count is None else count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", disk, disk, number, number, len(table), len(body), 0)
    return body + table + end + tail


def _packed(member: Member) -> bytes:
    if member.packed is not None:
        return member.packed
    if member.method != 8:
        return member.content
    return deflated(member.content)


def deflated(content: bytes) -> bytes:
    """Return a raw deflate stream."""
    packing = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packing.compress(content) + packing.flush()


def descriptor(content: bytes, *, signature: bytes = b"PK\x07\x08") -> bytes:
    """Return what stands behind a member whose sizes were not known when it was begun."""
    return signature + struct.pack("<3L", zlib.crc32(content), len(deflated(content)), len(content))
