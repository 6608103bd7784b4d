"""Rules that people choose in forms: every option can be overridden, and what cannot be is said at its field."""

import pytest
from django.core.exceptions import ValidationError
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


@pytest.mark.parametrize(
    ("sent", "named"),
    [
        pytest.param('{"colour": "any"}', ["unknown option", *OPTIONS], id="unknown"),
        pytest.param('{"name": "common"}', ["unknown option", *OPTIONS], id="unknown-name"),
        pytest.param('{"target": 0}', ["target", "1 to 10000"], id="value"),
        pytest.param('{"target": NaN}', ["target", "1 to 10000"], id="not-a-number"),
        pytest.param('["classic"]', ["object of options"], id="list"),
        pytest.param('{"preset": "poker"}', ["preset", *PRESETS], id="preset"),
        pytest.param("classic", ["not JSON", RulesField.EXAMPLE], id="word"),
        pytest.param('{"target": %s}' % ("9" * 5000), ["not JSON", RulesField.EXAMPLE], id="endless-number"),
        pytest.param("[" * 100_000, ["not JSON", RulesField.EXAMPLE], id="deep"),
        pytest.param('{"preset": "\\ud800"}', ["preset", *PRESETS], id="half-a-character"),
    ],
)  # fmt: skip
def test_rules_field_refuses_in_words(sent, named):
    field = RulesField()
    with pytest.raises(ValidationError) as refused:
        field.clean(sent)
    (text,) = refused.value.messages
    assert [word for word in named if word not in text] == []
    shown = field.prepare_value(field.bound_data(sent, None))
    assert shown.encode()  # what the form shows again is no error either


def test_rules_field_fills_in_the_preset():
    assert RulesField().clean('{"preset": "common", "target": 90}') == Rules.preset("common", target=90).to_json()
    about = str(RulesField().help_text)
    assert [name for name in [*OPTIONS, *PRESETS] if name not in about] == []


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
