"""One bot as a process that answers JSON lines (formats.md, section 2).

`BotProcess` knows the clocks and the faults and nothing of the game. What the bot did wrong is a
`BotFault`; what the platform did wrong is a `SandboxError`, and the two are never mixed up. Used
from the process's main thread only. Never imports Django.
"""

import math
import os
import select
import signal
import threading
import time
from collections.abc import Mapping
from typing import Any

from bots.faults import FAULT_KINDS, FLOOD, SHOWN, BotFault, Log, flood_fault, protocol_fault, single_line
from bots.lines import encode, parse_object
from bots.sandbox import launcher, spares
from bots.sandbox.boot import EXIT_MEMORY
from bots.sandbox.ending import Ending, signal_name
from bots.sandbox.errors import SandboxError
from bots.sandbox.limits import Limits
from bots.sandbox.probing import require

__all__ = ["FAULT_KINDS", "BotFault", "BotProcess", "Limits", "SandboxError"]

STDERR_MAX = 8 << 20
# What a bot may leave unread before it counts as not reading at all.
UNREAD_MAX = 4 << 20
FREE_CPU_S = 0.05
FIRST_LOOK_S = 0.02
# The end of a process closes its pipes a moment before it can be reaped.
ENDING_S = 2.0


class Wait:
    """One wait for a line: what wall-clock time has passed, less what the process waited for a processor.

    Threads of one process that wait for each other are not kept waiting by the host: it is the thread that waited
    longest that counts, and never the time in which any of them ran.
    """

    def __init__(self, pid: int, *, asked: float) -> None:
        self.pid, self.asked = pid, asked
        self.look_at = 0.0
        self._delays: dict[str, int] | None = None
        self._marked_at = self._cpu_mark = 0.0

    def mark(self, now: float, cpu_s: float) -> None:
        """Read the queue delays for the first time; `cpu_s` is what the process has used of CPU, ever.

        When the question went out nobody did, it would cost every quick answer dear: so all the
        time up to here counts as delay, in the bot's favour.
        """
        if self._delays is None:
            self._delays, self._marked_at, self._cpu_mark = queue_delays(self.pid), now, cpu_s

    def waited_s(self, now: float, cpu_s: float) -> tuple[float, float]:
        """Return the time that counts, and the delay that was taken off."""
        assert self._delays is not None
        delays = queue_delays(self.pid).items()
        longest_s = max((delay - self._delays.get(thread, 0) for thread, delay in delays), default=0) / 1e9
        idle_s = now - self._marked_at - (cpu_s - self._cpu_mark)
        delay_s = self._marked_at - self.asked + max(0.0, min(longest_s, idle_s))
        return now - self.asked - delay_s, delay_s


