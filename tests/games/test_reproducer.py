"""A reproducer holds what the bot was sent, to the letter, and does at home what the bot did in the match."""

import json
import re

import pytest

from bots.process import Limits
from games import times
from games.engine import record
from games.referee import bot_files, play_match
from games.reproducer.packing import make_case, pack_case
from games.reproducer.reproduce import Fault, judge
from tests.games.jobs import CAREFUL, LIMITS, finished_record, make_job, mischief
from tests.games.reproducers import reproduce, unpack

# Says in its log what it is sent, and now and then thinks for longer than is free.
ECHO = """
import json, sys, time
for text in sys.stdin:
    print(text, end="", file=sys.stderr)
    message = json.loads(text)
    if message["type"] == "hello":
        print('{"type":"ready"}', flush=True)
    if message["type"] == "turn":
        end = time.process_time() + (0.07 if message["id"] % 4 == 0 else 0)
        while time.process_time() < end:
            pass
        print(json.dumps({"id": message["id"], "move": message["legal"][-1]}), flush=True)
"""
RANDOM = b"import soureh_bot\nsoureh_bot.run(lambda turn: turn.rng.choice(turn.legal))\n"


def times_of(doc, outcome, seat, *, limits=LIMITS, first=1):
    """Return a seat's times as `finish` stores and loads them."""
    movers = [frame["seat"] for hand in record.frames(doc) for frame in hand if frame["move"]]
    movers = movers[first - 1 : first - 1 + len(outcome["cpu_us"])]
    found = times.gather(movers, outcome["cpu_us"], first=first, limits=limits.to_json()).get(seat, times.Times())
    found.starts = [outcome["starts"][seat]]
    return times.unpack(times.pack(found))


def zip_of(case, sources, job, seat, seen=""):
    files = bot_files(sources, job["entrants"][seat]["sha256"])
    about = {"bot": "Mim", "version": 3, "match": "m1", "cpu_us": 1, "ms": 1, "limits": LIMITS.to_json(), "seen": seen}
    return pack_case(case, files, folder="reproducer", about=about)


