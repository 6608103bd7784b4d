"""What the tests of the sandbox have in common: its modes, and that nothing of a worker outlives it."""

import os
import select
import subprocess
import time
from collections.abc import Sequence

# In mode B every bot has a uid of its own, which only root can give it.
MODES = ["A", "B"] if os.geteuid() == 0 else ["A"]


def assert_die_with(worker: "subprocess.Popen[str]", processes: Sequence[int], *, count: int) -> None:
    """Kill a worker and check that its `count` processes, by their pidfds, end with it; closes those."""
    worker.kill()
    worker.wait()
    try:
        assert len(processes) == count
        died_by = time.monotonic() + 5
        for process in processes:
            assert select.select([process], [], [], died_by - time.monotonic())[0], "a bot outlived its worker"
    finally:
        for process in processes:
            os.close(process)
