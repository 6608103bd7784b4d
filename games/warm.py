"""Keep what a worker has started, so that nobody waits for a start: bots at people's tables, jails for bots to come.

Between their turns those bots are stopped (SIGSTOP): they think, and take processor time, only when it is their turn.
A bot that has gone, or whose table went on otherwise, is started again and given the hand so far. No Django.
"""

import logging
import signal
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from bots.process import SandboxError
from bots.sandbox import require
from bots.sandbox.spares import spares
from games.referee import Job, Match, kit_files

logger = logging.getLogger(__name__)

# Together they hold what `docs/operations.md` says that a worker of `answers` needs.
BOTS_MOST = 8
IDLE_S = 300.0
# As many as a match has seats at most.
SPARES = 4


class WarmTables:
    """The tables of one worker process, the one that was played at last at the end."""

    def __init__(self, *, bots_most: int = BOTS_MOST, idle_s: float = IDLE_S) -> None:
        self._bots_most, self._idle_s = bots_most, idle_s
        self._kept: OrderedDict[str, tuple[Match, float]] = OrderedDict()
        # What is not in `_kept` belongs to the main thread alone; the other one only takes out what was idle.
        self._changed = threading.Condition()
        self._sweeper: threading.Thread | None = None

    def play(self, job: Job, sources: Mapping[str, bytes]) -> dict[str, Any]:
        """Play on until a person must decide, as `play_match` does, with the bots that wait if they fit the job.

        Raises:
            SandboxError: our failure; nothing of it counts.
        """
        match = self._take(job)
        if match is not None:
            try:
                return self._play(match)
            except SandboxError as error:
                # While it waited somebody may have ended it: no reason to lose an attempt.
                logger.warning("warm bots failed, starting anew match=%s error=%s", job["match"], error)
        return self._play(Match(job, sources))

    def close(self) -> None:
        """Stop all bots that wait."""
        with self._changed:
            kept = [match for match, _ in self._kept.values()]
            self._kept.clear()
        for match in kept:
            match.close()

    def __len__(self) -> int:
        """Return how many tables wait."""
        return len(self._kept)

    def _take(self, job: Job) -> Match | None:
        """Return the match of a job, ready to be played on, if it waits here and its history agrees."""
        with self._changed:
            match, _ = self._kept.pop(job["match"], (None, 0.0))
        if match is None:
            return None
        has_gone_on = False
        try:
            has_gone_on = match.go_on(job)
        finally:
            if not has_gone_on:
                match.close()
        return match if has_gone_on else None

    def _play(self, match: Match) -> dict[str, Any]:
        try:
            match.play()
            if match.game.decision is not None:
                match.park()
            outcome = match.outcome()
        except BaseException:
            match.close()
            raise
        if match.alive and match.game.decision is not None:
            self._keep(match)
        else:
            match.close()
        return outcome

    def _keep(self, match: Match) -> None:
        """Keep a match, and let go of those that waited longest if there are too many bots."""
        dropped = []
        with self._changed:
            self._kept[match.job["match"]] = (match, time.monotonic())
            while len(self._kept) > 1 and sum(kept.alive for kept, _ in self._kept.values()) > self._bots_most:
                dropped.append(self._kept.popitem(last=False)[1][0])
            self._start_sweeper()
            self._changed.notify()
        for other in dropped:
            other.close()

    def _start_sweeper(self) -> None:
        if self._sweeper is not None:
            return
        self._sweeper = threading.Thread(target=self._sweep, name="idle tables", daemon=True)
        # A thread inherits what is blocked: a signal to stop is for the main thread, when that is ready for it.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self._sweeper.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _sweep(self) -> None:
        """Let go of whatever waits too long, for ever."""
        while True:
            with self._changed:
                while not self._kept:
                    self._changed.wait()
                code, (match, since) = next(iter(self._kept.items()))
                left_s = since + self._idle_s - time.monotonic()
                if left_s > 0:
                    self._changed.wait(left_s)
                    continue
                del self._kept[code]
            logger.info("idle table let go match=%s", code)
            match.close()


warm_tables = WarmTables()


def start_ahead() -> None:
    """Have jails wait for the bots of the next match, and wait until they do: between matches, when no bot thinks."""
    spares.fill(SPARES, files=kit_files(), mode=require())
