"""What a bot's owner, and nobody else, is told of a match that has ended: its log, times and fault. For pages and API.

Everything is made from the record and from what is kept beside the log of his own seat; it says nothing of the other
seats that the record does not say to everybody.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from bots.forms import SourceLine, excerpt
from bots.models import BotVersion, Source
from bots.process import Limits
from bots.uploads import UploadError, unpack
from games import replay, times, times_chart, tracebacks
from games.models import Match, Seat, SeatLog
from games.referee import bot_files
from games.reproducer.packing import make_case, pack_case

SLOWEST = 5
DECISIONS_SHOWN = 200
BROKEN_OFF = ("crash", "memory", "start")  # faults of which a traceback may tell more


@dataclass(frozen=True)
class Decision:
    """One decision that a bot was asked for. `cpu_us`, `bank_s` are None where they were not measured.

    `step` is where the replay of `hand` shows it made (for a fault: asked for). `move` is "" if it was never made.
    """

    number: int
    hand: int
    step: int
    move: str
    ms: int | None
    cpu_us: int | None
    bank_s: float | None
    is_fault: bool = False

    @property
    def shown(self) -> dict[str, str]:
        """CPU, wall clock and bank in words; "" where they are not known."""
        return {
            "cpu": "" if self.cpu_ms is None else times_chart.shown_ms(self.cpu_ms),
            "wall": "" if self.ms is None else times_chart.shown_ms(self.ms),
            "bank": "" if self.bank_s is None else _("%(time)s s") % {"time": number_format(self.bank_s, 2)},
        }

    @property
    def cpu_ms(self) -> float | None:
        """CPU in milliseconds."""
        return None if self.cpu_us is None else self.cpu_us / 1000


@dataclass(frozen=True)
class FaultSeen:
    """A fault: what everybody is told (`kind`, `detail`, place), and what its owner is: what was seen, and where."""

    kind: str
    detail: str
    seen: str
    hand: int
    turn: int
    step: int
    traceback: str = ""
    file: str = ""
    line: int = 0
    excerpt: Sequence[SourceLine] = ()


@dataclass(frozen=True)
class Debrief:
    """All of it, for one seat. Of a match without a record there are the log, and what was seen of a fault, alone."""

    seat: Seat
    stderr: str
    seen: str
    limits: Limits
    fault: FaultSeen | None = None
    decisions: list[Decision] = field(default_factory=list)

    @property
    def slowest(self) -> list[Decision]:
        """The decisions that took most CPU, the worst first."""
        measured = [decision for decision in self.decisions if decision.cpu_us is not None]
        return sorted(measured, key=lambda decision: -(decision.cpu_us or 0))[:SLOWEST]

    @property
    def shown_decisions(self) -> list[Decision]:
        """The first decisions, as many as a page lists."""
        return self.decisions[:DECISIONS_SHOWN]

    @property
    def hidden_count(self) -> int:
        """How many decisions a page does not list."""
        return max(0, len(self.decisions) - DECISIONS_SHOWN)

    @property
    def chart(self) -> dict[str, Any]:
        """All decisions' times, drawn."""
        limit_ms, free_ms = 1000 * self.limits.move_s, times.FREE_US / 1000
        return times_chart.draw(self.decisions, limit_ms=limit_ms, free_ms=free_ms)

    @property
    def bank_left_s(self) -> float | None:
        """What was left of the bank at the end."""
        return next((made.bank_s for made in reversed(self.decisions) if made.bank_s is not None), None)

    @property
    def first_to_reproduce(self) -> int | None:
        """The decision that one would reproduce first: the fault's, or the slowest."""
        if self.fault is not None:
            return self.fault.turn
        worst = self.slowest or self.decisions
        return worst[0].number if worst else None


def debrief(match: Match, seat: Seat, log: SeatLog | None) -> Debrief:
    """Return what the owner of `seat`'s bot is told of a match that has ended. Whether he is that is the caller's."""
    costs = times.unpack(bytes(log.times)) if log else times.Times()
    limits = Limits.from_json(costs.limits)
    stderr, seen = (log.stderr, log.fault_detail) if log else ("", "")
    if match.state != Match.State.FINISHED or seat.seat is None:
        return Debrief(seat, stderr, seen, limits)
    fault = next((fault for fault in match.faults if fault["seat"] == seat.seat), None)
    made = _decisions(match, seat.seat, costs, until=fault["turn"] if fault else None)
    if fault is None:
        return Debrief(seat, stderr, seen, limits, decisions=made)
    asked = _asked(match, fault, costs)
    return Debrief(seat, stderr, seen, limits, _fault_seen(seat, fault, asked, seen, stderr), [*made, asked])


