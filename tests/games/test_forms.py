"""Rules that people choose in forms: every option can be overridden, and what cannot be is said at its field."""

from html.parser import HTMLParser

import pytest
from django import forms
from django.urls import reverse

from games import rulebook
from games.engine import OPTIONS, PRESETS, Rules
from games.forms import RulesField, TableForm
from games.models import Match
from tests.people import person

HOUSE = {"careful": object()}
CHOSEN = {"opponent_1": "careful", "preset": "classic"}


def table_form(**fields):
    return TableForm(CHOSEN | fields, house=HOUSE)


def values_of(name):
    """Return values of an option, each as the form sends it."""
    option = rulebook.OPTIONS[name]
    values = [choice.value for choice in option.choices] or [option.low, option.high]
    values += [None] if option.none and name != "hands" else []
    return [(value, rulebook.json_of(value)) for value in values]


@pytest.mark.parametrize("preset", PRESETS)
def test_form_without_options_takes_the_preset_as_it_is(preset):
    form = table_form(preset=preset)
    assert form.is_valid(), form.errors
    assert form.rules() == Rules.preset(preset)
    assert not form.has_options()


@pytest.mark.parametrize(("name", "value", "sent"), [(name, *pair) for name in OPTIONS for pair in values_of(name)])
def test_form_overrides_every_option_with_every_value(name, value, sent):
    around = {"end": "hands", "hands": "7"} if "hands" in (name, value) else {}
    form = table_form(preset="common", **{**around, name: sent})
    assert form.is_valid(), form.errors
    hands = {"end": "hands", "hands": 7} if around else {}
    assert form.rules() == Rules.preset("common", **{**hands, name: value})


@pytest.mark.parametrize(
    ("fields", "field", "named"),
    [
        pytest.param({"aces": "wild"}, "aces", ["Aces in a coop", "aces", "either, front", "wild"], id="choice"),
        pytest.param({"caller_shield": "13"}, "caller_shield", ["caller_shield", "0, 1", "12, null"], id="shield"),
        pytest.param({"ace_values": "11"}, "ace_values", ["ace_values", "[1], [1, 11]"], id="ace-values"),
        pytest.param({"century_bonus": "maybe"}, "century_bonus", ["century_bonus", "true, false"], id="bonus"),
        pytest.param({"max_reshuffles": "11"}, "max_reshuffles", ["max_reshuffles", "0, 1", "10"], id="reshuffles"),
        pytest.param({"target": "0"}, "target", ["target", "1 to 10,000"], id="target-low"),
        pytest.param({"target": "10001"}, "target", ["target", "1 to 10,000"], id="target-high"),
        pytest.param({"target": "many"}, "target", ["target", "1 to 10,000"], id="target-word"),
        pytest.param({"target": "9" * 5000}, "target", ["target", "1 to 10,000"], id="target-endless"),
        pytest.param({"end": "hands"}, "hands", ["1 to 1,000"], id="hands-missing"),
        pytest.param({"end": "hands", "hands": "1001"}, "hands", ["hands", "1 to 1,000"], id="hands-high"),
        pytest.param({"hands": "5"}, "hands", ["The game ends: after a number of hands"], id="hands-alone"),
        pytest.param({"preset": "poker"}, "preset", ["poker"], id="preset"),
    ],
)
def test_form_says_at_the_field_what_it_allows(fields, field, named):
    form = table_form(**fields)
    assert not form.is_valid()
    assert list(form.errors) == [field]
    assert [word for word in named if word not in str(form.errors[field][0])] == []


class RulesForm(forms.Form):
    """A form in which rules are one field among others."""

    rules = RulesField(initial={"preset": "classic"})


class Sent(HTMLParser):
    """What a browser sends of a form that nobody touched: `found`, by name."""

    def __init__(self, page):
        super().__init__()
        self.found, self.select = {}, ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        has = dict(attrs)
        if tag == "input":
            self.found[has["name"]] = has.get("value", "")
        elif tag == "select":
            self.select = has["name"]
        elif tag == "option" and ("selected" in has or self.select not in self.found):
            self.found[self.select] = has["value"]


def sent_back(rules):
    return Sent(str(RulesForm(initial={"rules": rules})["rules"])).found


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(("name", "value"), [(name, value) for name in OPTIONS for value, _ in values_of(name)])
def test_rules_that_are_shown_come_back_as_they_were(preset, name, value):
    hands = {"end": "hands", "hands": 7} if "hands" in (name, value) else {}
    rules = Rules.preset(preset, **{**hands, name: value}).to_json()
    form = RulesForm(sent_back(rules), initial={"rules": rules})
    assert form.is_valid(), form.errors
    assert form.cleaned_data["rules"] == rules
    assert not form.has_changed()


def test_a_preset_that_is_shown_says_nothing_of_its_options():
    sent = sent_back(Rules.preset("common", target=90).to_json())
    assert {name: value for name, value in sent.items() if value} == {"rules-preset": "common", "rules-target": "90"}
    form = RulesForm({**sent, "rules-target": ""}, initial={"rules": {"preset": "common", "target": 90}})
    assert form.is_valid() and form.has_changed()
    assert form.cleaned_data["rules"] == Rules.preset("common").to_json()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        pytest.param({}, "This field is required", id="nothing"),
        pytest.param({"rules": '{"preset": "common"}'}, "This field is required", id="json"),
        pytest.param({"rules-preset": "poker"}, "poker", id="preset"),
        pytest.param({"rules-preset": "classic", "rules-target": "9" * 5000}, "1 to 10,000", id="endless"),
        pytest.param({"rules-preset": "classic", "rules-end": "hands"}, "1 to 1,000", id="hands-missing"),
        pytest.param({"rules-preset": "classic", "rules-aces": "wild"}, "either, front", id="choice"),
    ],
)
def test_rules_field_refuses_in_words_and_shows_what_was_sent(sent, said):
    form = RulesForm(sent)
    assert not form.is_valid()
    assert "cannot be played" in str(form.errors["rules"][0])
    shown = str(form["rules"])
    assert said in shown
    assert [value for name, value in sent.items() if name == "rules-target" and value not in shown] == []


@pytest.mark.django_db(transaction=True)
def test_table_is_opened_under_the_options_that_were_chosen(client, house, office):
    client.force_login(person("ada"))
    page = client.get(reverse("table_new")).content.decode()
    assert '<details class="fold"><summary>' in page
    assert [name for name in OPTIONS if f'name="{name}"' not in page] == []
    client.post(reverse("table_new"), CHOSEN | {"preset": "common", "picks": "player", "caller_shield": "null"})
    assert Match.objects.get().rules == Rules.preset("common", picks="player", caller_shield=None).to_json()


@pytest.mark.django_db(transaction=True)
def test_refused_options_stand_open_with_what_was_typed(client, house):
    client.force_login(person("ada"))
    response = client.post(reverse("table_new"), CHOSEN | {"hands": "5", "aces": "front"})
    html = response.content.decode()
    assert response.status_code == 422 and not Match.objects.exists()
    assert '<details class="fold" open>' in html
    assert 'name="hands" value="5"' in html and '<option value="front" selected>' in html
