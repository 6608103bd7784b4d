"""BotProcess: what it asks, charges, tells apart, and leaves behind."""

import os
import select
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from bots import process
from bots.process import BotFault, BotProcess, Limits, Log, SandboxError, Wait, parse_object, queue_delays
from tests.live import children

GREETING = b"""
import json, os, sys, time
def turns():
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            print('{"type":"ready"}')
        elif message["type"] == "turn":
            yield message
def spin(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
def answer(message, **more):
    print(json.dumps({"id": message["id"], **more}))
"""
GOOD = GREETING + b"for turn in turns(): answer(turn, move=turn.get('legal', ['d'])[0])\n"
HELLO = {"type": "hello", "protocol": "soureh-bot/1"}

pytestmark = pytest.mark.usefixtures("sandbox")


def started(source: bytes, limits: Limits, **more: object) -> BotProcess:
    bot = BotProcess({"bot.py": source}, limits=limits, **more)  # type: ignore[arg-type]
    try:
        bot.start(HELLO)
    except BaseException:
        bot.close()
        raise
    return bot


def question(number: int) -> dict[str, object]:
    return {"type": "turn", "id": number}


@pytest.fixture
def good(limits: Limits) -> Iterator[BotProcess]:
    with started(GOOD, limits) as bot:
        yield bot


def fault_of(bot: BotProcess, number: int = 1) -> BotFault:
    with pytest.raises(BotFault) as caught:
        bot.ask(question(number), id=number)
    return caught.value


def test_bot_answers_what_it_was_asked(good: BotProcess) -> None:
    assert good.ask({"type": "turn", "id": 4, "legal": ["k2", "d"]}, id=4) == {"id": 4, "move": "k2"}
    good.tell({"type": "hand_end"})
    assert good.ask({"type": "turn", "id": 9, "legal": ["s21!"]}, id=9) == {"id": 9, "move": "s21!"}
    assert good.bank_s == 0.25


def test_files_lie_beside_the_bot_and_shadow_for_itself_alone(limits: Limits) -> None:
    files = {
        "bot.py": b"import random, pack.data\nassert random.MINE\n"
        + GREETING
        + b"for t in turns(): answer(t, x=pack.data.X)",
        "random.py": b"MINE = True",
        "pack/__init__.py": b"",
        "pack/data.py": b"X = open('/bot/pack/deep/x.txt').read()",
        "pack/deep/x.txt": b"seven",
    }
    with BotProcess(files, limits=limits) as bot, started(GOOD, limits) as other:
        bot.start(HELLO)
        assert bot.ask(question(1), id=1) == {"id": 1, "x": "seven"}
        assert other.ask(question(1), id=1) == {"id": 1, "move": "d"}


@pytest.mark.parametrize("name", ["../x.py", "/x.py", "a//b.py", "a/./b.py", ""])
def test_path_outside_the_folder_is_refused(name: str, limits: Limits) -> None:
    with BotProcess({"bot.py": GOOD, name: b""}, limits=limits) as bot, pytest.raises(ValueError, match="inside /bot"):
        bot.start(HELLO)


def test_traceback_is_the_authors_own(limits: Limits) -> None:
    source = GREETING + b"for turn in turns():\n    1 / 0\n"
    line = source.splitlines().index(b"    1 / 0") + 1
    with started(source, limits) as bot:
        fault = fault_of(bot)
        assert fault.kind == "crash"
        assert fault.reason == "exited with status 1"
        assert fault.detail == "exited with status 1: ZeroDivisionError: division by zero"
        assert f'  File "bot.py", line {line}, in <module>\n    1 / 0\n' in bot.stderr
        assert "boot" not in bot.stderr


def test_syntax_error_shows_its_place(limits: Limits) -> None:
    with BotProcess({"bot.py": b"x = 1\nx = (\n"}, limits=limits) as bot:
        with pytest.raises(BotFault, match="crash: exited with status 1"):
            bot.start(HELLO)
        assert '  File "bot.py", line 2\n    x = (\n' in bot.stderr


def test_crash_is_noticed_when_next_asked(limits: Limits) -> None:
    with started(GREETING + b"for turn in turns():\n    answer(turn)\n    sys.exit(0)\n", limits) as bot:
        assert bot.ask(question(1), id=1) == {"id": 1}
        bot.tell({"type": "hand_end"})
        fault = fault_of(bot, 2)
        assert (fault.kind, fault.reason) == ("crash", "exited with status 0")


