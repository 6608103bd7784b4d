import json
import math
import os
import signal
import time

import pytest

from bots.process import FAULT_KINDS, Limits, SandboxError
from games.engine import Rules
from games.referee import Match, advance, open_game, play_match
from tests.games.jobs import CAREFUL, LIMITS, finished_record, make_job, mischief
from tests.games.kit_tables import HOUSE
from tests.live import children, until

FAULTY = [
    pytest.param("timeout", "while True: pass", "move_s ran out", id="timeout_spin"),
    pytest.param("timeout", "time.sleep(60)", "wall_s ran out", id="timeout_sleep"),
    pytest.param("illegal", "return 'k9'", '"move": "k9"', id="illegal_move"),
    pytest.param("illegal", "return 7", '"move": 7', id="illegal_type"),
    pytest.param("illegal", """raw(b'{"id":%d}\\n' % turn.id); time.sleep(60)""", '{"id": ', id="illegal_missing"),
    pytest.param("protocol", "raw(b'hello\\n')", "hello", id="protocol_no_json"),
    pytest.param("protocol", """raw(b'{"id":1,"move":"d"}\\n')""", '"id":1', id="protocol_stale_id"),
    pytest.param("crash", "raise RuntimeError('no idea')", "exited with status 1", id="crash_exception"),
    pytest.param("crash", "os._exit(7)", "exited with status 7", id="crash_exit"),
    pytest.param("memory", "bytearray(2 << 30)", "memory_mb", id="memory_bomb"),
    pytest.param("output", "raw(b'x' * 60000); raw(b'x' * 60000)", "bytes at once", id="output_flood"),
    pytest.param("violation", "import ctypes; ctypes.CDLL(None).ptrace(16, 1, 0, 0)", "SIGSYS", id="violation_ptrace"),
]


@pytest.fixture(autouse=True)
def nothing_left_running():
    before = set(children(os.getpid()))
    yield
    assert set(children(os.getpid())) <= before


def test_play_match_plays_to_the_end_and_the_record_holds():
    job, sources = make_job([CAREFUL] * 4, seating="draw")
    progress = []
    outcome = json.loads(json.dumps(play_match(job, sources, on_progress=progress.append)))
    document = finished_record(job, outcome)
    assert document["result"]["how"] == "target"
    assert outcome["match"] == "m1" and outcome["attempt"] == 2
    assert outcome["faults"] == [] and outcome["logs"] == [""] * 4
    assert sorted(outcome["order"]) == [0, 1, 2, 3]
    assert progress == list(range(1, len(outcome["moves"]) + 1))
    assert len(outcome["ms"]) == len(outcome["moves"]) and all(isinstance(ms, int) and ms >= 0 for ms in outcome["ms"])


def test_play_match_is_the_same_again_from_the_same_seed():
    job, sources = make_job([(HOUSE / "random.py").read_bytes(), CAREFUL, CAREFUL], target=30)
    first, again = play_match(job, sources), play_match(job, sources)
    assert first["moves"] == again["moves"]


@pytest.mark.parametrize(("kind", "body", "shown"), FAULTY)
def test_a_fault_is_charged_to_its_bot_alone(kind, body, shown):
    job, sources = make_job([CAREFUL, mischief(body), CAREFUL])
    outcome = play_match(job, sources)
    [fault] = outcome["faults"]
    assert (fault["seat"], fault["kind"]) == (1, kind)
    assert shown in fault["private"]
    assert len(fault["private"]) < 600 and len(fault["detail"]) < 80
    document = finished_record(job, outcome)
    result = document["result"]
    assert result["how"] == "target"
    assert result["places"][1] == 3
    # The others were told of it, and played on with their own moves.
    moves_after = outcome["moves"][fault["turn"] :]
    assert any(move[0] == "k" for move in moves_after)
    assert document["faults"] == [{key: fault[key] for key in ("seat", "kind", "hand", "turn", "detail")}]


@pytest.mark.parametrize("body", ["pass", "import ctypes; ctypes.CDLL(None).getpid()", "bytearray(1 << 20)"])
def test_a_harmless_bot_with_the_same_frame_has_no_fault(body):
    job, sources = make_job([CAREFUL, mischief(body), CAREFUL])
    assert play_match(job, sources)["faults"] == []


def test_every_kind_of_a_bots_fault_is_tried_here():
    assert {param.values[0] for param in FAULTY} | {"start"} == set(FAULT_KINDS)


