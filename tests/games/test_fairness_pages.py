"""What tells how shuffles are fair is handed out as it lies in `docs/`."""

import json
import os
import re
import shutil
import string
import subprocess
from pathlib import Path

import pytest
from django.urls import reverse

from games import wording

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "file", "kind"),
    [("fairness", "fairness.md", "text/plain"), ("verifier", "verify_shuffles.py", "text/x-python")],
)
def test_the_very_file_is_handed_out_to_anybody(client, db, name, file, kind):
    response = client.get(reverse(name))
    assert response.status_code == 200 and response.content == (ROOT / "docs" / file).read_bytes()
    assert response["Content-Type"] == f"{kind}; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert client.post(reverse(name)).status_code == 405


def test_links_of_the_document_lead_somewhere_on_the_site_too(client, db):
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / "docs" / "fairness.md").read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert (ROOT / "docs" / link).exists()
        assert client.get(reverse("fairness").rpartition("/")[0] + "/" + link).status_code == 200


@pytest.mark.skipif(not (shutil.which("openssl") or os.environ.get("CI")), reason="needs openssl")
def test_the_commands_of_the_document_compute_commitment_and_key():
    text = (ROOT / "docs" / "fairness.md").read_text(encoding="utf-8")
    by_hand = [command for command in re.findall(r"```sh\n(.*?)\n```", text, re.DOTALL) if "openssl" in command]
    records = (ROOT / "tests" / "fixtures" / "vectors" / "shuffles.json").read_text(encoding="utf-8")
    case = next(case for case in json.loads(records) if case["player_seeds"] == [""] * 4)
    for_four = [command.replace(r"'\n'", r"'\n\n\n'").replace("SEED", case["server_seed"]) for command in by_hand]
    said = [run(command) for command in for_four]
    assert said == [case["commitment"], case["key"]]


def run(command):
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    return done.stdout.split()[-1]


def test_the_module_has_a_sentence_for_everything_that_may_differ():
    module = (ROOT / "games" / "static" / "games" / "recompute.js").read_text(encoding="utf-8")
    named = set(re.findall(r'(?:same|new Unfair|sameCards)\("(\w+)"', module))
    of_cards = set(re.findall(r'sameCards\("(\w+)"', module))
    words = wording.fairness_words()
    assert set(words["places"]) == named | {f"{name}_size" for name in of_cards}
    gaps = {"expected", "found", "hand", "card", "number", "move", "round", "entrant", "seat"}
    for sentence in words["places"].values():
        assert {name for _, name, _, _ in string.Formatter().parse(sentence) if name} <= gaps