def test_memory_limit_leaves_what_it_says(limits: Limits) -> None:
    enough = GREETING + b"hoard = bytearray(%d << 20)\nfor turn in turns(): answer(turn)\n" % limits.memory_mb
    with started(enough, limits) as bot:
        assert bot.ask(question(1), id=1) == {"id": 1}
    too_much = b"hoard = bytearray(%d << 20)\n" % (limits.memory_mb + 32)
    with pytest.raises(BotFault, match=f"memory: MemoryError, with memory_mb {limits.memory_mb}"):
        started(too_much, limits)


# The clocks


def test_free_time_costs_nothing_and_the_rest_the_bank(limits: Limits) -> None:
    source = GREETING + b"for turn in turns():\n    spin(turn['spin'])\n    answer(turn)\n"
    with started(source, limits) as bot:
        bot.ask({"type": "turn", "id": 1, "spin": 0.02}, id=1)
        assert bot.bank_s == 0.25
        bot.ask({"type": "turn", "id": 2, "spin": 0.15}, id=2)
        assert 0.10 < bot.bank_s < 0.151


@pytest.mark.parametrize(
    ("limits", "reason", "figures"),
    [
        (Limits(move_s=0.2, bank_s=20.0), "move_s ran out", "s of CPU (move_s 0.2), 20.000 s left in the bank"),
        (Limits(move_s=20.0, bank_s=0.1), "bank_s ran out", "s of CPU (move_s 20), 0.100 s left in the bank"),
        (Limits(move_s=1.0, bank_s=0.0), "bank_s ran out", "s of CPU (move_s 1), 0.000 s left in the bank"),
    ],
    ids=["move", "bank", "no bank"],
)
def test_busy_bot_runs_out_of_its_cpu_time(limits: Limits, reason: str, figures: str) -> None:
    with started(GREETING + b"for turn in turns():\n    spin(60)\n", limits) as bot:
        fault = fault_of(bot)
    assert (fault.kind, fault.reason) == ("timeout", reason)
    assert fault.detail.endswith(figures)


def test_thinking_off_turn_is_charged_to_the_next_decision(limits: Limits) -> None:
    source = GREETING + b"for turn in turns():\n    answer(turn)\n    sys.stdin.readline()\n    spin(0.15)\n"
    with started(source, limits) as bot:
        bot.ask(question(1), id=1)
        assert bot.bank_s == 0.25
        bot.tell({"type": "news"})
        bot.ask(question(2), id=2)
        assert 0.10 < bot.bank_s < 0.16


def test_sleeper_runs_into_wall_s_with_both_figures(limits: Limits) -> None:
    with started(GREETING + b"for turn in turns():\n    time.sleep(600)\n", limits) as bot:
        fault = fault_of(bot)
    assert (fault.kind, fault.reason) == ("timeout", "wall_s ran out")
    assert "0.8 s, " in fault.detail
    assert "(move_s 0.3), 0.250 s left in the bank" in fault.detail


def test_stopped_bot_runs_into_wall_s(good: BotProcess) -> None:
    assert good._jail is not None
    os.kill(good._jail.pid, signal.SIGSTOP)
    assert fault_of(good).reason == "wall_s ran out"


def test_match_deadline_ends_a_wait(limits: Limits) -> None:
    source = GREETING + b"for turn in turns():\n    time.sleep(600)\n"
    with started(source, limits) as bot:
        # Only now: however long the start took, it is the wait for the answer that the deadline ends.
        bot._deadline = time.monotonic() + 0.2
        fault = fault_of(bot)
    assert (fault.kind, fault.reason) == ("timeout", "match_wall_s ran out")


def test_match_deadline_spares_who_has_not_used_his_share(limits: Limits) -> None:
    source = GREETING + b"for turn in turns():\n    time.sleep(0.4)\n    answer(turn)\n"
    with started(source, limits, share_s=1.1) as bot:
        # The others have used up the match's time: it is over before the first question.
        bot._deadline = time.monotonic()
        assert bot.ask(question(1), id=1) == {"id": 1}
        assert bot.ask(question(2), id=2) == {"id": 2}
        fault = fault_of(bot, 3)
    assert (fault.kind, fault.reason) == ("timeout", "match_wall_s ran out")
    assert "its share is 1.1 s of the 60 s for the match" in fault.detail