def test_faults_at_the_start_share_the_last_place():
    sleeper = "import time\ntime.sleep(60)\n"
    broken = "raise SystemExit(4)\n"
    job, sources = make_job(
        [sleeper, CAREFUL, broken, CAREFUL], limits=Limits(move_s=0.3, start_s=1.0), seed="start faults"
    )
    outcome = play_match(job, sources)
    assert [(f["seat"], f["kind"], f["hand"], f["turn"]) for f in outcome["faults"]] == [
        (0, "start", 1, 0),
        (2, "crash", 1, 0),
    ]
    result = finished_record(job, outcome)["result"]
    assert result["how"] == "target"
    assert [result["places"][seat] for seat in (0, 2)] == [3, 3]


@pytest.mark.parametrize("seats", [2, 3])
def test_when_nobody_starts_nobody_wins(seats):
    job, sources = make_job(["raise SystemExit(4)\n"] * seats)
    outcome = play_match(job, sources)
    assert outcome["moves"] == [] and len(outcome["faults"]) == seats
    result = finished_record(job, outcome)["result"]
    assert (result["how"], result["places"]) == ("fault", [1] * seats)


def test_the_game_ends_at_once_when_one_bot_is_left():
    job, sources = make_job([CAREFUL, mischief("os._exit(1)")], target=250)
    outcome = play_match(job, sources)
    document = finished_record(job, outcome)
    assert document["result"]["how"] == "fault"
    assert document["result"]["places"] == [1, 2]
    assert outcome["faults"][0]["turn"] == len(outcome["moves"]) + 1


def test_a_bot_that_ends_after_its_answer_is_faulted_when_next_asked():
    source = """
import os, soureh_bot
def choose(turn):
    os.write(1, b'{"id":%d,"move":"%s"}\\n' % (turn.id, turn.legal[-1].encode()))
    os._exit(0)
soureh_bot.run(choose)
"""
    job, sources = make_job([source, CAREFUL, CAREFUL])
    outcome = play_match(job, sources)
    [fault] = outcome["faults"]
    assert (fault["seat"], fault["kind"]) == (0, "crash")
    # It had answered once, so the fault stands at its second turn.
    assert fault["turn"] > 3
    finished_record(job, outcome)


def test_what_a_bot_logs_is_kept():
    source = """
import soureh_bot
class Bot:
    def choose(self, turn):
        return turn.legal[-1]
    def on_hello(self, game):
        soureh_bot.log("I am", game.names[game.seat], "of", game.names, "resumed", game.resumed)
    def on_hand(self, hand):
        soureh_bot.log("hand", hand.no)
soureh_bot.run(Bot())
"""
    job, sources = make_job([CAREFUL, source])
    outcome = play_match(job, sources)
    assert outcome["logs"][0] == ""
    assert outcome["logs"][1].startswith("I am bot1 of ['bot0', 'bot1'] resumed False\nhand 1\nhand 2\n")


def test_what_a_bot_logs_of_the_end_is_kept_for_every_seat():
    source = """
import sys, time, soureh_bot
class Bot:
    def choose(self, turn):
        return turn.legal[-1]
    def on_game_end(self, message):
        time.sleep(0.02)
        soureh_bot.log("places", message["places"])
soureh_bot.run(Bot())
"""
    job, sources = make_job([source, source, CAREFUL])
    outcome = play_match(job, sources)
    places = finished_record(job, outcome)["result"]["places"]
    assert outcome["logs"] == [f"places {places}\n"] * 2 + [""]


def test_a_bot_killed_from_outside_is_our_failure():
    def kill(decisions):
        if decisions == 5:
            victim = match.players[1]._process._jail.pid
            os.kill(victim, signal.SIGKILL)

    job, sources = make_job([CAREFUL, CAREFUL])
    with pytest.raises(SandboxError, match="SIGKILL"), Match(job, sources) as match:
        match.play(on_progress=kill)
    assert match.played.faults == []


def test_a_missing_source_is_our_failure():
    job, _ = make_job([CAREFUL, CAREFUL])
    with pytest.raises(SandboxError, match="expected the source of every bot"):
        play_match(job, {})


def test_the_match_has_an_end_by_the_clock():
    slow = "import time, soureh_bot\nsoureh_bot.run(lambda turn: time.sleep(0.3) or turn.legal[-1])\n"
    limits = Limits(move_s=1.0, match_wall_s=2.0)
    job, sources = make_job([slow, slow], limits=limits, target=10_000)
    outcome = play_match(job, sources)
    [fault] = outcome["faults"]
    assert fault["kind"] == "timeout" and "match_wall_s" in fault["private"]
    assert finished_record(job, outcome)["result"]["how"] == "fault"


