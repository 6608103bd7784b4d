"""What a bot's decisions cost it: CPU by decision, when it was started, and its limits; packed beside its log.

The bank is not stored, it follows: each process begins with a full one, and pays for what a decision takes beyond
the free part (`bots.process`).
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bots.process import FREE_CPU_S

FORMAT = 1
FREE_US = round(FREE_CPU_S * 1e6)
UNPACKED_MAX = 16 << 20


@dataclass
class Times:
    """One seat's costs in a match. `cpu_us` maps its own decisions to microseconds, ascending by decision.

    `starts` are the decisions that were pending when its process was started (1: before the first). `fault_ms` and
    `fault_cpu_us` are what the decision took that it could not make, on the wall and of CPU.
    """

    cpu_us: dict[int, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    limits: dict[str, Any] = field(default_factory=dict)
    fault_ms: int = 0
    fault_cpu_us: int = 0

    def followed_by(self, later: "Times") -> "Times":
        """Return these and later ones of the same seat together."""
        return Times(
            {**self.cpu_us, **later.cpu_us},
            [*self.starts, *later.starts],
            later.limits,
            later.fault_ms or self.fault_ms,
            later.fault_cpu_us or self.fault_cpu_us,
        )

    def banks(self) -> Iterator[tuple[int, float]]:
        """Yield each decision with the bank after it, in seconds, to the microsecond as its process counted it."""
        starts = sorted(self.starts, reverse=True)
        bank_us = full_us = round(float(self.limits.get("bank_s", 0)) * 1e6)
        for number, used_us in sorted(self.cpu_us.items()):
            while starts and starts[-1] <= number:
                starts.pop()
                bank_us = full_us
            bank_us -= max(0, used_us - FREE_US)
            yield number, bank_us / 1e6

    def start_before(self, number: int) -> int:
        """Return when the process that was running at decision `number` had been started."""
        return max((start for start in self.starts if start <= max(1, number)), default=1)


def pack(times: Times) -> bytes:
    """Return times in few bytes; the first is the number of the format."""
    numbers = list(times.cpu_us)
    steps = [number - before for before, number in zip([0, *numbers], numbers, strict=False)]
    columns = [steps, list(times.cpu_us.values()), times.starts, times.limits, times.fault_ms, times.fault_cpu_us]
    return bytes([FORMAT]) + zlib.compress(json.dumps(columns, separators=(",", ":")).encode(), 9)


def unpack(packed: bytes) -> Times:
    """Return what `pack` packed; of nothing, nothing.

    Raises:
        ValueError: it is of another format, or damaged.
    """
    if not packed:
        return Times()
    if packed[0] != FORMAT:
        raise ValueError(f"expected times of format {FORMAT}: {packed[0]}")
    reader = zlib.decompressobj()
    steps, cpu_us, starts, limits, fault_ms, fault_cpu_us = json.loads(reader.decompress(packed[1:], UNPACKED_MAX))
    numbers, number = [], 0
    for step in steps:
        number += step
        numbers.append(number)
    return Times(dict(zip(numbers, cpu_us, strict=True)), starts, limits, fault_ms, fault_cpu_us)


def gather(
    seats: Sequence[int], cpu_us: Sequence[int | None], *, first: int, limits: Mapping[str, Any]
) -> dict[int, Times]:
    """Return by seat what decisions from number `first` on cost; `seats` says whose each was."""
    found: dict[int, Times] = {}
    for number, (seat, used_us) in enumerate(zip(seats, cpu_us, strict=True), first):
        if used_us is not None:
            found.setdefault(seat, Times(limits=dict(limits))).cpu_us[number] = used_us
    return found
