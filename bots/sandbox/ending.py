"""How a bot's process ended. The standard library only."""

import signal
from dataclasses import dataclass


@dataclass(frozen=True)
class Ending:
    """Either `status` (0 to 127) or `signal` is set. `cpu_s` is all it used, though not in mode B of the jail.

    `is_out_of_memory`: the kernel killed it at its own cgroup's limit.
    """

    status: int | None
    signal: int | None
    cpu_s: float
    is_out_of_memory: bool = False


def signal_name(number: int) -> str:
    """Return `SIGSEGV` for 11, and `signal 35` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