def test_who_let_the_others_wait_pays_for_the_match_s_time():
    def run_out(decisions):
        if decisions == 1:
            set_deadline(time.monotonic())

    def set_deadline(deadline):
        for player in match.players:
            player._process._deadline = deadline

    body = "import time, soureh_bot\nsoureh_bot.run(lambda turn: time.sleep({}) or turn.legal[-1])\n"
    job, sources = make_job([body.format(0.1), body.format(0.6)], limits=Limits(match_wall_s=1.0))
    with Match(job, sources) as match:
        # Seat 1 has taken more than half when the time runs out, and seat 0 is the one who is waited for.
        set_deadline(math.inf)
        match.play(on_progress=run_out)
    assert [(fault["seat"], fault["kind"], fault["turn"]) for fault in match.played.faults] == [(1, "timeout", 3)]


# Tables with people


def test_at_a_table_it_plays_on_until_a_person_must_decide():
    job, sources = make_job([None, CAREFUL, CAREFUL])
    outcome = play_match(job, sources)
    # Seat 0 deals, so the bots at seats 1 and 2 have moved and he is to.
    assert len(outcome["moves"]) == 2 and outcome["faults"] == []
    assert open_game({**job, "moves": outcome["moves"]}).decision.seat == 0


def test_bots_resumed_for_every_answer_play_as_if_they_had_stayed():
    job, sources = make_job([CAREFUL, CAREFUL, CAREFUL], target=25)
    whole = play_match(job, sources)
    table, sources = make_job([CAREFUL, None, CAREFUL], target=25)
    moves = []
    while open_game({**table, "moves": moves}).decision is not None:
        answers = play_match({**table, "moves": moves}, sources)["moves"]
        moves += answers
        if open_game({**table, "moves": moves}).decision is not None:
            moves.append(whole["moves"][len(moves)])
    assert moves == whole["moves"]


def test_only_bots_that_must_answer_are_started():
    shy = "raise SystemExit(9)\n"
    job, sources = make_job([None, CAREFUL, shy])
    moves = play_match(job, sources)
    assert [(fault["seat"], fault["kind"], fault["turn"]) for fault in moves["faults"]] == [(2, "crash", 2)]
    # Once it has a fault the engine plays it, and it is not started again.
    faults = [{key: fault[key] for key in ("seat", "kind", "turn", "detail")} for fault in moves["faults"]]
    game = open_game({**job, "moves": moves["moves"], "faults": faults})
    game.play(game.legal()[0])
    later = play_match({**job, "moves": [*moves["moves"], "k0"], "faults": faults}, sources)
    assert later["faults"] == [] and later["moves"][1] == "d"


def test_advance_without_bots_is_the_engine_s_own_play():
    job, _ = make_job([None, None, None])
    game = open_game(job)
    game.fault(1, "left")
    played = advance(game, [None] * 3)
    assert played.moves == ["d"] and game.decision.seat == 2


SORE_LOSER = """
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"ready"}')
    elif message["type"] == "turn":
        print(json.dumps({"id": message["id"], "move": "d" if "d" in message["legal"] else message["legal"][0]}))
    elif message["type"] == "hand_end" and message["totals"][2] >= 40:
        while True:
            pass
"""


def test_bot_that_is_out_and_burns_the_processor_is_stopped_without_a_fault():
    job, sources = make_job([CAREFUL, CAREFUL, SORE_LOSER], seed="c")
    job["rules"] = Rules.preset("classic", end="elimination", target=40).to_json()
    seen = []

    with Match(job, sources) as match:
        loser = match.players[2]

        def look(_decisions):
            if 2 not in match.game.eliminated or match.game.decision is None:
                return
            seen.append((match.game.decision.hand, loser.is_alive))
            # It was told of it just before the second of these.
            if len(seen) == 2:
                until(lambda: loser.pending_us() > LIMITS.move_s * 1e6, what="the loser burns")

        match.play(on_progress=look)
    # In the next hand it burned, and when that was over it was stopped.
    hand = seen[0][0]
    assert {is_alive for no, is_alive in seen if no == hand} == {True}
    assert seen[-1][0] > hand + 1 and not seen[-1][1]
    assert match.played.faults == []
    assert match.game.result.how == "elimination"
