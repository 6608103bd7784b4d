"""The rule book: complete, the same everywhere, and true to the engine."""

import re
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils.functional import Promise

from games import rulebook
from games.engine import OPTIONS, PRESETS, Rules, RulesError
from games.templatetags.rules import rule_text

ROOT = Path(__file__).resolve().parents[2]
NUMBER = r"\d{1,2}(?:\.\d{1,2})?"
ALL_CHOICES = [choice.value for option in rulebook.OPTIONS.values() for choice in option.choices]


def options_with(name, value):
    """Return options that the engine takes together with `name` at `value`."""
    return {name: value} | ({"hands": 4} if (name, value) == ("end", "hands") else {})


# The book


def test_the_engines_readme_has_the_rules_of_the_book():
    assert f"{rulebook.BEGIN}{rulebook.markdown()}{rulebook.END}" in rulebook.README.read_text(encoding="utf-8")


def test_every_option_of_the_engine_is_decided_by_one_rule():
    decided = [name for found in rulebook.all_rules() for name in found.rule.options]
    assert sorted(decided) == sorted(OPTIONS)
    assert list(rulebook.OPTIONS) == list(OPTIONS)
    assert list(rulebook.PRESET_LABELS) == list(PRESETS)


@pytest.mark.parametrize("name", [name for name, option in rulebook.OPTIONS.items() if option.choices])
def test_choices_are_those_that_the_engine_accepts(name):
    accepted = [value for value in [*ALL_CHOICES, None, 0, 1, 2] if OPTIONS[name].accepts(value)]
    known = [choice.value for choice in rulebook.OPTIONS[name].choices]
    assert {repr(value) for value in accepted} == {repr(value) for value in known}


@pytest.mark.parametrize("name", [name for name, option in rulebook.OPTIONS.items() if not option.choices])
def test_ranges_are_those_that_the_engine_accepts(name):
    option, accepts = rulebook.OPTIONS[name], OPTIONS[name].accepts
    assert accepts(option.low) and accepts(option.high)
    assert not accepts(option.low - 1) and not accepts(option.high + 1)
    assert accepts(None) is bool(option.none)


def test_every_rule_that_a_text_names_is_there():
    texts = [found.rule.text for found in rulebook.all_rules()]
    texts += [choice.text for option in rulebook.OPTIONS.values() for choice in option.choices]
    named = {number for text in texts for number in re.findall(r"(?<![\w.])\d{1,2}\.\d{1,2}\b", str(text))}
    assert len(named) > 5
    assert named <= rulebook.numbers()


def test_every_rule_that_the_engines_comments_cite_is_there():
    cited = []
    for path in sorted((ROOT / "games" / "engine").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        for group in re.findall(rf"\b[Rr]ules? \(?({NUMBER}(?:(?:,| to| and) {NUMBER})*)", text):
            cited += [(path.name, number) for number in re.findall(NUMBER, group)]
    assert len(cited) > 20
    assert [(name, number) for name, number in cited if number not in rulebook.numbers()] == []


def test_every_text_can_be_translated():
    texts = [text for section in rulebook.SECTIONS for text in (section.title, *(rule.text for rule in section.rules))]
    for option in rulebook.OPTIONS.values():
        texts += [option.label, *(part for choice in option.choices for part in (choice.label, choice.text))]
    texts += rulebook.PRESET_LABELS.values()
    assert [text for text in texts if not isinstance(text, Promise)] == []


def test_rule_text_marks_up_and_escapes():
    assert rule_text("**Keep**, `k<slot>` & more: 4.2, 99.9") == (
        f'<dfn>Keep</dfn>, <code>k&lt;slot&gt;</code> &amp; more: <a href="{reverse("rules")}#rule-4.2">4.2</a>, 99.9'
    )


# What is refused


@pytest.mark.parametrize(
    ("options", "named"),
    [
        pytest.param({"colour": "any"}, [*OPTIONS, "'colour'"], id="unknown"),
        pytest.param({"name": "common"}, [*OPTIONS, "'name'"], id="unknown-name"),
        pytest.param({"cls": 1}, [*OPTIONS, "'cls'"], id="unknown-cls"),
        pytest.param({"preset": "poker"}, ["preset", *PRESETS, "'poker'"], id="preset"),
        pytest.param({"aces": "wild"}, ["aces", "either", "front", "'wild'"], id="choice"),
        pytest.param({"target": 10_001}, ["target", "1 to 10000", "10001"], id="too-much"),
        pytest.param({"caller_shield": -1}, ["caller_shield", "0 to 12 or null", "-1"], id="too-little"),
        pytest.param({"century_bonus": 1}, ["century_bonus", "true or false", "1"], id="kind"),
        pytest.param({"end": "hands"}, ["hands", "1 to 1000", "None"], id="hands-missing"),
        pytest.param({"hands": 3}, ["hands", "null", "3"], id="hands-without-end"),
    ],
)
def test_error_names_the_option_and_lists_what_is_allowed(options, named):
    with pytest.raises(RulesError) as refused:
        Rules.from_json(options)
    assert [word for word in named if word not in str(refused.value)] == []


# The page


@pytest.fixture
def html(client, db):
    response = client.get(reverse("rules"))
    assert response.status_code == 200
    return response.content.decode()


def test_page_has_every_rule_once_under_its_number(html):
    found = re.findall(r'id="rule-([\d.]+)"', html)
    assert sorted(found) == sorted(rulebook.numbers())
    for one in rulebook.all_rules():
        assert str(rule_text(one.rule.text)) in html


@pytest.mark.parametrize("name", OPTIONS)
def test_page_has_every_option_with_its_values_and_presets(html, name):
    assert f"<code>{name}</code>" in html
    for choice in rulebook.OPTIONS[name].choices:
        assert str(rule_text(rulebook.sentence(name, choice.value))) in html
    row = re.search(rf'<tr><th scope="row"><span><code>{name}</code>.*?</tr>', html, re.DOTALL)[0]
    values = re.findall(r'data-label="(\w+)"><code>(.*?)</code>', row)
    assert values == [(preset, rulebook.json_of(options[name])) for preset, options in PRESETS.items()]


def test_page_shows_coops_with_the_verdict_of_each_preset(html):
    figures = re.findall(r'<figure class="example">.*?</figure>', html, re.DOTALL)
    told = {
        tuple(re.findall(r'data-card="(\w+)"', figure)): re.sub(r"<.*?>", " ", figure.partition("<figcaption")[2])
        for figure in figures
    }
    words = {cards: " ".join(text.partition(">")[2].split()) for cards, text in told.items()}
    assert words["4h", "9h"] == words["9s", "4s"] == words["As", "9h"] == "valid"
    assert words["9h", "4h"] == words["As", "Ah"] == "not valid"
    assert words["4h", "9s"] == words["4h", "Ad"] == "valid classic inventor not valid common"


def test_page_begins_with_the_game_in_one_minute(html):
    minute = html.partition('id="minute"')[2].partition("</section>")[0]
    assert minute.count("<li>") == 5 and "reaches 250" in minute
    assert minute.count('data-valid="yes"') == 4
    assert html.index('id="minute"') < html.index('id="rule-1"')


def test_page_is_found_from_every_page(client, db):
    for path in ("/", "/ladders/", reverse("rules")):
        assert client.get(path).content.decode().count('href="/rules/"') >= 3  # both menus and the footer


def test_documents_lead_to_the_rules():
    for name in ("README.md", "docs/bots.md", "docs/api.md"):
        assert "/rules/" in (ROOT / name).read_text(encoding="utf-8"), name
