"""The hostile bots of `tests/fixtures/bots/`, and the jobs in which they play."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bots.process import Limits
from games.engine import Rules
from tests.bots.archives import archive
from tests.games.jobs import make_job
from tests.live import ROOT

FIXTURES = ROOT / "tests" / "fixtures" / "bots"
SCRIPTS = sorted(FIXTURES.glob("*_*.py"))
KIT = (FIXTURES / "kit.py").read_bytes()
# Every clock runs out soon, and a good bot needs a hundredth of it.
QUICK = Limits(start_s=1.0, move_s=0.3, bank_s=0.25, wall_s=0.5, match_wall_s=60.0, memory_mb=96)
ONE_HAND = Rules.preset("classic", end="hands", hands=1)


def kind_of(path: Path) -> str:
    return path.stem.partition("_")[0]


def upload_of(path: Path, *, is_control: bool = False) -> bytes:
    """Return what the author of this bot would upload."""
    members = {"bot.py": path.read_bytes(), "kit.py": KIT, "project.txt": str(ROOT).encode()}
    if is_control:
        members["control.txt"] = b""
    return archive(*members.items())


def control_of(path: Path) -> bytes:
    """Return the same bot as its own control."""
    return upload_of(path, is_control=True)


def hostile_job(uploads: Sequence[bytes], limits: Limits) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the job of one hand with these bots in the order of their seats, and their sources."""
    return make_job(uploads, rules=ONE_HAND, limits=limits, seed="hostile", match="hostile", attempt=1)
