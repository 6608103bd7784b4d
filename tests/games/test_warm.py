"""Bots at people's tables wait, stopped, between their turns, and are started anew where they do not fit."""

import copy
import os
import signal
import time
from collections.abc import Iterator

import pytest

from games.warm import WarmTables
from tests.games.jobs import Table
from tests.live import until

# It keeps a memory, writes of it, and takes what CPU time its name says.
BOT = b"""
import json, sys, time
turns = 0
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print("started resumed=%s" % message["resumed"], file=sys.stderr)
        print('{"type":"ready"}')
    elif message["type"] == "turn":
        turns += 1
        end = time.process_time() + SPIN
        while time.process_time() < end:
            pass
        print("turn %d bank %s" % (turns, message["bank_s"]), file=sys.stderr)
        sys.stderr.flush()
        print(json.dumps({"id": message["id"], "move": WORD or message["legal"][-1]}))
"""
# Its own thoughts end, another thread's never.
BUSY = b"""
import threading
def spin():
    while True: pass
threading.Thread(target=spin, daemon=True).start()
"""


def bot(spin: float = 0.0, word: str = "") -> bytes:
    return b"SPIN, WORD = %r, '%s'\n" % (spin, word.encode()) + BOT


@pytest.fixture
def warm() -> Iterator[WarmTables]:
    tables = WarmTables()
    yield tables
    tables.close()


def running(warm: WarmTables) -> list[int]:
    """Return the processes of the bots that wait."""
    players = [player for match, _ in warm._kept.values() for player in match.players if player]
    return [player._process._jail.pid for player in players if player._process._jail]


def state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_bot_stays_with_its_memory_and_its_bank(warm: WarmTables) -> None:
    table = Table(bot(spin=0.1))
    table.decide()
    first = table.answer(warm)
    (pid,) = running(warm)
    table.decide()
    second = table.answer(warm)
    assert running(warm) == [pid]
    assert first["logs"][1] == "started resumed=False\nturn 1 bank 0.4\n"
    before, _, left_s = second["logs"][1].strip().rpartition(" ")
    assert before == "turn 2 bank"
    # What is over 50 ms is charged, and the microseconds of every answer say how much.
    assert float(left_s) == pytest.approx(0.4 - (first["cpu_us"][0] / 1e6 - 0.05), abs=0.001)
    assert (first["starts"], second["starts"]) == ([0, 1], [0, 0])


def test_waiting_bot_is_stopped_and_takes_no_time(warm: WarmTables) -> None:
    table = Table(bot(), BUSY + bot())
    table.decide()
    table.answer(warm)
    pids = running(warm)
    assert len(pids) == 2
    until(lambda: {state(pid) for pid in pids} == {"T"}, what="both are stopped")
    used_s = [time.clock_gettime((~pid << 3) | 2) for pid in pids]
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert [time.clock_gettime((~pid << 3) | 2) for pid in pids] == used_s


def test_table_that_went_on_elsewhere_is_gone_on_with(warm: WarmTables) -> None:
    table, elsewhere = Table(bot()), WarmTables()
    table.decide()
    table.answer(warm)
    (pid,) = running(warm)
    table.decide()
    try:
        table.answer(elsewhere)
    finally:
        elsewhere.close()
    table.decide()
    assert "started" not in table.answer(warm)["logs"][1]
    assert running(warm) == [pid]


@pytest.mark.parametrize("change", ["moves", "limits", "server_seed"])
def test_other_history_has_the_bot_started_again(change: str, warm: WarmTables) -> None:
    table = Table(bot())
    table.decide()
    before = copy.deepcopy(table.job)
    table.answer(warm)
    (pid,) = running(warm)
    table.job = before
    # With nothing but its moves as before the batch was dropped: the bots are asked for it again.
    if change == "limits":
        table.job["limits"]["move_s"] = 0.6
    elif change == "server_seed":
        table.job["server_seed"] = "08" * 32
    assert table.answer(warm)["logs"][1].startswith("started resumed=False\nturn 1 ")
    assert running(warm) != [pid]
    assert not os.path.exists(f"/proc/{pid}")


def test_bot_that_was_killed_while_it_waited_is_started_again(warm: WarmTables) -> None:
    table = Table(bot())
    table.decide()
    table.answer(warm)
    (pid,) = running(warm)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not os.path.exists(f"/proc/{pid}"), what="it has ended")
    table.decide()
    outcome = table.answer(warm)
    assert outcome["faults"] == []
    assert outcome["logs"][1].startswith("started resumed=True\nturn 1 ")


def test_faulted_bot_stays_out_and_the_others_play_on(warm: WarmTables) -> None:
    table = Table(bot(word="x"), bot())
    table.decide()
    first = table.answer(warm)
    assert [(fault["seat"], fault["kind"]) for fault in first["faults"]] == [(1, "illegal")]
    (pid,) = running(warm)
    table.decide()
    second = table.answer(warm)
    assert second["faults"] == []
    assert len(second["moves"]) == 1
    assert running(warm) == [pid]
    assert "started" not in second["logs"][2]


def test_too_many_push_the_one_out_that_waited_longest() -> None:
    warm = WarmTables(bots_most=2)
    try:
        one, two, three = (Table(bot(), name=letter * 16) for letter in "123")
        for table in (one, two, one, three):
            table.decide()
            table.answer(warm)
        assert list(warm._kept) == [table.job["match"] for table in (one, three)]
        assert len(running(warm)) == 2
    finally:
        warm.close()
    assert len(warm) == 0


def test_idle_table_is_let_go_and_closing_ends_all() -> None:
    warm = WarmTables(idle_s=0.2)
    table = Table(bot())
    table.decide()
    table.answer(warm)
    until(lambda: not len(warm), what="it is let go")
    patient = WarmTables()
    table.decide()
    table.answer(patient)
    pids = running(patient)
    assert pids
    patient.close()
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_finished_game_leaves_nobody_waiting(warm: WarmTables) -> None:
    table = Table(bot(word="x"))
    table.decide()
    # The only other seat is out: the game ends at once.
    assert table.answer(warm)["faults"]
    assert len(warm) == 0
