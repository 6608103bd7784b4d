"""Pack files into a zip whose bytes depend on nothing but the files. No Django here."""

import io
import zipfile
from collections.abc import Mapping

MODIFIED = (2026, 1, 1, 0, 0, 0)


def packed(files: Mapping[str, bytes], *, folder: str) -> bytes:
    """Return a zip of one folder with these files, by their paths in it and in their order."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(f"{folder}/{name}", MODIFIED)
            member.external_attr = 0o644 << 16
            archive.writestr(member, content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
