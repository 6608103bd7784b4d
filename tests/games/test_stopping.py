"""SIGTERM interrupts what is played, once, and nothing beside it."""

import os
import signal
from collections.abc import Iterator

import pytest

from games.stopping import TERM, Stopped, hold_off, stoppable


@pytest.fixture(autouse=True)
def _mask() -> Iterator[None]:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, set())
    handler = signal.getsignal(signal.SIGTERM)
    yield
    assert signal.getsignal(signal.SIGTERM) == handler
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def test_signal_outside_a_block_waits_for_it():
    hold_off()
    stop()
    assert signal.sigpending() == TERM
    with pytest.raises(Stopped), stoppable():
        raise AssertionError("expected the pending signal first")
    assert not signal.sigpending() & TERM
    assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) >= TERM


def test_second_signal_does_not_interrupt_the_cleaning_up():
    hold_off()
    cleaned = False
    with pytest.raises(Stopped), stoppable():
        try:
            stop()
        finally:
            stop()
            cleaned = True
    assert cleaned


def test_block_without_a_signal_leaves_everything_as_it_was():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, set())
    with stoppable():
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, set()) & TERM
    assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) == before
