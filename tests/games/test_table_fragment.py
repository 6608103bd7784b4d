"""The fragment that renders a table: what is hidden stays hidden, what is seen is said, nothing is inline."""

import copy
import json
import random
import re

import pytest
from django.template.loader import render_to_string

from games import wording
from games.engine import Game, Rules

NAMES = ("ada", "Mim", "counter", "tom")
DOWN = [["7h", "As", "Td", "2c"], ["3c", "9d", "5h", "8s"], ["6h", "Ac", "4s", "Tc"], ["2d", "3s", "8h", "9c"]]
UP = [["5s", "6d", "9h", "Ac"], ["Td", "4c", "2h", "7s"], ["3h", "8d", "Th", "6c"], ["Ad", "5d", "9s", "4h"]]


@pytest.fixture(autouse=True)
def _plain_static_files(settings):
    """Name the sprite without its hash, which only `collectstatic` knows."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}


def view_of(seats=3, you=0, **changes):
    view = {
        "hand": 3, "dealer": seats - 1, "seats": seats, "you": you, "decision": 17, "to_act": 0, "kind": "turn",
        "down": [DOWN[seat] if seat == you else ["??"] * 4 for seat in range(seats)],
        "up": copy.deepcopy(UP[:seats]),
        "drawn": "4h" if you == 0 else "??", "discard": "9c", "discards": 7, "stock": 41, "call": None,
        "totals": [31, 124, 190, 88][:seats], "eliminated": [], "faulted": [],
        "coops": [[False, True, True, False] if seat == you else [None] * 4 for seat in range(seats)],
    }  # fmt: skip
    return view | changes


def render(view, *, target=250, last=None, socket=None):
    seats = [{"name": name, "url": "", "kind": "bot", "you": seat == view["you"]} for seat, name in enumerate(NAMES)]
    context = {"view": view, "seats": seats[: view["seats"]], "target": target, "last": last, "socket": socket}
    return render_to_string("games/_table.html", context)


def slot(html, name):
    """Return the markup of one slot."""
    return re.search(rf'<div class="slot[^>]*data-slot="{name}">.*?</div>', html, re.DOTALL).group()


@pytest.mark.parametrize("seats", [2, 3, 4])
@pytest.mark.parametrize("you", [None, 0, 1])
def test_table_has_every_place_once(seats, you):
    html = render(view_of(seats, you))
    for seat in range(seats):
        for face in ("up", "down"):
            for number in range(4):
                assert html.count(f'data-slot="{seat}-{face}-{number}"') == 1
    for hook in ("data-drawn", "data-discard", "data-stock", "data-call", "data-totals"):
        assert len(re.findall(rf"\s{hook}[\s>]", html)) == 1


def test_hidden_cards_show_backs_and_name_nothing():
    html = render(view_of())
    for number in range(4):
        shown = slot(html, f"1-down-{number}")
        assert 'data-card="??"' in shown and "cards.svg#back" in shown
        assert f'aria-label="slot {number + 1}, face down"' in shown
        assert "is-private" not in shown


def test_own_face_down_card_says_that_only_its_owner_sees_it():
    shown = slot(render(view_of()), "0-down-2")
    assert "cards.svg#Td" in shown and "is-private" in shown
    assert 'aria-label="slot 3, face down: ten of diamonds, only you see this"' in shown


def test_face_up_card_is_named():
    assert 'aria-label="slot 3, face up: two of hearts"' in slot(render(view_of()), "1-up-2")


def test_spectator_sees_no_drawn_card():
    html = render(view_of(you=None))
    assert "cards.svg#4h" not in html and "four of hearts" not in html
    assert "folded corner" not in html


@pytest.mark.parametrize(("seats", "positions"), [(2, ["top"]), (3, ["left", "right"]), (4, ["left", "top", "right"])])
@pytest.mark.parametrize("you", [0, 1])
def test_own_seat_is_at_the_bottom_and_the_others_follow_clockwise(seats, positions, you):
    html = render(view_of(seats, you))
    stands = re.findall(r'<section class="seat seat-(\w+)[^>]*data-seat="(\d)"', html)
    order = [(you + step) % seats for step in range(1, seats)]
    assert stands == [(place, str(seat)) for place, seat in zip(positions, order, strict=True)] + [("bottom", str(you))]


def test_face_up_cards_lie_towards_the_middle():
    html = render(view_of())
    assert html.index('"1-down-0"') < html.index('"1-up-0"')
    assert html.index('"0-up-0"') < html.index('"0-down-0"')


def test_coops_say_whether_they_are_valid():
    html = render(view_of())
    assert [re.search(rf'data-coop="0-{n}" data-valid="(\w*)"', html).group(1) for n in range(4)] == [
        "no", "yes", "yes", "no",
    ]  # fmt: skip
    assert 'data-coop="1-0" data-valid=""' in html


@pytest.mark.parametrize(
    ("last", "marked"),
    [
        (None, []),
        ({"seat": 1, "move": "k2!", "out": "9c"}, ["1-down-2"]),
        ({"seat": 1, "move": "s03", "card": "4d"}, ["0-up-3"]),
        ({"seat": 1, "move": "d"}, []),
    ],
)
def test_last_move_is_marked_where_it_happened(last, marked):
    html = render(view_of(), last=last)
    assert re.findall(r'<div class="slot slot-\w+ is-last[^>]*data-slot="([^"]+)"', html) == marked
    assert ("pile is-last" in html) == (last is not None)


def test_call_says_who_still_has_a_turn_and_what_the_shield_allows():
    html = render(view_of(4, to_act=2, call={"seat": 1, "shield_used": False}))
    banner = re.search(r'<div class="call".*?</div>', html, re.DOTALL).group()
    assert "Mim called Soureh." in banner and "Still to play: counter, tom, ada." in banner
    assert "may still be replaced" in banner and "hidden" not in banner.split(">")[0]
    assert "are safe now" in render(view_of(4, to_act=2, call={"seat": 1, "shield_used": True}))


def test_eliminated_seat_has_no_cards():
    view = view_of(3, eliminated=[2])
    view["up"][2] = view["down"][2] = view["coops"][2] = []
    html = render(view)
    assert 'aria-label="slot 1, face up: no card"' in slot(html, "2-up-0")
    assert re.search(r'class="seat seat-right is-out"', html)


def test_pick_leaves_the_piles_out():
    view = view_of(kind="pick", drawn=None)
    for key in ("stock", "discards", "discard", "call"):
        view[key] = None
    html = render(view)
    assert "data-stock hidden" in html and "data-discard hidden" in html


def test_table_has_no_inline_style_script_or_handler():
    html = render(view_of(4, call={"seat": 1, "shield_used": False}), socket="/ws/tables/x/")
    assert not re.search(r"\sstyle=|<style|<script|\son\w+=", html)


def test_names_are_escaped():
    view = view_of(2)
    evil = '<b x="1">'
    seats = [{"name": evil, "url": "", "kind": "bot", "you": False}, {"name": "Mim", "url": "", "kind": "bot"}]
    assert evil not in render_to_string("games/_table.html", {"view": view, "seats": seats})


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"seat": 1, "move": "k1", "out": "9c"}, "Mim kept into slot 2, throwing the nine of clubs"),
        ({"seat": 0, "move": "s12!", "card": "Td"}, "ada put the ten of diamonds into Mim’s slot 3, and called Soureh"),
        ({"seat": 0, "move": "d"}, "ada discarded face down"),
        ({"seat": 0, "move": "show"}, "ada showed four valid coops"),
        ({"event": "reshuffle"}, "The discards were shuffled into a new stock"),
        ({"event": "call_lapsed", "seat": 1}, "Mim’s call lapsed"),
        ({"event": "fault", "seat": 1, "kind": "resigned"}, "Mim resigned"),
        ({"event": "hand", "no": 2, "dealer": 1}, "Hand 2: Mim deals"),
        (
            {"event": "hand_end", "no": 2, "end": "soureh", "winner": 0, "points": [0, 9], "bonus": [0, 50]},
            "ada won hand 2: Mim +9 −50",
        ),
        (
            {"event": "hand_end", "no": 2, "end": "washout", "winner": None, "points": [4, 9], "bonus": [0, 0]},
            "Hand 2 was washed out: ada +4, Mim +9",
        ),
        (
            {"event": "game_end", "totals": [250, 90], "places": [2, 1], "how": "target"},
            "The game is over: 1. Mim (90), 2. ada (250)",
        ),
    ],
    ids=lambda value: value.get("move") or value.get("event") if isinstance(value, dict) else "",
)
def test_happenings_are_said_in_words(event, said):
    assert wording.describe(event, ["ada", "Mim"]) == said


@pytest.mark.parametrize("preset", ["classic", "common", "inventor"])
@pytest.mark.parametrize("seats", [2, 3, 4])
def test_every_stage_of_a_real_game_is_rendered_and_said(preset, seats):
    rules = Rules.preset(preset, target=30, picks="player")
    game = Game(rules, seats, bytes([seats]) * 32, ("",) * seats)
    chance = random.Random(f"{preset}/{seats}")
    kinds = set()
    while game.decision is not None:
        if game.decision.kind not in kinds or chance.random() < 0.003:
            kinds.add(game.decision.kind)
            for viewer in (None, *range(seats)):
                assert render(json.loads(json.dumps(game.view(viewer))), target=30).count("data-slot=") == 8 * seats
        legal = game.legal()
        calls = [move for move in legal if move.endswith("!") or move == "show"]
        game.play(chance.choice(calls or legal))
    said = [wording.describe(entry, NAMES[:seats]) for entry in game.log_for(None)]
    assert all(said) and not any("{" in sentence for sentence in said)
    assert render(game.view(None)).count("data-slot=") == 8 * seats
