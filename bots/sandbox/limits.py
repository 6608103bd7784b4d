"""What one bot may use: clocks, memory, and the kernel's limits that follow from them."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

MIB = 1 << 20

# What /usr/bin/python3 occupies of its address space before the bot's first line, so that
# `memory_mb` is what is left to the bot.
INTERPRETER_MB = 32

THREADS = 16


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The clocks and the memory of one bot in one match (formats.md, section 2).

    `move_s` and `bank_s` are CPU seconds of the bot's process, the others wall-clock seconds.
    `wall_s` defaults to 4 * move_s + 1.

    Raises:
        ValueError: a limit is no positive finite number.
    """

    start_s: float = 5.0
    move_s: float = 1.0
    bank_s: float = 20.0
    wall_s: float | None = None
    match_wall_s: float = 600.0
    memory_mb: int = 256

    def __post_init__(self) -> None:
        if self.wall_s is None:
            object.__setattr__(self, "wall_s", 4 * self.move_s + 1)
        for field in fields(self):
            _require_positive(field.name, getattr(self, field.name))
        if not isinstance(self.memory_mb, int):
            raise ValueError(f"expected whole megabytes as memory_mb: {self.memory_mb!r}")

    def to_json(self) -> dict[str, float]:
        """Return the `limits` object of `hello`."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Limits":
        """Read a `limits` object; missing keys take their defaults, unknown ones are ignored."""
        return cls(**{field.name: document[field.name] for field in fields(cls) if field.name in document})

    @property
    def address_space(self) -> int:
        """Bytes of RLIMIT_AS and RLIMIT_DATA."""
        return (self.memory_mb + INTERPRETER_MB) * MIB

    @property
    def cpu_s(self) -> int:
        """RLIMIT_CPU: a backstop behind the clocks, for a worker that hangs.

        The kernel counts for it in ticks, which a bot that is awake at each of them can make ten times what it used:
        no match may last long enough for that.
        """
        return math.ceil(4 * (self.start_s + self.match_wall_s))


def _require_positive(name: str, value: object) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # A bank may be empty: then every decision has its free 50 ms and no more.
    if not is_number or not math.isfinite(value) or value < 0 or (value == 0 and name != "bank_s"):  # type: ignore[arg-type, operator]
        raise ValueError(f"expected a positive number as {name}: {value!r}")
