"""Take apart what a sandboxed worker reports. It comes from where hostile code runs, so it is hostile until parsed.

Only decisions, times, faults and logs are taken; everything else about a match is its row's.
"""

from typing import Annotated, Any, Literal

import msgspec

from games.engine import FAULT_KINDS

# The kind of a person's fault, by what he did or failed to do.
LEAVING = {"resign": "resigned", "leave": "left"}
PEOPLE_FAULTS = frozenset(LEAVING.values())
BOT_FAULTS = frozenset(FAULT_KINDS) - PEOPLE_FAULTS
DETAIL_CHARS = 200
PRIVATE_CHARS = 4000
# A bot's log as the worker cuts it (bots.faults.STDERR_KEPT), with room for the line that says what was left out.
LOG_CHARS = 65_536 + 100
# What people send is held to these before it goes to a worker: what comes back beyond them counts as our failure.
NUMBER_MAX = 10_000_000
CPU_US_MAX = 3_600_000_000
MOVE_CHARS = 8

Text = Annotated[str, msgspec.Meta(max_length=1_000_000)]
Number = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]
Microseconds = Annotated[int, msgspec.Meta(ge=0, le=CPU_US_MAX)]
MoveText = Annotated[str, msgspec.Meta(max_length=MOVE_CHARS)]


class BadOutcome(ValueError):
    """A report that is not one, or that does not hold: our failure, never a bot's."""


class ReportedFault(msgspec.Struct):
    """A fault as reported: `detail` is public; for the owner of the seat's bot are `private`, `ms` and `cpu_us`.

    The last two are what the decision that it could not make had taken, on the wall and of CPU.
    """

    seat: Annotated[int, msgspec.Meta(ge=0, le=3)]
    kind: Annotated[str, msgspec.Meta(max_length=10)]
    turn: Number
    hand: Number = 0
    detail: Text = ""
    private: Text = ""
    ms: Number = 0
    cpu_us: Microseconds = 0

    def public(self) -> dict[str, Any]:
        """Return what everybody may see, as the engine's fold takes it."""
        return {"seat": self.seat, "kind": self.kind, "hand": self.hand, "turn": self.turn, "detail": self.detail}


class Action(msgspec.Struct):
    """What happened at a table: a person opened it, decided, resigned, or let his time run out."""

    do: Literal["open", "move", "resign", "leave"]
    seat: Annotated[int, msgspec.Meta(ge=0, le=3)] = 0
    id: Number = 0
    move: MoveText = ""


class Rejection(msgspec.Struct):
    """Why a person's action was not taken."""

    code: Literal["not_your_turn", "illegal", "stale", "finished"]
    detail: Annotated[str, msgspec.Meta(max_length=DETAIL_CHARS)] = ""


class Outcome(msgspec.Struct):
    """What was played: parallel lists of decisions, their milliseconds and bots' CPU, faults in order, logs by seat.

    `cpu_us` is None for a decision that no bot took; the whole list may be missing. `starts` are by seat: the
    decision that was pending when its bot was started, 0 for none.
    """

    moves: Annotated[list[MoveText], msgspec.Meta(max_length=500_000)]
    ms: Annotated[list[Number], msgspec.Meta(max_length=500_000)]
    faults: Annotated[list[ReportedFault], msgspec.Meta(max_length=4)]
    cpu_us: Annotated[list[Microseconds | None], msgspec.Meta(max_length=500_000)] = []
    logs: Annotated[list[Text], msgspec.Meta(max_length=4)] = []
    starts: Annotated[list[Number], msgspec.Meta(max_length=4)] = []
    action: Action | None = None
    rejected: Rejection | None = None


def parse_outcome(report: Any, *, kinds: frozenset[str] = BOT_FAULTS) -> Outcome:
    """Return a report's outcome, its texts cut to what is kept.

    Raises:
        BadOutcome: a type, a length or a bound is wrong, or a fault is not one of `kinds`.
    """
    try:
        outcome = msgspec.convert(report, Outcome)
    except msgspec.ValidationError as error:
        raise BadOutcome(str(error)) from error
    if len(outcome.moves) != len(outcome.ms):
        raise BadOutcome(f"expected a time for each of {len(outcome.moves)} decisions: {len(outcome.ms)}")
    if len(outcome.cpu_us) not in (0, len(outcome.moves)):
        raise BadOutcome(
            f"expected the CPU of each of {len(outcome.moves)} decisions, or of none: {len(outcome.cpu_us)}"
        )
    for fault in outcome.faults:
        if fault.kind not in kinds:
            raise BadOutcome(f"expected a fault of {', '.join(sorted(kinds))}: {fault.kind!r}")
        fault.detail = keep_text(fault.detail, DETAIL_CHARS)
        fault.private = keep_text(fault.private, PRIVATE_CHARS)
    outcome.logs = [keep_text(log, LOG_CHARS) for log in outcome.logs]
    return outcome


def joined_log(earlier: str, later: str) -> str:
    """Return a bot's log with what it wrote since; if that is too much, its beginning and its end."""
    text = earlier + later
    if len(text) <= LOG_CHARS:
        return text
    half = (LOG_CHARS - 100) // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters left out …]\n{text[-half:]}"


def keep_text(text: str, length: int) -> str:
    """Return a bot's text as a database can keep it: no NUL, no lone surrogate, at most `length` characters."""
    return text[:length].replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