class BotProcess:
    """A bot in its jail. `bank_s` is what is left of its CPU bank, `answer_us` the CPU that its last answer took.

    Both are exact to the microsecond, so that whoever knows the answers' times knows the bank.
    """

    def __init__(
        self, files: Mapping[str, bytes], *, limits: Limits, deadline: float | None = None, share_s: float = 0.0
    ) -> None:
        """`files` maps paths inside /bot to contents, with "bot.py" the entry.

        `deadline` is monotonic. Who let others wait pays for it: a bot that has taken less than `share_s`
        of the match itself may go on after the deadline until it has.
        """
        self.limits = limits
        self.bank_s = float(limits.bank_s)
        self.answer_us = 0
        self._files = files
        self._deadline = math.inf if deadline is None else deadline
        self._share_s = share_s
        self._taken_s = 0.0
        self._starting: launcher.Start | None = None
        self._jail: launcher.Jail | None = None
        self._is_started = False
        self._log = Log()
        self._unsent = bytearray()
        self._is_deaf = False
        self._is_ready = False
        self._cpu_mark = 0.0
        self._ended_cpu_s: float | None = None

    def __enter__(self) -> "BotProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def stderr(self) -> str:
        """The bot's log so far: its beginning and its end, with a mark where something was left out."""
        return self._log.text()

    def pending_us(self) -> int:
        """Return the CPU microseconds since the last answer: of a bot that faulted, those that it was faulted for."""
        if self._jail is None:
            return 0
        # One that ended is asked no more; what the kernel summed up may lack a moment that the mark has.
        now = self._cpu_s() if self._ended_cpu_s is None else self._ended_cpu_s
        return max(0, round((now - self._cpu_mark) * 1e6))

    def prepare(self) -> None:
        """Let the jail come up, beside those of others, until `greet`.

        Raises:
            SandboxError: it cannot.
        """
        if self._is_started:
            raise RuntimeError("a bot process is started once")
        if threading.current_thread() is not threading.main_thread():
            # A bot dies with the thread that started it.
            raise RuntimeError("expected to be called from the main thread")
        self._is_started = True
        self._starting = spares.begin(self._files, limits=self.limits, mode=require())

    def start(self, hello: Mapping[str, Any]) -> None:
        """Start the bot, greet it and await its `{"type":"ready"}`.

        Raises:
            BotFault: start, crash, memory, output, protocol or violation.
            SandboxError: the jail did not come up.
        """
        self.greet(hello)
        self.await_ready()

    def greet(self, hello: Mapping[str, Any]) -> None:
        """Start the bot, if it was not prepared, and send it its first message. Raises SandboxError."""
        if self._starting is None:
            self.prepare()
        assert self._starting is not None
        starting, self._starting = self._starting, None
        jail = self._jail = starting.finish()
        # clock_getcpuclockid(3): the CPU clock of all threads of a process.
        self._cpu_clock = (~jail.pid << 3) | 2
        self._poller = select.poll()
        self._poller.register(jail.stdout, select.POLLIN)
        self._poller.register(jail.stderr, select.POLLIN)
        self.tell(hello)

    def await_ready(self) -> None:
        """Await the answer to the greeting. Raises BotFault as `start` does."""
        line = self._read_line()
        ready = parse_object(line)
        if ready.get("type") != "ready":
            raise protocol_fault('expected {"type":"ready"}', line)
        self._cpu_mark = self._cpu_s()
        self._is_ready = True

    def ask(self, message: Mapping[str, Any], *, id: int) -> dict[str, Any]:
        """Send a question and return the answer: one JSON object whose "id" is `id`.

        Raises:
            BotFault: timeout, protocol, crash, memory, output or violation.
            SandboxError: the bot was ended from outside.
        """
        self._refuse_early_words()
        self.tell(message)
        line = self._read_line()
        self._charge()
        answer = parse_object(line)
        found = answer.get("id")
        if type(found) is not int or found != id:
            raise protocol_fault(f"expected an answer with id {id}", line)
        return answer

    def require_within_clocks(self) -> None:
        """Look at what the bot has used since its last answer, as `ask` would: for one that is asked no more.

        Raises:
            BotFault: timeout.
        """
        self._refuse_overuse(self._cpu_s() - self._cpu_mark)

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message that wants no answer. Never blocks; what the bot does not read waits in memory."""
        assert self._jail is not None
        line = encode(message)
        if not self._unsent:
            try:
                sent = os.write(self._jail.stdin, line)
            except BlockingIOError:
                sent = 0
            except BrokenPipeError:
                # It closed its input or ended: seen when it is next asked.
                return
            if sent == len(line):
                return
            line = line[sent:]
            self._poller.register(self._jail.stdin, select.POLLOUT)
        if len(self._unsent) + len(line) > UNREAD_MAX:
            self._is_deaf = True
            return
        self._unsent += line

    def let_end(self, until: float) -> None:
        """Give a bot to which all has been told its time to end, until `until` (monotonic), and take what it logs.

        Raises:
            BotFault: output.
        """
        if self._jail is None:
            return
        if not self._unsent:
            self._jail.end_input()
        while (left_s := until - time.monotonic()) > 0:
            for fd, event in self._poller.poll(left_s * 1000):
                if fd != self._jail.stdout:
                    self._attend(fd, event)
                elif not os.read(fd, FLOOD):
                    return

    def park(self) -> None:
        """Stop the bot where it stands, until `unpark`: it takes no processor time from anybody."""
        if self._jail is not None:
            self._jail.send(signal.SIGSTOP)
            self._log.drain(self._jail.stderr)

    def unpark(self) -> None:
        """Let a parked bot go on. `stderr` is what it writes from here on; its clocks and its bank are as they were.

        It may have ended meanwhile: that is seen when it is next asked.
        """
        self._log = Log(self._log.length)
        if self._jail is not None:
            self._jail.send(signal.SIGCONT)

    def close(self) -> None:
        """End the bot and free all that it held; what it said last is still in `stderr`."""
        if self._starting is not None:
            starting, self._starting = self._starting, None
            starting.abandon()
        if self._jail is None:
            return
        jail, self._jail = self._jail, None
        try:
            jail.kill()
            self._log.drain(jail.stderr)
        finally:
            jail.close()

    # Reading

    def _refuse_early_words(self) -> None:
        """Fault a bot that said something, or ended, before it was asked."""
        assert self._jail is not None
        if self._is_deaf:
            raise BotFault("timeout", "does not read its input", f"{len(self._unsent)} bytes lay unread")
        for fd, event in self._poller.poll(0):
            if fd != self._jail.stdout:
                self._attend(fd, event)
                continue
            words = os.read(fd, FLOOD)
            if not words:
                raise self._ending()
            if len(words) == FLOOD:
                raise flood_fault(words)
            raise protocol_fault("an answer before the question", words)

    def _read_line(self) -> bytes:
        """Return the bot's next line, without its newline, within what the clocks grant."""
        assert self._jail is not None
        stdout = self._jail.stdout
        asked = time.monotonic()
        wait: Wait | None = None
        words = b""
        wait_ms = FIRST_LOOK_S * 1000
        while True:
            for fd, event in self._poller.poll(wait_ms):
                if fd != stdout:
                    self._attend(fd, event)
                    continue
                chunk = os.read(fd, FLOOD)
                if not chunk:
                    raise self._ending()
                words += chunk
                if chunk[-1] == 10 or b"\n" in chunk or len(words) >= FLOOD:
                    self._count(wait)
                    return single_line(words)
            wait = wait or Wait(self._jail.pid, asked=asked)
            wait_ms = self._look(wait)

    def _attend(self, fd: int, event: int) -> None:
        """Take what the bot logs, or send what it had not read yet."""
        assert self._jail is not None
        if fd == self._jail.stderr:
            if not self._log.drain(fd):
                self._poller.unregister(fd)
            if self._log.length > STDERR_MAX:
                raise BotFault("output", "flooded its log", f"more than {STDERR_MAX} bytes on stderr")
            return
        try:
            del self._unsent[: os.write(fd, self._unsent)]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent.clear()
        if not self._unsent:
            self._poller.unregister(fd)

    # The clocks

    def _cpu_s(self) -> float:
        try:
            return time.clock_gettime(self._cpu_clock)
        except OSError:
            # It ended after its answer and is gone: there is nobody left to charge, and the end
            # itself is seen when it is next asked.
            return self._cpu_mark

    def _charge(self) -> None:
        now = self._cpu_s()
        used = round(now - self._cpu_mark, 6)
        if used > FREE_CPU_S:
            self._refuse_overuse(used)
            self.bank_s = round(self.bank_s - (used - FREE_CPU_S), 6)
        self._cpu_mark, self.answer_us = now, round(used * 1e6)

    def _refuse_overuse(self, used: float) -> None:
        if used > self.limits.move_s:
            raise BotFault("timeout", "move_s ran out", f"move_s ran out: {self._cpu_figures(used)}")
        if used - FREE_CPU_S > self.bank_s:
            raise BotFault("timeout", "bank_s ran out", f"bank_s ran out: {self._cpu_figures(used)}")

    def _cpu_figures(self, used: float) -> str:
        return f"{used:.3f} s of CPU (move_s {self.limits.move_s:g}), {self.bank_s:.3f} s left in the bank"

    def _look(self, wait: Wait) -> float:
        """Return in how many milliseconds to look again for a line that has not come yet.

        Raises:
            BotFault: a clock ran out.
        """
        now, cpu_s = time.monotonic(), self._cpu_s()
        wait.mark(now, cpu_s)
        used = cpu_s - self._cpu_mark
        cpu_left = math.inf
        if self._is_ready:
            self._refuse_overuse(used)
            cpu_left = min(self.limits.move_s, self.bank_s + FREE_CPU_S) - used
        match_left = self._deadline - now
        if match_left <= 0:
            match_left = self._share_left(wait, now, used)
        if now >= wait.look_at:
            wait.look_at = now + self._wall_left(wait, now, used)
        return max(1.0, min(wait.look_at - now, match_left, cpu_left) * 1000)

    def _count(self, wait: Wait | None) -> None:
        """Add a wait that is over to what this bot has taken of the match; quick answers and its start are free."""
        if wait is not None and self._is_ready:
            self._taken_s += wait.waited_s(time.monotonic(), self._cpu_s())[0]

    def _share_left(self, wait: Wait, now: float, used: float) -> float:
        """Return for how long the bot may still be waited for although the match's time is up."""
        taken_s = self._taken_s + wait.waited_s(now, self._cpu_mark + used)[0]
        if taken_s >= self._share_s:
            limits = f"{self._share_s:g} s of the {self.limits.match_wall_s:g} s for the match"
            raise self._late("match_wall_s", f"{taken_s:.3f} s taken, its share is {limits}", used)
        return self._share_s - taken_s

    def _wall_left(self, wait: Wait, now: float, used: float) -> float:
        name = "wall_s" if self._is_ready else "start_s"
        limit_s: float = getattr(self.limits, name)
        waited_s, delay_s = wait.waited_s(now, self._cpu_mark + used)
        if waited_s >= limit_s:
            figures = f"{waited_s:.3f} s of {limit_s:g} s, {delay_s:.3f} s of waiting for a processor taken off"
            raise self._late(name, figures, used)
        return limit_s - waited_s

    def _late(self, name: str, figures: str, used: float) -> BotFault:
        kind = "timeout" if self._is_ready else "start"
        return BotFault(kind, f"{name} ran out", f"{name} ran out: {figures}; {self._cpu_figures(used)}")

    # The end

    def _ending(self) -> Exception:
        """Return what to raise for a bot that ended: its fault, or the platform's failure."""
        assert self._jail is not None
        ending = self._jail.wait(ENDING_S)
        self._log.drain(self._jail.stderr)
        self._ended_cpu_s = ending.cpu_s if ending else None
        if ending is None:
            # bwrap holds the other end as well: no bot can bring this about by closing its own.
            return SandboxError("bwrap closed the bot's output and lives on")
        if ending.signal is not None:
            return self._killed(ending)
        if ending.status == EXIT_MEMORY:
            return BotFault("memory", "out of memory", f"MemoryError, with memory_mb {self.limits.memory_mb}")
        return self._crash(f"exited with status {ending.status}")

    def _crash(self, reason: str) -> BotFault:
        last_words = self.stderr.strip().rpartition("\n")[2][:SHOWN]
        return BotFault("crash", reason, f"{reason}: {last_words}" if last_words else reason)

    def _killed(self, ending: Ending) -> Exception:
        number, cpu_s = ending.signal, ending.cpu_s
        assert number is not None
        if number == signal.SIGSYS:
            return BotFault("violation", "made a forbidden system call", "killed by SIGSYS, the seccomp filter")
        if ending.is_out_of_memory:
            return BotFault("memory", "out of memory", f"killed at its limit, with memory_mb {self.limits.memory_mb}")
        name = signal_name(number)
        # The kernel's own CPU limit kills by SIGKILL; anybody else's is the host's doing. It counts in ticks, and so
        # by far less exactly than what is told here; no bot within its clocks comes near the half of it.
        if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu_s >= self.limits.cpu_s / 2):
            return BotFault("timeout", "CPU limit ran out", f"{cpu_s:.1f} s of CPU in all ({name})")
        if number == signal.SIGKILL:
            return SandboxError("the bot was killed from outside by SIGKILL")
        return self._crash(f"killed by {name}")


def queue_delays(pid: int) -> dict[str, int]:
    """Return how many nanoseconds each thread of a process has waited for a processor; none if the kernel is silent."""
    delays: dict[str, int] = {}
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return delays
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as file:
                delays[thread] = int(file.read().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            # The thread ended meanwhile, or this kernel keeps no such figures.
            continue
    return delays
