"""The rules in force, in words: what each option changes, and where they are shown."""

import pytest
from django.urls import reverse

from games import rulebook, tables
from games.engine import OPTIONS, PRESETS, Rules
from games.models import Match
from games.plain_rules import plain_rules
from tests.people import person

NUMBERS = {
    "caller_shield": [0, 1, 2, 12, None],
    "target": [1, 100, 10_000],
    "hands": [1, 2],
    "max_reshuffles": [0, 1, 2],
}


def words(preset="classic", **options):
    return plain_rules(Rules.preset(preset, **options).to_json(), 3)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_value_of_an_option_has_words_of_its_own(name):
    values = NUMBERS.get(name) or [choice.value for choice in rulebook.OPTIONS[name].choices]
    said = []
    for value in values:
        ends_by_hands = name == "hands" or value == "hands"
        around = {"end": "hands", "hands": 3} if ends_by_hands else {}
        lines = words(**{**around, name: value})
        # Without the line that lists what differs from the preset.
        said.append(tuple(line.text for line in lines[1:]))
    assert len(set(said)) == len(values)


@pytest.mark.parametrize("name", PRESETS)
def test_preset_is_named_and_what_differs_from_it(name):
    assert words(name)[0].text == f"The preset {name}, unchanged."
    changed = words(name, target=77, aces="either", max_reshuffles=5)[0].text
    assert "Target: 77" in changed and "Reshuffles in a hand: 5" in changed
    assert ("Aces in a coop" in changed) is (PRESETS[name]["aces"] != "either")


def test_target_and_hands_stand_in_the_words():
    assert any("exceeds 77;" in line.text for line in words(target=77))
    assert any("exceeds 77 leaves" in line.text for line in words(target=77, end="elimination"))
    assert any("have been played: 12." in line.text for line in words(end="hands", hands=12))


def test_every_line_cites_a_rule_of_the_book():
    assert {line.rule for line in words()} <= rulebook.numbers()
    assert {rulebook.rule_of(name) for name in OPTIONS} <= {line.rule for line in words()}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("state", ["open", "playing"])
def test_table_page_shows_the_rules_in_force(client, house, office, state):
    ada = person("ada")
    client.force_login(ada)
    rules = Rules.preset("common", target=33)
    match = tables.open_table(ada, opponents=[house["careful"]], rules=rules)
    if state == "playing":
        tables.deal(match)
        office.deliver()
    assert Match.objects.get().state == state
    html = client.get(reverse("table", args=[match.code])).content.decode()
    assert html.count('class="rule-cite"') == len(plain_rules(rules.to_json(), 2))
    assert "The preset common, but: Target: 33." in html and "reaches or exceeds 33" in html
    assert 'href="/rules/#rule-9.1"' in html
