"""Every hostile bot earns the fault it is named for, and a bot beside it notices nothing."""

import os
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from bots import process
from bots.process import BotFault, BotProcess, Limits

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
KIT = (HERE / "hostile_kit.py").read_bytes()
HOSTILE = sorted((HERE / "hostile").glob("*.py"))
# The clocks and the protocol are the same in both modes; mode B is root's.
OF_THE_JAIL = [path for path in HOSTILE if path.stem.split("_")[0] not in ("timeout", "start", "protocol", "output")]
CASES = [
    pytest.param(mode, path, id=f"{mode}-{path.stem}")
    for mode, paths in (("A", HOSTILE), ("B", OF_THE_JAIL if os.geteuid() == 0 else []))
    for path in paths
]
GOOD = b"import kit\n\nkit.ready()\nkit.play()\n"
TURNS = 4
# More than a pipe takes, told before the first question: a referee must not hang on a bot that does not read.
NEWS = {"type": "news", "pad": "x" * 50_000}
HELLO = {"type": "hello"}


def verdict(path: Path, limits: Limits) -> tuple[str, str]:
    """Play a few turns with a bot; return its fault's kind, or `harmless`, and what was seen."""
    files = {"bot.py": path.read_bytes(), "kit.py": KIT, "project.txt": str(PROJECT).encode()}
    with BotProcess(files, limits=limits) as bot:
        try:
            bot.start(HELLO)
            for _ in range(4):
                bot.tell(NEWS)
            for number in range(1, TURNS + 1):
                assert bot.ask({"type": "turn", "id": number}, id=number)["id"] == number
        except BotFault as fault:
            return fault.kind, f"{fault}\n{bot.stderr[-500:]}"
        return "harmless", bot.stderr[-500:]


@pytest.fixture(scope="module")
def control(sandbox: str) -> Iterator[BotProcess]:
    """A good bot that lives beside all the hostile ones."""
    with BotProcess({"bot.py": GOOD, "kit.py": KIT}, limits=Limits()) as bot:
        bot.start(HELLO)
        yield bot


@pytest.mark.parametrize(("mode", "path"), CASES)
def test_hostile_bot_earns_its_fault_and_harms_nobody(
    mode: str, path: Path, control: BotProcess, limits: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    if platform.machine() != "x86_64" and b"call(" in path.read_bytes():
        pytest.skip("system call numbers of x86-64")
    monkeypatch.setattr(process, "require", lambda: mode)

    kind, seen = verdict(path, limits)

    assert kind == path.stem.split("_")[0], seen
    assert control.ask({"type": "turn", "id": 7}, id=7) == {"id": 7, "move": "d"}


def test_match_after_all_these_is_played(control: BotProcess, limits: Limits) -> None:
    with BotProcess({"bot.py": GOOD, "kit.py": KIT}, limits=limits) as bot:
        bot.start(HELLO)
        assert bot.ask({"type": "turn", "id": 1}, id=1) == {"id": 1, "move": "d"}
    assert control.bank_s == 20.0
    assert control.stderr == ""