def _decisions(match: Match, seat: int, costs: times.Times, *, until: int | None) -> list[Decision]:
    """Return the decisions that a seat's bot made, before decision `until` if it faulted there."""
    banks = dict(costs.banks())
    found, number = [], 0
    for hand, frames in enumerate(replay.all_frames(match), 1):
        for step, frame in enumerate(frames):
            number += frame["move"] is not None
            if frame["seat"] != seat or (until is not None and number >= until):
                continue
            used_us, bank_s = costs.cpu_us.get(number), banks.get(number)
            found.append(Decision(number, hand, step, frame["move"], frame["ms"], used_us, bank_s))
    return found


def _asked(match: Match, fault: dict[str, Any], costs: times.Times) -> Decision:
    """Return the decision that a bot was asked for when it faulted; `step` is the table that it saw."""
    turn, hand = fault["turn"], fault["hand"]
    strips = replay.all_frames(match)
    before = sum(len(strip) - 1 for strip in strips[: hand - 1])
    step = min(max(0, turn - 1 - before), len(strips[hand - 1]) - 1)
    bank_s = next((left for number, left in reversed(list(costs.banks())) if number < turn), None)
    return Decision(turn, hand, step, "", costs.fault_ms, costs.fault_cpu_us, bank_s, is_fault=True)


def _fault_seen(seat: Seat, fault: dict[str, Any], asked: Decision, detail: str, stderr: str) -> FaultSeen:
    seen = FaultSeen(fault["kind"], fault["detail"], detail or fault["detail"], asked.hand, asked.number, asked.step)
    if fault["kind"] not in BROKEN_OFF or not stderr:
        return seen
    files = _files_of(seat.version)
    told = tracebacks.last_traceback(stderr, files)
    if told is None:
        return seen
    shown = excerpt(files[told.file], told.line, None) if told.file else []
    # A log may name any line; one that the file has is marked.
    is_there = any(line.is_wrong for line in shown)
    return FaultSeen(
        *(seen.kind, seen.detail, seen.seen, seen.hand, seen.turn, seen.step, told.text),
        *((told.file, told.line, shown) if is_there else ()),
    )


def _files_of(version: BotVersion | None) -> dict[str, bytes]:
    """Return an uploaded version's own files; none if it has been deleted."""
    source = Source.objects.filter(versions=version).first() if version else None
    try:
        return unpack(bytes(source.data)) if source else {}
    except UploadError:
        # It was taken in by rules that have changed since.
        return {}


def reproducer(match: Match, seat: Seat, log: SeatLog | None, turn: int) -> bytes:
    """Return the zip that replays decision number `turn` of a seat of a finished match (0: the bot's start).

    Raises:
        LookupError: the seat's bot was not asked for it, or its version has been deleted.
    """
    if seat.version is None or seat.seat is None:
        raise LookupError("expected a bot whose version is still there")
    told = debrief(match, seat, log)
    costs = times.unpack(bytes(log.times)) if log else times.Times()
    case = make_case(replay.record(match), seat.seat, turn, costs)
    source = Source.objects.get(pk=seat.version.source_id)
    files = bot_files({source.sha256: bytes(source.data)}, source.sha256)
    asked = next((decision for decision in told.decisions if decision.number == turn), None)
    about = {
        "bot": seat.name,
        "version": seat.version.number,
        "match": match.code,
        "cpu_us": asked.cpu_us or 0 if asked else 0,
        "ms": asked.ms or 0 if asked else 0,
        "limits": told.limits.to_json(),
        "seen": told.fault.seen if told.fault else "",
    }
    return pack_case(case, files, folder=reproducer_name(match, turn), about=about)


def reproducer_name(match: Match, turn: int) -> str:
    """Return the name of a reproducer's folder and, with .zip, of its file."""
    return f"soureh-{match.code}-{turn}"
