"""Archives in the real jail: what one brings along is its own, and nobody else's."""

import json

import pytest

from bots.process import Limits
from bots.uploads import check_upload
from games.referee import play_match
from tests.bots.archives import archive
from tests.games.jobs import CAREFUL, make_job

# The module of its own in place of Python's: this one says nothing that anybody could read.
BROKEN_JSON = b"def loads(text):\n    return {}\ndef dumps(value):\n    return 'not JSON at all'\n"
USES_HELPER = b"import helper\nimport soureh_bot\nsoureh_bot.log(helper.read())\nsoureh_bot.run(helper.choose)\n"
HELPER = b"""from pathlib import Path

def read():
    return (Path(__file__).parent / "data" / "words.txt").read_text()

def choose(turn):
    return turn.legal[0]
"""


def play(*uploads: tuple[str, bytes]) -> dict[str, object]:
    """Return what becomes of a short match of these uploads, each checked as the site does."""
    checked = [check_upload(name, data).sha256 for name, data in uploads]
    job, sources = make_job([data for _, data in uploads], target=30, limits=Limits(), seed="archives")
    assert [entrant["sha256"] for entrant in job["entrants"]] == checked
    outcome: dict[str, object] = json.loads(json.dumps(play_match(job, sources)))
    return outcome


@pytest.mark.usefixtures("sandbox")
def test_archive_plays_with_its_modules_and_data() -> None:
    data = archive(("bot.py", USES_HELPER), ("helper.py", HELPER), ("data/", b""), ("data/words.txt", b"from the zip"))
    outcome = play(("a.zip", data), ("b.py", CAREFUL))
    assert outcome["faults"] == []
    assert "from the zip" in json.dumps(outcome)


@pytest.mark.usefixtures("sandbox")
def test_module_that_shadows_json_harms_its_own_process_alone() -> None:
    shadowing = archive(("bot.py", CAREFUL), ("json.py", BROKEN_JSON))
    outcome = play(("a.py", CAREFUL), ("b.zip", shadowing), ("c.py", CAREFUL + b"# another\n"))
    faults = outcome["faults"]
    assert isinstance(faults, list)
    assert [fault["seat"] for fault in faults] == [1], "the others, and the referee, read and write JSON as ever"
    outcome = play(("a.py", CAREFUL), ("c.py", CAREFUL + b"# another\n"))
    assert outcome["faults"] == [] and outcome["moves"], "and so does the match after it"


@pytest.mark.usefixtures("sandbox")
def test_module_that_shadows_json_and_works_is_no_fault() -> None:
    own = (
        b"import sys\nsys.path.remove('/bot')\ndel sys.modules['json']\nimport json\nsys.stderr.write('my own json')\n"
    )
    outcome = play(("a.zip", archive(("bot.py", CAREFUL), ("json.py", own))), ("b.py", CAREFUL))
    assert outcome["faults"] == []
    assert "my own json" in json.dumps(outcome)
