"""Rules: the presets of the rule book, options one by one, and clear refusals."""

import pytest
from hypothesis import given, settings

from games.engine import OPTIONS, Rules, RulesError
from games.engine.cards import DECK_SIZE, NAMES, SORTED_DECK, parse_card
from games.engine.coops import coop_table
from tests.games.engine_games import any_rules, vector

TABLE = {  # The table of the rule book, row by row.
    "coop_colour": ("any", "same", "any"),
    "aces": ("either", "front", "either"),
    "ace_guard": ("ten", "always", "ten"),
    "calls": ("valid", "any", "valid"),
    "caller_shield": (1, 1, 1),
    "scoring": ("every", "one", "every"),
    "ace_values": ([1], [1], [1, 11]),
    "century_bonus": (True, False, True),
    "end": ("target", "target", "target"),
    "target": (250, 100, 250),
    "hands": (None, None, None),
    "max_reshuffles": (2, 2, 2),
    "picks": ("best", "best", "best"),
}


@pytest.mark.parametrize(("column", "preset"), [(0, "classic"), (1, "common"), (2, "inventor")])
def test_presets_are_those_of_the_rule_book(column, preset):
    expected = {"preset": preset, **{option: row[column] for option, row in TABLE.items()}}
    assert Rules.preset(preset).to_json() == expected


def test_default_preset_is_classic():
    assert Rules.preset() == Rules.preset("classic") == Rules.from_json({})


@given(any_rules())
@settings(deadline=None)
def test_rules_survive_json(rules):
    assert Rules.from_json(rules.to_json()) == rules


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"coop_color": "any"}, ["coop_color", "coop_colour", "max_reshuffles"]),
        ({"coop_colour": "both"}, ["coop_colour", "any", "same", "both"]),
        ({"target": 0}, ["target", "1 to 10000", "0"]),
        ({"target": 10001}, ["target", "10001"]),
        ({"target": True}, ["target", "True"]),
        ({"target": 100.0}, ["target", "100.0"]),
        ({"target": "100"}, ["target", "'100'"]),
        ({"caller_shield": 13}, ["caller_shield", "0 to 12 or null"]),
        ({"caller_shield": False}, ["caller_shield", "False"]),
        ({"century_bonus": 1}, ["century_bonus", "true or false"]),
        ({"ace_values": [11]}, ["ace_values", "[1, 11]"]),
        ({"ace_values": [True]}, ["ace_values", "True"]),
        ({"ace_values": 1}, ["ace_values", "1"]),
        ({"aces": ["either"]}, ["aces", "either or front"]),
        ({"end": "hands"}, ["hands", "1 to 1000", "None"]),
        ({"hands": 5}, ["hands", "null", "5"]),
        ({"end": "hands", "hands": 1001}, ["hands", "1 to 1000", "1001"]),
        ({"max_reshuffles": 11}, ["max_reshuffles", "0 to 10"]),
        ({"max_reshuffles": None}, ["max_reshuffles", "None"]),
        ({"preset": "royal"}, ["preset", "classic", "common", "inventor", "royal"]),
        ({"preset": ["classic"]}, ["preset"]),
        ({"preset": None}, ["preset"]),
    ],
    ids=str,
)
def test_bad_options_are_named_with_what_is_allowed(options, names):
    with pytest.raises(RulesError) as refusal:
        Rules.from_json(options)
    for name in names:
        assert name in str(refusal.value)


@pytest.mark.parametrize("doc", [None, [], "classic", 3], ids=str)
def test_rules_that_are_no_object_are_refused(doc):
    with pytest.raises(RulesError):
        Rules.from_json(doc)


def test_every_option_is_described():
    assert all(option.allowed for option in OPTIONS.values())
    assert list(OPTIONS) == list(TABLE)


def test_deck_has_each_rank_eight_times_and_each_card_twice():
    assert len(SORTED_DECK) == DECK_SIZE == 80
    assert all(sum(name[0] == rank for name in NAMES) == 8 for rank in "A23456789T")
    assert all(NAMES.count(name) == 2 for name in NAMES)
    assert list(NAMES[:11]) == ["As", "2s", "3s", "4s", "5s", "6s", "7s", "8s", "9s", "Ts", "Ah"]


@pytest.mark.parametrize("text", ["", "??", "10s", "Jd", "tD", "T d"])
def test_other_text_is_no_card(text):
    with pytest.raises(ValueError, match="expected a rank"):
        parse_card(text)


def test_coops_are_valid_as_in_the_vectors():
    doc = vector("coops.json")
    cards = [parse_card(name) for name in doc["cards"]]
    assert set(doc["valid"]) == {"classic", "common", "inventor"}
    for preset, rows in doc["valid"].items():
        rules = Rules.preset(preset)
        table = coop_table(rules.coop_colour, rules.aces)
        for up, row in zip(cards, rows, strict=True):
            for copy in (0, 40):  # The second pack is like the first.
                assert "".join("01"[table[up][down + copy]] for down in cards) == row, (preset, NAMES[up])
                assert "".join("01"[table[up + copy][down]] for down in cards) == row


@pytest.mark.parametrize(
    ("colour", "aces", "up", "down", "valid"),
    [
        ("same", "either", "As", "5h", True),  # An ace is exempt from the colour, in front …
        ("same", "either", "5h", "As", True),  # … or behind.
        ("same", "either", "As", "Ah", False),
        ("same", "either", "5h", "9s", False),
        ("any", "front", "5h", "Ah", False),  # Behind it counts as a one,
        ("any", "front", "5s", "Ah", True),  # which is lower than a black five.
        ("any", "front", "Ah", "2s", True),
        ("any", "front", "Ah", "As", False),
    ],
)
def test_mixtures_of_colour_and_aces(colour, aces, up, down, valid):
    assert coop_table(colour, aces)[parse_card(up)][parse_card(down)] is valid
