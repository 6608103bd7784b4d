"""Archives in the real jail: what one brings along is its own, and nobody else's."""

import hashlib
import json

import pytest

from bots.uploads import check_upload
from games.engine import Rules
from games.referee import play_match
from tests.bots.archives import archive
from tests.games.kit_tables import HOUSE

CAREFUL = (HOUSE / "careful.py").read_bytes()
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
    sources = {}
    for name, data in uploads:
        sources[check_upload(name, data).sha256] = data
    job = {
        "match": "m1",
        "attempt": 1,
        "rules": Rules.preset("classic", target=30).to_json(),
        "server_seed": hashlib.sha256(b"archives").hexdigest(),
        "player_seeds": [""] * len(uploads),
        "seating": "fixed",
        "entrants": [
            {"name": name, "kind": "bot", "sha256": hashlib.sha256(data).hexdigest()} for name, data in uploads
        ],
        "limits": {},
        "moves": [],
        "faults": [],
    }
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
