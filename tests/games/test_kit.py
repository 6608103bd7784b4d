import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from games.engine import Rules
from games.kit import soureh_bot
from tests.games.kit_tables import VECTORS, Seat, answers, house, play_game, sent_in, transcripts

PRESETS = ("classic", "common", "inventor")


def read(name):
    return json.loads((VECTORS / name).read_text())


def kit_rules(preset, **options):
    return soureh_bot.Rules(Rules.preset(preset, **options).to_json())


@pytest.mark.parametrize("preset", PRESETS)
def test_valid_agrees_with_the_vectors_on_every_pair(preset):
    vectors = read("coops.json")
    rules = kit_rules(preset)
    for up, row in zip(vectors["cards"], vectors["valid"][preset], strict=True):
        found = "".join(str(int(rules.valid(up, down))) for down in vectors["cards"])
        assert found == row, up


def test_valid_is_classic_without_rules():
    assert soureh_bot.valid("2h", "9s")
    assert not soureh_bot.valid("2s", "9s")
    assert not soureh_bot.valid("Ah", "As")


def test_valid_refuses_a_hidden_card():
    with pytest.raises(KeyError):
        soureh_bot.valid("2h", soureh_bot.HIDDEN)


def test_lost_agrees_with_the_best_picks_of_the_vectors():
    for case in read("picks.json"):
        rules = kit_rules(case["preset"])
        added = case["new_total"] - case["total"]
        assert rules.lost(case["down"], case["up"], case["total"]) == added, case


@pytest.mark.parametrize("preset", PRESETS)
def test_best_pick_is_as_good_as_the_engine_s(preset):
    rules = Rules.preset(preset, picks="player", target=60)
    careful = house("careful")
    seen = Counter()

    def choose(turn):
        if not turn.is_pick:
            return careful(turn)
        pick = turn.best_pick()
        added = turn.rules.lost(turn.down, turn.my_up, turn.totals[turn.seat])
        assert added == min(
            turn.rules.added(points, turn.totals[turn.seat])
            for points in turn.rules.pick_points(turn.down, turn.my_up, pick)
        )
        assert [turn.down, turn.seat] == [turn.revealed[turn.seat], turn.seat]
        seen[pick] += 1
        return pick

    game = play_game(rules, [choose, choose, house("random")], f"picks {preset}")
    own = [entry for entry in game.log_for(None) if entry.get("event") == "hand_end"]
    assert sum(seen.values()) == sum(pick != "" for entry in own for pick in entry["picks"][:2])


@pytest.mark.parametrize("transcript", transcripts(), ids=lambda said: f"record{said['record']}-seat{said['seat']}")
def test_bots_answer_legally_all_through_a_transcript(transcript):
    sent = sent_in(transcript)
    turns = {message["id"]: message["legal"] for message in sent if message["type"] == "turn"}
    for name in ("random", "careful", "spoiler", "counter"):
        ready, *moves = answers(house(name), sent)
        assert ready == {"type": "ready"}
        assert [move["id"] for move in moves] == list(turns)
        assert all(move["move"] in turns[move["id"]] for move in moves)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("seats", [2, 4])
def test_unseen_holds_exactly_what_the_seat_cannot_know(preset, seats):
    reshuffles = []

    def watch(game, turn):
        hidden = hidden_cards(game, turn)
        assert turn.unseen() == {card: hidden[card] for card in soureh_bot.DECK}
        kinds = Counter(card[0] + ("s" if card[1] in "sc" else "h") for card in hidden.elements())
        assert turn.unseen_kinds() == [kinds[kind] for kind in soureh_bot.KINDS]
        reshuffles.append(turn.hand.reshuffles)

    # Nobody keeps a card for long here, so that hands outlast their stock.
    idle = [house("random")] + [lambda turn: "d" if "d" in turn.legal else turn.legal[-1]] * (seats - 1)
    play_game(Rules.preset(preset, target=30), idle, f"unseen {preset}", watch=watch)
    assert max(reshuffles) > 0


def hidden_cards(game, turn):
    """Work out from the open log what a seat cannot know: all cards, less those it sees or saw discarded."""
    hidden = Counter(soureh_bot.DECK)
    hidden.subtract(turn.down)
    for cards in turn.up:
        hidden.subtract(cards)
    if turn.drawn:
        hidden.subtract([turn.drawn])
    pile = []
    log = game.log_for(turn.seat, revealed=True)
    start = max(index for index, entry in enumerate(log) if entry.get("event") == "hand")
    up = [list(cards) for cards in log[start]["up"]]
    for entry in log[start + 1 :]:
        if entry.get("event") == "reshuffle":
            pile = []
        if "out" in entry:
            pile.append(entry["out"])
        elif "card" in entry:
            other, slot = int(entry["move"][1]), int(entry["move"][2])
            pile.append(up[other][slot])
            up[other][slot] = entry["card"]
        elif entry.get("move", "")[:1] == "d" and entry["seat"] == turn.seat:
            pile.append(entry["drew"])
    hidden.subtract(pile)
    return hidden


