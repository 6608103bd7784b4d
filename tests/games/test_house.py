import ast
import re
from time import process_time

import pytest

from games.arena import house_names
from games.engine import Rules
from games.kit import soureh_bot
from tests.games.kit_tables import HOUSE, HOUSE_NAMES, house, load_choose, play_game

DOCS = HOUSE.parents[1] / "docs"
EXAMPLE = DOCS / "example_bot.py"


def choose_of(name):
    return load_choose(EXAMPLE) if name == "example" else house(name)


def unhurried(name, deals=2):
    """Return a bot that no clock keeps from playing the same again; `sage` thinks for so many deals instead."""
    choose = choose_of(name)
    if name == "sage":
        choose.__globals__.update(SECONDS=60, POOR=-1, DEALS=deals)
    return choose


def turn_of(*, down, up, drawn, legal, **more):
    """Return a turn of seat 0 as the kit would make it, in the first hand of a classic game."""
    rules = more.pop("rules", None) or Rules.preset("classic")
    game = soureh_bot.Game({"seat": 0, "seats": len(up), "rules": rules.to_json(), "rng_seed": "00"})
    totals = more.pop("totals", [0] * len(up))
    hand = soureh_bot.Hand({"no": 1, "dealer": 0, "down": down, "up": up, "totals": totals, "events": []}, game)
    stock = 80 - 8 * len(up) - (drawn is not None)
    message = {"id": 1, "legal": legal, "drawn": drawn, "down": down, "up": up, "totals": totals, "call": None}
    message |= {"stock": stock, "discards": 0}
    turn = soureh_bot.Turn({**message, **more}, game, hand)
    hand.see(turn)
    return turn