def test_answers_to_others_are_no_part_of_a_share(limits: Limits) -> None:
    source = GREETING + b"for turn in turns():\n    time.sleep(0.1)\n    answer(turn)\n"
    with started(source, limits, share_s=0.8) as bot:
        bot._deadline = time.monotonic()
        assert bot.ask(question(1), id=1) == {"id": 1}
        # What the others take: it is the clock itself that is looked at.
        time.sleep(0.8)
        assert bot.ask(question(2), id=2) == {"id": 2}


@contextmanager
def crowd(size: int) -> Iterator[None]:
    """Keep the processor busy with others, each in a session of its own as the scheduler may share by session."""
    spinner = ["python3", "-c", "while True: pass"]
    pids = [os.posix_spawn("/usr/bin/python3", spinner, {}, setsid=True) for _ in range(size)]
    try:
        while min(time.clock_gettime((~pid << 3) | 2) for pid in pids) < 0.05:
            os.sched_yield()
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


@contextmanager
def one_core() -> Iterator[int]:
    """Keep this process, and what it starts, to one core, as a worker's slot is."""
    allowed = os.sched_getaffinity(0)
    core = min(allowed)
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, allowed)


def test_seven_others_on_its_core_never_cost_a_bot_its_time() -> None:
    limits = Limits(start_s=0.25, move_s=0.2, wall_s=0.25)
    think_s = 0.6 * limits.move_s
    source = GREETING + b"spin(%f)\nfor turn in turns():\n    spin(%f)\n    answer(turn)\n" % (think_s, think_s)
    with one_core(), crowd(7):
        began = time.monotonic()
        with started(source, limits, share_s=2 * limits.move_s) as bot:
            assert time.monotonic() - began > 2 * limits.start_s
            # The match's time is up as well: two turns are within the bot's share if its own time alone counts.
            bot._deadline = time.monotonic()
            for number in (1, 2):
                asked = time.monotonic()
                assert bot.ask(question(number), id=number) == {"id": number}
                assert time.monotonic() - asked > 2 * limits.wall_s
    assert bot.bank_s == pytest.approx(20 - 2 * (think_s - 0.05), abs=0.03)


def test_bot_runs_on_the_core_of_its_worker(limits: Limits) -> None:
    with one_core() as core, started(GOOD, limits) as bot:
        assert bot._jail is not None
        assert os.sched_getaffinity(bot._jail.pid) == {core}


def test_wait_takes_the_unknown_beginning_off() -> None:
    wait = Wait(os.getpid(), asked=100.0)
    wait.mark(100.02, 7.0)
    waited_s, delay_s = wait.waited_s(101.0, 7.0)
    assert 0.019 < delay_s < 0.5
    assert waited_s + delay_s == pytest.approx(1.0)


def test_queue_delay_of_nobody_is_nothing() -> None:
    assert queue_delays(2**22 + 1) == {}


def test_delay_is_the_longest_of_any_thread_and_none_of_the_time_in_which_one_ran(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "queue_delays", lambda _pid: dict(delays))
    delays = {"1": 5 * 10**9, "2": 10**9}
    wait = Wait(1, asked=100.0)
    wait.mark(100.0, 2.0)
    # Two that waited meanwhile, and one that is new.
    delays |= {"1": int(5.2e9), "2": int(1.5e9), "3": 3 * 10**8}
    assert wait.waited_s(101.0, 2.1) == pytest.approx((0.5, 0.5))
    assert wait.waited_s(101.0, 2.9) == pytest.approx((0.9, 0.1))
    # On several cores at once more is used than passes.
    assert wait.waited_s(101.0, 9.0) == pytest.approx((1.0, 0.0))


def test_kernels_cpu_limit_is_the_bots_timeout() -> None:
    tight = Limits(start_s=0.2, match_wall_s=0.05, move_s=50.0, bank_s=50.0)
    assert tight.cpu_s == 1
    source = (
        b"import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n" + GREETING + b"for t in turns(): spin(60)\n"
    )
    with started(source, tight) as bot:
        fault = fault_of(bot)
    assert (fault.kind, fault.reason) == ("timeout", "CPU limit ran out")


# Ours or the bot's


