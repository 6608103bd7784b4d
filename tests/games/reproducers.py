"""A reproducer as its author uses it: unpacked, and run by an interpreter of his own."""

import io
import subprocess
import sys
import zipfile
from pathlib import Path


def unpack(packed: bytes, into: Path) -> Path:
    """Unpack a reproducer into a folder that is empty or not there yet; return the one folder that it has."""
    zipfile.ZipFile(io.BytesIO(packed)).extractall(into)
    (folder,) = into.iterdir()
    return folder


def reproduce(folder: Path, *options: str, typed: str = "") -> "subprocess.CompletedProcess[str]":
    """Run an unpacked reproducer as its README says."""
    command = [sys.executable, "reproduce.py", *options]
    return subprocess.run(command, cwd=folder, input=typed, capture_output=True, text=True, timeout=60)
