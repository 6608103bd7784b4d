"""Start each bot when it is wanted. Stands in for `bots.sandbox.spares`."""

from __future__ import annotations

from collections.abc import Mapping

from bots.sandbox.launcher import Start
from bots.sandbox.limits import Limits


def begin(files: Mapping[str, bytes], *, limits: Limits, mode: str) -> Start:
    """Return a bot on its way up. Raises SandboxError as `Start` does."""
    return Start(files, limits=limits, mode=mode)