def test_kill_from_outside_is_the_platforms_failure(good: BotProcess) -> None:
    assert good._jail is not None
    os.kill(good._jail.pid, signal.SIGKILL)
    with pytest.raises(SandboxError, match="killed from outside by SIGKILL"):
        for number in range(1, 10_000):
            good.ask(question(number), id=number)


def test_killed_bwrap_is_the_platforms_failure(good: BotProcess) -> None:
    assert good._jail is not None
    os.kill(good._jail._process.pid, signal.SIGKILL)
    # The bot dies right after its jail, not at the same instant: it may still answer once or twice.
    with pytest.raises(SandboxError, match="bwrap was ended by SIGKILL"):
        for number in range(1, 10_000):
            good.ask(question(number), id=number)


def test_unread_messages_wait_without_blocking_and_have_an_end(limits: Limits) -> None:
    with started(GREETING + b"next(turns())\ntime.sleep(600)\n", limits) as bot:
        # One that blocked would wait for as long as the bot sleeps.
        for _ in range(100):
            bot.tell({"type": "news", "pad": "x" * 100_000})
        assert fault_of(bot).reason == "does not read its input"


def test_late_reader_gets_everything_in_order(limits: Limits) -> None:
    source = (
        GREETING
        + b"""
read = 0
next_line = sys.stdin.readline
next_line(); print('{"type":"ready"}')
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "turn":
        answer(message, read=read)
    else:
        assert message["no"] == read
        read += 1
"""
    )
    with started(source, Limits()) as bot:
        for number in range(30):
            bot.tell({"type": "news", "no": number, "pad": "x" * 50_000})
        assert bot.ask(question(1), id=1) == {"id": 1, "read": 30}


# What is left behind


def held() -> tuple[int, list[int]]:
    """Return how many descriptors this process holds, and its children."""
    return len(os.listdir("/proc/self/fd")), children(os.getpid())


def test_fifty_bots_leave_no_descriptor_and_no_process(limits: Limits) -> None:
    before = held()
    for number in range(50):
        source = GOOD if number % 2 else b"raise ValueError\n"
        with BotProcess({"bot.py": source}, limits=limits) as bot:
            if number % 2:
                bot.start(HELLO)
                bot.ask(question(1), id=1)
            else:
                with pytest.raises(BotFault):
                    bot.start(HELLO)
    assert held() == before


def test_close_kills_and_may_be_repeated(limits: Limits) -> None:
    bot = started(
        b"import signal\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n    except OSError: pass\n"
        + GOOD,
        limits,
    )
    assert bot._jail is not None
    pid = bot._jail.pid
    bot.close()
    bot.close()
    assert not os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize("is_up", [False, True], ids=["at once", "when it is up"])
def test_bot_that_was_prepared_and_not_wanted_leaves_nothing(is_up: bool, limits: Limits) -> None:
    before = held()
    with BotProcess({"bot.py": GOOD}, limits=limits) as bot:
        bot.prepare()
        starting = bot._starting
        assert starting is not None
        if is_up:
            # Its boot script waits for its orders.
            assert select.select([starting._mark], [], [], 10)[0]
    assert held() == before
    with pytest.raises(RuntimeError, match="started once"):
        bot.prepare()


def test_bots_that_come_up_together_are_each_its_own(limits: Limits) -> None:
    bots = [
        BotProcess({"bot.py": GREETING + b"for t in turns(): answer(t, no=%d)" % no}, limits=limits) for no in (1, 2)
    ]
    try:
        for bot in bots:
            bot.prepare()
        for bot in bots:
            bot.greet(HELLO)
        for bot in reversed(bots):
            bot.await_ready()
        assert [bot.ask(question(5), id=5)["no"] for bot in bots] == [1, 2]
    finally:
        for bot in bots:
            bot.close()


def test_close_before_start_is_fine(limits: Limits) -> None:
    bot = BotProcess({"bot.py": GOOD}, limits=limits)
    bot.close()
    assert bot.stderr == ""


def test_log_is_read_to_its_end_when_the_bot_is_closed(limits: Limits) -> None:
    with started(
        GREETING + b"for t in turns():\n    answer(t)\n    print('last words', file=sys.stderr)\n", limits
    ) as bot:
        bot.ask(question(1), id=1)
        bot.ask(question(2), id=2)
    assert "last words" in bot.stderr