@pytest.mark.parametrize("name", HOUSE_NAMES)
def test_house_bots_import_only_the_kit_and_the_standard_library(name):
    tree = ast.parse((HOUSE / f"{name}.py").read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {"soureh_bot", "math", "functools", "time"}


def test_the_house_is_these_five():
    assert house_names() == sorted(HOUSE_NAMES)


@pytest.mark.parametrize("preset", ["classic", "common", "inventor"])
@pytest.mark.parametrize("options", [{}, {"picks": "player", "end": "elimination"}, {"caller_shield": None}], ids=str)
@pytest.mark.parametrize("name", [*HOUSE_NAMES, "example"])
def test_bots_finish_games_of_every_preset_with_legal_moves(name, preset, options):
    # A common hand costs few points, and sage thinks long.
    rules = Rules.preset(preset, target=15 if (name, preset) == ("sage", "common") else 50, **options)
    chooses = [unhurried(name, 1), house("careful"), unhurried(name, 1)]
    # The engine refuses an illegal move with an exception.
    game = play_game(rules, chooses, f"{name} {preset}")
    assert game.result.how == rules.end


@pytest.mark.parametrize("name", ["careful", "spoiler", "counter", "sage", "example"])
def test_bots_complete_call_and_show(name):
    choose = unhurried(name, 60)
    opening = {"down": ["9s", "9h", "9d", "2c"], "up": [["2h", "3d", "Td", "5h"], ["4s", "4c", "5s", "5c"]]}
    opening["up"][0][2] = "4d"
    turn = turn_of(**opening, drawn="8c", legal=["k0", "k1", "k2", "k3", "k3!", "s10", "s11", "s12", "s13", "d"])
    assert choose(turn) == "k3!"
    shown = turn_of(
        **opening | {"down": ["9s", "9h", "9d", "8c"]},
        drawn=None,
        legal=["show", "go"],
        call={"seat": 0, "shield_used": False},
    )
    assert choose(shown) == "show"


@pytest.mark.parametrize("name", ["spoiler", "counter", "sage"])
def test_spoilers_break_the_caller_when_they_can(name):
    # Red 2 over whatever: a red ten in its place leaves only an ace under it that holds.
    turn = turn_of(
        down=["9s", "9h", "2d", "2c"],
        up=[["Th", "Td", "Th", "9d"], ["2h", "As", "Ah", "Ac"], ["3s", "3c", "3h", "3d"]],
        drawn="Td",
        legal=["k0", "k1", "k2", "k3", "s10", "s11", "s12", "s13", "s20", "s21", "s22", "s23", "d"],
        call={"seat": 1, "shield_used": False},
    )
    assert unhurried(name, 30)(turn)[:2] == "s1"


def test_spoiler_would_rather_lose_when_that_earns_the_century_bonus():
    # 92 + 2 + 2 + 2 + 2 is 100; without the bonus in reach it breaks the caller's coop, or calls itself.
    cards = {"down": ["9s", "9h", "9d", "8c"], "up": [["2h", "2h", "2d", "2d"], ["2h", "As", "Ah", "Ac"]]}
    legal = ["k0", "k1", "k2", "k3", "s10", "d"]
    spoiler = house("spoiler")
    call = {"seat": 1, "shield_used": False}
    assert spoiler(turn_of(**cards, drawn="Td", legal=legal, totals=[60, 60], call=call)) == "s10"
    assert spoiler(turn_of(**cards, drawn="Td", legal=legal, totals=[92, 60], call=call)) != "s10"
    every_call = [move + "!" for move in ("k0", "k1", "k2", "k3", "d")]
    assert spoiler(turn_of(**cards, drawn="Td", legal=[*legal, *every_call], totals=[92, 60])) in legal[:4] + ["d"]
    own_call = {"seat": 0, "shield_used": False}
    assert spoiler(turn_of(**cards, drawn=None, legal=["show", "go"], totals=[92, 60], call=own_call)) == "go"


def test_spoiler_minds_its_own_coops_first():
    # The drawn ten completes its own coop, and would break the neighbour's.
    cards = {"down": ["9s", "9h", "9d", "2c"], "up": [["2h", "2h", "2d", "5h"], ["2h", "As", "Ah", "Ac"]]}
    turn = turn_of(**cards, drawn="Td", legal=["k0", "k1", "k2", "k3", "k3!", "s10", "d"])
    assert house("spoiler")(turn) == "k3!"


def test_sage_thinks_no_longer_than_is_free_of_charge():
    # Twice the seconds that it takes itself: the last deal that it tries may take a while.
    taken = []
    sage = house("sage")
    sage.__globals__.update(POOR=-1, DEALS=1000, SLIGHT=0)

    def choose(turn):
        began = process_time()
        move = sage(turn)
        taken.append(process_time() - began)
        return move

    def stop(game, turn):
        if len(taken) > 20:
            raise StopIteration

    with pytest.raises(StopIteration):
        play_game(Rules.preset("classic"), [choose, house("counter"), house("counter")], "clock", watch=stop)
    assert sorted(taken)[10] < 0.08, taken


SAGE_TO_MOVE = {
    "down": ["9s", "9h", "9d", "2c"],
    "up": [["2h", "2h", "2d", "5h"], ["3h", "As", "Ah", "Ac"]],
    "drawn": "Td",
    "legal": ["k0", "k1", "k2", "k3", "k3!", "s10", "d"],
}


@pytest.mark.parametrize(("bank_s", "is_searching"), [(0.0, False), (20.0, True)])
def test_sage_judges_at_a_glance_when_its_bank_is_empty(monkeypatch, bank_s, is_searching):
    turn = turn_of(**SAGE_TO_MOVE, bank_s=bank_s)
    dealt = []
    monkeypatch.setattr(turn, "sample", lambda trust: dealt.append(trust) or soureh_bot.Turn.sample(turn, trust=trust))
    assert house("sage")(turn) == "k3!"
    assert bool(dealt) == is_searching


def test_sage_learns_who_does_not_mind_the_bonus():
    sage = house("sage")
    game = turn_of(**SAGE_TO_MOVE, totals=[50, 75]).game
    for number, totals in enumerate(([50, 75], [60, 75], [70, 50]), 1):
        turn = turn_of(**SAGE_TO_MOVE, totals=totals)
        turn.game, turn.hand.no = game, number
        sage(turn)
        # Whoever won with 25 points missing did not mind; whoever took the bonus did.
        assert (sage.__self__.careless[1] > 1) == (number > 1), number
    sage.__self__.learn([60, 75], [60, 50])
    assert sage.__self__.careless[1] < 1.5


def outlook(**options):
    return house("sage").__globals__["Outlook"](soureh_bot.Rules(Rules.preset("classic", **options).to_json()), 4)


@pytest.mark.parametrize(
    ("mine", "others", "share"),
    [(60, (250, 251, 61), 1), (60, (250, 60, 59), 0.5), (251, (60, 250, 70), 0)],
    ids=["best", "tied with one", "last"],
)
def test_sage_counts_whom_it_leaves_behind_when_the_game_is_over(mine, others, share):
    assert outlook().share(mine, others, None) == pytest.approx(share, abs=0.01)


def test_sage_knows_which_totals_are_good():
    classic, hands = outlook(), outlook(end="hands", hands=9)
    # Far from the end what counts is to reach a hundred exactly: 75 can, 96 cannot.
    assert classic.share(75, (60, 60, 60), None) > classic.share(96, (60, 60, 60), None) + 0.1
    # Before a last hand 75 will probably be 50, and 62 will not.
    assert hands.share(75, (62, 62, 62), 1) > 0.6 > 0.4 > hands.share(62, (75, 75, 75), 1)
    # After it nothing will.
    assert hands.share(75, (62, 62, 62), 0) < 0.01


def test_careful_leaves_others_alone():
    careful = house("careful")
    moves = []

    def choose(turn):
        moves.append(careful(turn))
        return moves[-1]

    play_game(Rules.preset("classic", target=60), [choose, house("spoiler")], "alone")
    assert len(moves) > 10
    assert not [move for move in moves if move[0] == "s" and move != "show"]


@pytest.mark.parametrize("name", ["counter", "sage"])
def test_counters_go_on_when_the_century_bonus_makes_losing_a_gain(name):
    # 92 + 2 + 2 + 2 + 2 is 100, and 50 are taken off: losing is worth 42 points.
    cards = {"down": ["9s", "9h", "9d", "8c"], "up": [["2h", "2h", "2d", "2d"], ["4s", "4c", "5s", "5c"]]}
    call = {"seat": 0, "shield_used": False}
    choose = unhurried(name, 30)
    gain = turn_of(**cards, drawn=None, legal=["show", "go"], totals=[92, 60], call=call)
    assert choose(gain) == "go"
    loss = turn_of(**cards, drawn=None, legal=["show", "go"], totals=[30, 60], call=call)
    assert choose(loss) == "show"


@pytest.mark.parametrize("name", HOUSE_NAMES)
def test_bots_are_a_function_of_the_seed(name):
    rules = Rules.preset("classic", target=30)
    first, again = (play_game(rules, [unhurried(name), house("random")], "seed") for _ in range(2))
    assert first.log_for(None, revealed=True) == again.log_for(None, revealed=True)


def test_counter_beats_careful_beats_random_over_duplicate_deals():
    rules = Rules.preset("classic", target=100)
    names = ("random", "careful", "counter")
    points = dict.fromkeys(names, 0)
    for deal in range(4):
        for rotation in range(3):
            at_seat = [names[(seat - rotation) % 3] for seat in range(3)]
            game = play_game(rules, [house(name) for name in at_seat], f"strength {deal}")
            for name, total in zip(at_seat, game.result.totals, strict=True):
                points[name] += total
    assert points["counter"] < points["careful"] < points["random"], points


def test_the_example_of_the_documents_is_ten_lines():
    lines = [line for line in EXAMPLE.read_text().splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(lines) <= 10


def test_the_documents_show_the_example_as_it_is():
    assert f"```python\n{EXAMPLE.read_text()}```" in (DOCS / "bots.md").read_text()


def test_the_documents_name_only_what_the_kit_has():
    text = (DOCS / "bots.md").read_text()
    turn = turn_of(down=["9s"] * 4, up=[["2h"] * 4, ["4s"] * 4], drawn="8c", legal=["d"])
    table = text.partition("**`turn`**")[2].partition("**`turn.rules`**")[0]
    named = [name for row in re.findall(r"^\| (`.*?) \|", table, re.M) for name in re.findall(r"`(\w+)", row)]
    assert len(named) > 20
    assert [name for name in named if not hasattr(turn, name)] == []
