"""Stop a worker's job in an orderly way: SIGTERM interrupts what is played and nothing else. No Django."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

TERM = {signal.SIGTERM}


class Stopped(BaseException):
    """The worker is to stop: what it plays is nobody's failure, and is to be played elsewhere."""


def hold_off() -> None:
    """Keep SIGTERM pending until the next `stoppable` block, so that it cuts neither a report nor a start short."""
    signal.pthread_sigmask(signal.SIG_BLOCK, TERM)


@contextmanager
def stoppable() -> Iterator[None]:
    """Have SIGTERM, one that is pending too, raise Stopped while the block runs; at most once. Main thread only."""

    def stop(*_: object) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Stopped

    mask = signal.pthread_sigmask(signal.SIG_BLOCK, TERM)
    handler = signal.signal(signal.SIGTERM, stop)
    try:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, TERM)
            yield
        finally:
            # Stopped may be raised in this very call: the outer block is what no signal interrupts any more.
            signal.pthread_sigmask(signal.SIG_BLOCK, TERM)
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, TERM)
        signal.signal(signal.SIGTERM, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
