"""The hostile bots of `tests/fixtures/bots/`, and the jobs in which they play."""

import hashlib
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bots.process import Limits
from games.engine import Rules

PROJECT = Path(__file__).resolve().parents[2]
FIXTURES = PROJECT / "tests" / "fixtures" / "bots"
SCRIPTS = sorted(FIXTURES.glob("*_*.py"))
KIT = (FIXTURES / "kit.py").read_bytes()
CAREFUL = (PROJECT / "games" / "house" / "careful.py").read_bytes()
# Every clock runs out soon, and a good bot needs a hundredth of it.
QUICK = Limits(start_s=1.0, move_s=0.3, bank_s=0.25, wall_s=0.5, match_wall_s=60.0, memory_mb=96)
RULES = Rules.preset("classic", end="hands", hands=1).to_json()


def kind_of(path: Path) -> str:
    return path.stem.partition("_")[0]


def archive(path: Path, *, is_control: bool = False) -> bytes:
    """Return what the author of this bot would upload."""
    members = {"bot.py": path.read_bytes(), "kit.py": KIT, "project.txt": str(PROJECT).encode()}
    if is_control:
        members["control.txt"] = b""
    return zipped(members)


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def make_job(uploads: Sequence[bytes], limits: Limits) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the job of one hand with these bots in the order of their seats, and their sources."""
    sources = {hashlib.sha256(data).hexdigest(): data for data in uploads}
    entrants = [
        {"name": f"bot {seat}", "kind": "bot", "sha256": hashlib.sha256(data).hexdigest()}
        for seat, data in enumerate(uploads)
    ]
    job = {
        "match": "hostile",
        "attempt": 1,
        "rules": RULES,
        "server_seed": hashlib.sha256(b"hostile").hexdigest(),
        "player_seeds": [""] * len(uploads),
        "seating": "fixed",
        "entrants": entrants,
        "limits": limits.to_json(),
        "moves": [],
        "faults": [],
    }
    return job, sources