@pytest.mark.parametrize("name", ["careful", "spoiler", "counter"])
def test_a_resumed_bot_remembers_and_moves_as_one_that_was_there_all_along(name):
    choose = house(name)
    moves = []

    def watch(game, turn):
        if game.decisions_made == 0:
            return
        fresh = Seat(choose, turn.seat, game, resumed=True)
        assert fresh.table.game.resumed
        moves.append((fresh.decide(game), choose(turn)))
        ours, theirs = vars(fresh.table.hand), vars(turn.hand)
        assert {**ours, "_rules": None} == {**theirs, "_rules": None}

    play_game(Rules.preset("classic", target=60), [choose] * 3, f"resumed {name}", watch=watch)
    assert len(moves) > 20
    assert all(resumed == own for resumed, own in moves)


def chances_to_win(move, *, up=("2h", "2d", "4d", "5h"), call=None):
    """Return the chances at a table of three where seat 0 has drawn an eight and lacks its last coop."""
    rules = Rules.preset("classic").to_json()
    game = soureh_bot.Game({"seat": 0, "seats": 3, "rules": rules})
    cards = {"down": ["9s", "9h", "9d", "2c"], "up": [list(up), ["2h", "3d", "Ts", "9c"], ["4s", "4c", "5s", "5c"]]}
    hand = soureh_bot.Hand({"no": 1, "dealer": 0, "totals": [0, 0, 0], **cards}, game)
    turn = {"id": 1, "legal": ["d"], "drawn": "8c", "call": call, "totals": [0, 0, 0], "stock": 55, "discards": 0}
    return soureh_bot.Turn({**turn, **cards}, game, hand).chances_to_win(move)


def test_chances_to_win_are_all_there_is():
    for move in ("k0", "k3", "k3!", "s12", "d", "go", "show"):
        chances = chances_to_win(move)
        assert list(chances) == [0, 1, 2]
        assert sum(chances.values()) == pytest.approx(1)


def test_chances_to_win_follow_the_coops_and_the_call():
    mine = {move: chances_to_win(move)[0] for move in ("k0", "d", "k3", "k3!", "show")}
    assert sorted(mine, key=mine.get) == ["k0", "d", "k3", "k3!", "show"]
    assert mine["show"] == 1
    # Whose coops are easy to fill is nearer to winning; who has called is nearest, until he is disturbed.
    easy, hard = [chances_to_win("d")[seat] for seat in (1, 2)]
    assert easy > hard
    called = chances_to_win("d", call={"seat": 1, "shield_used": False})
    assert called[1] > easy
    assert chances_to_win("s12", call={"seat": 1, "shield_used": False})[1] < called[1]


def test_hooks_are_called_in_the_order_of_the_match():
    happened = []

    class Bot:
        def choose(self, turn):
            happened.append("turn")
            return turn.legal[-1]

        def on_hello(self, game):
            happened.append(f"hello {game.seat} of {game.seats}")

        def on_hand(self, hand):
            happened.append(f"hand {hand.no}")

        def on_hand_end(self, message):
            happened.append(f"end of hand {message['no']}")

        def on_game_end(self, message):
            happened.append(f"places {message['places']}")

    answers(Bot(), sent_in(transcripts()[0]))
    assert happened[:3] == ["hello 1 of 2", "hand 1", "turn"]
    assert happened[-1].startswith("places")
    assert happened.index("hand 2") == happened.index("end of hand 1") + 1


def test_a_stray_print_goes_to_the_log_and_an_exception_ends_the_process():
    lines = [json.dumps(message) for message in sent_in(transcripts()[0])[:3]]
    source = """
import soureh_bot
def choose(turn):
    print("thinking about", turn.drawn)
    raise RuntimeError("no idea")
soureh_bot.run(choose)
"""
    ended = subprocess.run(
        [sys.executable, "-c", source],
        input="\n".join(lines) + "\n",
        env={"PYTHONPATH": str(Path(soureh_bot.__file__).parent)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ended.stdout == '{"type": "ready"}\n'
    assert "thinking about 9d" in ended.stderr
    assert "RuntimeError: no idea" in ended.stderr
    assert ended.returncode == 1


def test_run_refuses_what_cannot_choose():
    with pytest.raises(TypeError, match="expected a function, or an object with a method choose"):
        soureh_bot.play("careful", [], print)