def test_bot_is_let_end_with_time_to_log_and_no_more_than_that(limits: Limits) -> None:
    source = GREETING + b"for t in turns(): answer(t)\n%s\nprint('last words', file=sys.stderr)\ntime.sleep(%d)\n"
    for last, stays, granted_s in ((b"spin(0.1)", 0, 60.0), (b"pass", 600, 1.0)):
        with started(source % (last, stays), limits) as bot:
            bot.tell({"type": "bye"})
            until = time.monotonic() + granted_s
            bot.let_end(until)
            assert (time.monotonic() < until) == (stays == 0)
        assert bot.stderr == "last words\n"


def test_bot_that_never_ran_is_let_end_at_once(limits: Limits) -> None:
    bot = BotProcess({"bot.py": GOOD}, limits=limits)
    bot.let_end(time.monotonic() + 60)
    assert bot.stderr == ""


def test_bots_are_started_from_the_main_thread_only(limits: Limits) -> None:
    seen: list[BaseException] = []

    def attempt() -> None:
        try:
            BotProcess({"bot.py": GOOD}, limits=limits).start(HELLO)
        except RuntimeError as error:
            seen.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    assert [str(error) for error in seen] == ["expected to be called from the main thread"]


# Without a bot


def test_log_keeps_head_and_tail() -> None:
    log = Log()
    log.add(b"first " + b"a" * 40_000)
    for _ in range(10):
        log.add(b"b" * 40_000)
    log.add("last é".encode()[:-1])
    text = log.text()
    assert text.startswith("first aaa")
    assert text.endswith("blast \ufffd")
    assert f"[… {log.length - 65536} bytes left out …]" in text
    assert len(text) < 65536 + 60


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":4,"move":"k2"}',
        b' { "id" : 4 , "move" : "k2" } \r',
        b'{"id":4,"note":"\\u00e9\\\\u0000 \\ud83d\\ude00","x":[1.5e3,null,{"a":{}}]}',
        b'{"id":4,"n":-9223372036854775808}',
        '{"id":4,"é":"日本"}'.encode(),
    ],
)
def test_right_json_is_taken(line: bytes) -> None:
    assert parse_object(line)["id"] == 4


@pytest.mark.parametrize(
    "line",
    [
        *(
            b'{"id":4,"x":%s}' % text
            for text in (
                b"NaN",
                b"-Infinity",
                b"1e999",
                b"9" * 19,
                b"-9223372036854775809",
                b"01",
                b"+1",
                b".5",
                b"0x1",
            )
        ),
        *(
            b'{"id":4,"x":"%s"}' % text
            for text in (
                b"\\ud800",
                b"\\udc00\\ud800",
                b"\\u0000",
                b"\\\\\\u0000",
                b"\0",
                b"\xed\xa0\x80",
                b"\xff",
                b"\n",
                b"\\x",
            )
        ),
        b'{"id":4,"id":4}',
        b'{"id":4,"\\u0069d":4}',
        b'{"id":4,"x":[{"a":1,"b":2,"a":1}]}',
        b'{"id":4,"x":' + b"[" * 1500 + b"]" * 1500 + b"}",
        b'{"id":4}x',
        b'{"id":4',
        b"[4]",
        b'"id"',
        b"4",
        b"null",
        b"",
        b"\xef\xbb\xbf{}",
    ],
    ids=lambda line: ascii(line)[2:40],
)
def test_wrong_json_is_a_protocol_fault_that_shows_it(line: bytes) -> None:
    with pytest.raises(BotFault) as caught:
        parse_object(line)
    assert caught.value.kind == "protocol"
    assert len(caught.value.detail) < 500


def test_limits_go_through_json_and_refuse_nonsense() -> None:
    limits = Limits(move_s=0.5, memory_mb=64)
    assert limits.wall_s == 3.0
    assert Limits.from_json(limits.to_json()) == limits
    assert Limits.from_json({}) == Limits()
    assert Limits().to_json() == {
        "start_s": 5.0, "move_s": 1.0, "bank_s": 20.0, "wall_s": 5.0, "match_wall_s": 600.0, "memory_mb": 256
    }  # fmt: skip
    assert Limits(bank_s=0).bank_s == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"move_s": 0},
        {"move_s": -1.0},
        {"bank_s": float("inf")},
        {"wall_s": float("nan")},
        {"memory_mb": 1.5},
        {"start_s": "5"},
        {"memory_mb": True},
    ],
    ids=str,
)
def test_limits_refuse_what_is_no_limit(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Limits.from_json(wrong)