def test_the_lines_are_those_that_the_bot_was_sent():
    job, sources = make_job([ECHO, CAREFUL], target=60)
    outcome = play_match(job, sources)
    doc = finished_record(job, outcome)
    sent = [json.loads(line) for line in outcome["logs"][0].splitlines()]
    turns = [message["id"] for message in sent if message["type"] == "turn"]
    costs = times_of(doc, outcome, 0)
    banks = {message["bank_s"] for message in sent if message["type"] == "turn"}
    assert len(turns) > 8 and len(banks) > 3, "expected a bank that was drawn on"
    for turn in (turns[0], turns[len(turns) // 2], turns[-1]):
        case = make_case(doc, 0, turn, costs)
        assert case.lines == sent[: len(case.lines)]
        assert case.lines[-1] == next(message for message in sent if message.get("id") == turn)


def test_the_lines_of_a_bot_that_was_started_in_the_middle_begin_there():
    job, sources = make_job([ECHO, CAREFUL], target=60)
    whole = play_match(job, sources)
    middle = 9
    job["moves"] = whole["moves"][:middle]
    outcome = play_match(job, sources)
    moves = job["moves"] + outcome["moves"]
    doc = finished_record(job, {**outcome, "moves": moves, "ms": [0] * len(moves)})
    sent = [json.loads(line) for line in outcome["logs"][0].splitlines()]
    turn = [message["id"] for message in sent if message["type"] == "turn"][2]
    case = make_case(doc, 0, turn, times_of(doc, outcome, 0, first=middle + 1))
    assert sent[0]["resumed"] is True
    assert case.lines == sent[: len(case.lines)] and case.lines[-1]["id"] == turn
    assert all(number > middle for number in case.moves)


def test_nothing_is_in_a_reproducer_that_the_seat_could_not_see():
    job, sources = make_job([RANDOM, CAREFUL], target=30)
    outcome = play_match(job, sources)
    doc = finished_record(job, outcome)
    own = next(n for n, frame in enumerate(record.frames(doc)[0]) if frame["seat"] == 0 and n > 4)
    case = make_case(doc, 0, own, times_of(doc, outcome, 0))
    said = json.dumps(case.lines)
    assert doc["fairness"]["server_seed"] not in said
    down = record.frames(doc)[0][0]["view"]["down"][1]
    assert "??" not in down
    assert not [line for line in case.lines if down in (line.get("down"), *line.get("revealed", ()))]


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [
        pytest.param("illegal", "return 'k9'", "k9", id="illegal"),
        pytest.param("crash", "raise RuntimeError('no idea')", "RuntimeError: no idea", id="crash"),
        pytest.param("protocol", "raw(b'hello\\n')", "hello", id="protocol"),
        pytest.param("protocol", "raw(b'{}\\n{}\\n')", "more than one line", id="two-lines"),
        pytest.param("timeout", "while True: pass", "move_s ran out", id="timeout-spin"),
        pytest.param("timeout", "time.sleep(60)", "wall_s ran out", id="timeout-sleep"),
        pytest.param("memory", "bytearray(2 << 30)", "MemoryError", id="memory"),
    ],
)
def test_a_fault_happens_again_at_home(tmp_path, kind, body, shown):
    job, sources = make_job([CAREFUL, mischief(body), CAREFUL])
    outcome = play_match(job, sources)
    (fault,) = outcome["faults"]
    assert fault["kind"] == kind and fault["ms"] >= 0
    doc = finished_record(job, outcome)
    case = make_case(doc, 1, fault["turn"], times_of(doc, outcome, 1))
    done = reproduce(unpack(zip_of(case, sources, job, 1, fault["private"]), tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The same as recorded." in done.stdout and "without a sandbox" in done.stdout
    assert f"here       fault {kind}" in done.stdout and shown in done.stdout
    assert "ms of CPU," in done.stdout and "not known" not in done.stdout
    assert ("Fatal Python error" in done.stdout) == (kind == "timeout"), "an answer is no crash"
    if kind in ("crash", "memory", "timeout"):
        line = mischief(body).splitlines().index(f"    {body}") + 1
        assert re.search(rf'bot\.py", line {line},? in mischief', done.stdout), done.stdout


@pytest.mark.parametrize("body", ["hint = 6 * 7; raise RuntimeError(turn.id)", "hint = 6 * 7; breakpoint()"])
def test_the_debugger_opens_where_the_bot_fails_or_asks_for_it(tmp_path, body):
    job, sources = make_job([CAREFUL, mischief(body), CAREFUL])
    outcome = play_match(job, sources)
    (fault,) = outcome["faults"]
    doc = finished_record(job, outcome)
    case = make_case(doc, 1, fault["turn"], times_of(doc, outcome, 1))
    folder = unpack(zip_of(case, sources, job, 1, fault["private"]), tmp_path)
    done = reproduce(folder, "--debug", typed="p hint, turn.id\nq\n")
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"(42, {fault['turn']})" in done.stdout, done.stdout + done.stderr


def test_a_bot_that_does_not_start_does_not_start_at_home(tmp_path):
    job, sources = make_job(["import sys\nsys.exit('no')\n", CAREFUL, CAREFUL])
    outcome = play_match(job, sources)
    doc = finished_record(job, outcome)
    case = make_case(doc, 0, 0, times_of(doc, outcome, 0))
    assert [line["type"] for line in case.lines] == ["hello"]
    done = reproduce(unpack(zip_of(case, sources, job, 0), tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fault crash: exited with status 1: no" in done.stdout


def test_a_sound_decision_gives_the_recorded_move_and_a_mended_bot_another(tmp_path):
    job, sources = make_job([RANDOM, CAREFUL], target=30)
    outcome = play_match(job, sources)
    doc = finished_record(job, outcome)
    turn = next(n for n, frame in enumerate(record.frames(doc)[0]) if frame["seat"] == 0 and n > 6)
    case = make_case(doc, 0, turn, times_of(doc, outcome, 0))
    assert case.expected == {"move": outcome["moves"][turn - 1]}
    folder = unpack(zip_of(case, sources, job, 0), tmp_path)
    assert folder.name == "reproducer"
    done = reproduce(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"here       {case.expected['move']}" in done.stdout and "differs" not in done.stdout
    mended = RANDOM.replace(
        b"turn.rng.choice(turn.legal)", b"next(m for m in turn.legal if m != %r)" % case.expected["move"]
    )
    (folder / "bot" / "bot.py").write_bytes(mended)
    done = reproduce(folder)
    assert done.returncode == 1 and "Not the same as recorded." in done.stdout


@pytest.mark.parametrize("turn", [0, 10**6, None])
def test_a_decision_that_was_not_the_seats_has_no_reproducer(turn):
    job, sources = make_job([CAREFUL, CAREFUL], target=30)
    outcome = play_match(job, sources)
    doc = finished_record(job, outcome)
    others = next(n for n, frame in enumerate(record.frames(doc)[0]) if frame["seat"] == 1)
    with pytest.raises(LookupError, match="expected"):
        make_case(doc, 0, others if turn is None else turn, times_of(doc, outcome, 0))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"\xff", "protocol"),
        (b"[1]", "protocol"),
        (b'{"id":true,"move":"d"}', "protocol"),
        (b'{"id":1,"move":7}', "illegal"),
        (b"[" * 100_000, "protocol"),
    ],
)
def test_the_script_judges_as_the_referee_does(line, kind):
    with pytest.raises(Fault) as caught:
        judge(line, {"id": 1, "legal": ["d"]})
    assert caught.value.kind == kind


def test_times_are_packed_small_and_come_back_the_same():
    costs = times.Times({n: 900 + n % 7 for n in range(3, 400, 4)}, [1, 77], Limits().to_json(), 12, 3400)
    packed = times.pack(costs)
    assert times.unpack(packed) == costs
    assert len(packed) < 350
    with pytest.raises(ValueError, match="format"):
        times.unpack(b"\x09")


def test_the_bank_is_full_again_with_each_process():
    limits = Limits(bank_s=1.0).to_json()
    costs = times.Times({1: 150_000, 5: 50_000, 9: 250_000, 13: 60_000}, [1, 9], limits)
    assert dict(costs.banks()) == {1: 0.9, 5: 0.9, 9: 0.8, 13: 0.79}
