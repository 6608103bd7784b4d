"""The guide for bot authors: what its programs do, and what its pages are."""

import json
import math
import re
import shlex
import subprocess
import sys
import textwrap
from collections import Counter

import pytest
from django.urls import reverse

from games.comparison import student
from games.engine import Rules
from games.guide import DOCS, read_page, slug
from games.home.bundle import bundle
from games.home.commands import read_arguments
from tests.games.kit_tables import answers, house, load_choose, play_game, sent_in, transcripts

GUIDE = (DOCS / "guide.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", GUIDE, re.S)
PROGRAMS = [text for kind, text in BLOCKS if kind == "python" and "soureh_bot.run(choose)" in text]


@pytest.fixture
def program(tmp_path):
    """Load a program of the guide, and return what it hands to `soureh_bot.run`."""

    def load(text):
        path = tmp_path / "bot.py"
        path.write_text(text)
        return load_choose(path)

    return load


def block(start):
    """Return the one block of Python that begins so."""
    [found] = [text for kind, text in BLOCKS if kind == "python" and text.lstrip().startswith(start)]
    return textwrap.dedent(found)


def test_the_first_program_is_the_example_that_the_kit_has():
    assert PROGRAMS[0] == (DOCS / "example_bot.py").read_text()


def test_the_second_program_is_careful_as_the_guide_says(program):
    second, careful = program(PROGRAMS[1]), house("careful")
    compared = []

    def watch(_game, turn):
        compared.append(turn.is_pick or second(turn) == careful(turn))

    play_game(Rules.preset("classic", target=60), [second, careful, house("spoiler")], "careful", watch=watch)
    assert len(compared) > 40
    assert all(compared)


def test_the_last_program_beats_careful_over_duplicate_deals(program):
    margins = []
    for deal in range(6):
        margin = 0
        for seat in range(2):
            bots = [house("careful")] * 2
            bots[seat] = program(PROGRAMS[-1])
            totals = play_game(Rules.preset("classic", target=60), bots, f"guide {deal}").result.totals
            margin += totals[1 - seat] - totals[seat]
        margins.append(margin / 2)
    mean = sum(margins) / len(margins)
    spread = math.sqrt(sum((margin - mean) ** 2 for margin in margins) / (len(margins) - 1) / len(margins))
    assert mean - student(len(margins) - 1) * spread > 0, margins


def test_the_line_that_logs_goes_where_the_guide_puts_it(program, capsys):
    line = next(text for kind, text in BLOCKS if kind == "python" and text.startswith("    soureh_bot.log"))
    head, last = PROGRAMS[0].split("    return turn.with_call(best)\n")
    choose = program(f"{head}{line}    return turn.with_call(best)\n{last}")
    play_game(Rules.preset("classic", target=1), [choose, house("careful")], "log")
    assert re.match(r"\d+ \w\w (d|k\d) \[.*\] \d+\n", capsys.readouterr().err)


def test_the_samples_of_the_guide_say_how_probably_a_caller_holds():
    names = {}
    exec(block("def chance_that_he_holds"), names)
    chances = []

    def watch(_game, turn):
        if turn.call and turn.call["seat"] != turn.seat and turn.drawn:
            chances.append(names["chance_that_he_holds"](turn, samples=20))

    play_game(
        Rules.preset("classic", target=60), [house("careful"), house("spoiler"), house("careful")], "h", watch=watch
    )
    # Who has called holds, unless his face-up cards have been changed since.
    assert Counter(chance == 1.0 for chance in chances)[True] > 3


def test_the_class_of_the_guide_counts_the_hands_that_were_won(program, capsys):
    bot = program(block("import soureh_bot\n\n\nclass Memory"))
    sent = sent_in(transcripts()[0])
    moves = [answer["move"] for answer in answers(bot, sent)[1:]]
    assert len(moves) == sum(message["type"] == "turn" for message in sent)
    winners = Counter(message["winner"] for message in sent if message["type"] == "hand_end")
    assert bot.won == [winners[seat] for seat in range(2)]
    assert f"hands won so far: {bot.won}" in capsys.readouterr().err


def test_the_program_without_the_kit_answers_every_question(tmp_path):
    sent = sent_in(transcripts()[0])
    (tmp_path / "bot.py").write_text(block("import json\nimport sys"))
    lines = "".join(json.dumps(message) + "\n" for message in sent)
    ended = subprocess.run(
        [sys.executable, "-I", tmp_path / "bot.py"], input=lines, capture_output=True, text=True, timeout=60, check=True
    )
    ready, *moves = map(json.loads, ended.stdout.splitlines())
    assert ready == {"type": "ready"}
    assert moves == [
        {"id": message["id"], "move": message["legal"][-1]} for message in sent if message["type"] == "turn"
    ]


@pytest.mark.parametrize("name", ["guide", "bots"])
def test_every_command_of_the_documents_is_one(name):
    text = (DOCS / f"{name}.md").read_text()
    commands = re.findall(r"^\$ python3 -m soureh (.*)$", text, re.M)
    assert len(commands) > 2
    for command in commands:
        if command != "--help":
            read_arguments(shlex.split(command))


# The pages


@pytest.mark.django_db
@pytest.mark.parametrize(("address", "name"), [("guide", "guide"), ("reference", "bots")])
def test_a_page_shows_its_document_with_a_link_to_each_heading(client, address, name):
    answer = client.get(reverse(address))
    html = answer.content.decode()
    source = (DOCS / f"{name}.md").read_text()
    without_code = re.sub(r"```.*?```", "", source, flags=re.S)
    headings = re.findall(r"^## (.*)$", without_code, re.M)
    assert len(headings) > 4
    for heading in headings:
        anchor = slug(heading)
        assert f'id="{anchor}"' in html
        assert html.count(f'href="#{anchor}"') == 2, "expected a link in the contents and one at the heading"
    assert html.count('<pre class="code"') == source.count("```") // 2
    assert "<script>" not in read_page(name).html


@pytest.mark.parametrize("name", ["guide", "bots"])
def test_every_link_inside_leads_somewhere(client, name):
    pages = {"/bots/guide/": read_page("guide").html, "/bots/reference/": read_page("bots").html}
    links = re.findall(r'<a href="([^"]+)"', read_page(name).html)
    assert links
    for link in links:
        path, _, anchor = link.partition("#")
        assert path.startswith("/"), link
        if anchor:
            assert f'id="{anchor}"' in pages[path], link


@pytest.mark.django_db
def test_the_download_is_the_command_s_file_and_is_sent_once(client):
    answer = client.get(reverse("kit_zip"))
    assert answer.content == bundle()
    assert answer["Content-Disposition"] == 'attachment; filename="soureh-kit.zip"'
    again = client.get(reverse("kit_zip"), headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
