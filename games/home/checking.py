"""Would a site accept this bot, and would it pass its trial? The same rules of files, the same clocks, no sandbox."""

from __future__ import annotations

import itertools
import shlex
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bots.process import Limits
from bots.uploads import UploadError, check_upload
from games.arena import HOUSE_PREFIX, Bot, Series, load_bot
from games.engine import Rules
from games.referee import Match
from games.times import Times, gather

TABLES = (("careful", "spoiler"), ("careful",), ("careful", "spoiler", "random"))
"""Whom the bot plays, in turn; the first is what a trial is played against."""

GAMES = 6
LOG_LINES = 30
"""How many lines of its log are shown after a fault: the last ones."""

LIMITS = Limits()
HEAD = (
    f"game  {'with':<24}  {'place':<6}  decisions  {'CPU mean':>11}  {'most':>9}  {'wall most':>10}  {'bank left':>9}"
)

NARROW = 0.5
"""From which share of a limit on it is mentioned that a slower machine might not do."""

Say = Callable[[str], None]


def check(spec: str, rules: Rules, seed: str, numbers: Iterable[int], *, is_logged: bool, say: Say) -> bool:
    """Say whether a bot would be accepted and pass its trial, game by game, and return that.

    With `is_logged` each game is followed by the bot's log.

    Raises:
        ArenaError: there is no such file.
        SandboxError: no process could be started.
    """
    bot = _accept(spec, say)
    if bot is None:
        return False
    games: list[Played] = []
    say(HEAD)
    for number in numbers:
        game = _play(bot, rules, seed, number)
        say(game.line())
        if is_logged:
            say(textwrap.indent(game.log, "    "))
        if game.fault:
            # The same log six times over would hide what it says.
            is_new = not any(before.has_fault_of(game) for before in games)
            say(game.account(_again(spec, rules, seed, number), is_log_shown=is_new and not is_logged))
        games.append(game)
    say(_verdict(games))
    return not any(game.fault for game in games)


def _accept(spec: str, say: Say) -> Bot | None:
    """Return the bot; None after saying why a site would refuse its file."""
    path = Path(spec)
    if not spec.startswith(HOUSE_PREFIX) and path.is_file():
        data = path.read_bytes()
        try:
            upload = check_upload(path.name, data)
        except UploadError as error:
            say(f"{spec}: {error}")
            say(_excerpt(error))
            say("A site would refuse it.")
            return None
        files = f", {len(upload.files)} files" if len(upload.files) > 1 else ""
        say(f"{spec}: {upload.size} bytes{files}, its form is accepted")
    return load_bot(spec)


def _excerpt(error: UploadError) -> str:
    """Return the line that is meant, with a mark under the column, if there is one."""
    if error.source is None or error.line is None:
        return ""
    lines = error.source.decode(errors="replace").splitlines()
    line = lines[error.line - 1] if error.line <= len(lines) else ""
    mark = " " * ((error.column or 1) - 1) + "^"
    return f"\n    {error.line:>4} | {line}\n         | {mark}\n"


class Played(NamedTuple):
    """One game of the bot's: against whom, where it came in, what its decisions took, and its fault if any."""

    number: int
    opponents: tuple[str, ...]
    place: int
    cpu_ms: list[float]
    wall_ms: list[int]
    bank_s: float
    fault: dict[str, Any] | None
    log: str

    def line(self) -> str:
        """Return the game as a row under HEAD."""
        cpu, most = sum(self.cpu_ms) / max(1, len(self.cpu_ms)), max(self.cpu_ms, default=0)
        wall = max(self.wall_ms, default=0)
        return (
            f"{self.number:>4}  {', '.join(self.opponents):<24}  {self.place} of {len(self.opponents) + 1}"
            f"  {len(self.cpu_ms):>9}  {cpu:>8.1f} ms  {most:>6.1f} ms  {wall:>7} ms  {self.bank_s:>7.2f} s"
        )

    def has_fault_of(self, other: Played) -> bool:
        """Whether both went wrong in the same way, wherever it was."""
        return all(game.fault for game in (self, other)) and self._seen() == other._seen()

    def _seen(self) -> tuple[str, str]:
        fault = self.fault or {}
        return fault["kind"], fault["private"]

    def account(self, again: str, *, is_log_shown: bool) -> str:
        """Return what went wrong and how to have it again, with the end of the bot's log or without."""
        fault = self.fault or {}
        where = f"hand {fault['hand']}, decision {fault['turn']}" if fault["turn"] else "its start"
        log = self.log.splitlines()[-LOG_LINES:]
        told = [f"  FAULT {fault['kind']} at {where}: {fault['private']}"]
        if is_log_shown:
            told += ["  the end of its log:", *(f"    {line}" for line in log)] if log else ["  its log is empty"]
        return "\n".join([*told, f"  to have it again: {again}", ""])


def _play(bot: Bot, rules: Rules, seed: str, number: int) -> Played:
    opponents = TABLES[(number - 1) % len(TABLES)]
    bots = [bot, *(load_bot(HOUSE_PREFIX + name) for name in opponents)]
    fixture = next(itertools.islice(Series(bots, rules, number, seed).fixtures(), number - 1, None))
    with Match(fixture.job, {each.sha256: each.data for each in bots}) as match:
        match.play()
        outcome = match.outcome()
    result = match.game.result
    if result is None:
        raise AssertionError("bots play their games to the end")
    seat = outcome["order"].index(0)
    seats = [entry["seat"] for entry in match.game.log_for(None) if "move" in entry]
    times = gather(seats, outcome["cpu_us"], first=1, limits=fixture.job["limits"]).get(seat, Times())
    return Played(
        number,
        opponents,
        result.places[seat],
        [cpu_us / 1000 for cpu_us in times.cpu_us.values()],
        [outcome["ms"][decision - 1] for decision in times.cpu_us],
        min((bank_s for _decision, bank_s in times.banks()), default=LIMITS.bank_s),
        next((fault for fault in outcome["faults"] if fault["seat"] == seat), None),
        outcome["logs"][seat],
    )


def _again(spec: str, rules: Rules, seed: str, number: int) -> str:
    """Return the command that plays one game again, fault and all."""
    usual = Rules.preset(rules.base).to_json()
    options = [f"{key}={value}" for key, value in rules.to_json().items() if usual[key] != value]
    changed = [part for option in options for part in ("--set", option)]
    preset = ["--rules", rules.base] if rules.base != "classic" else []
    return shlex.join(
        ["python3", "-m", "soureh", "check", spec, "--seed", seed, "--only", str(number), *preset, *changed]
    )


def _verdict(games: Sequence[Played]) -> str:
    """Return in a few sentences whether a trial would be passed, and how near the limits were."""
    faults = [f"{game.fault['kind']} in game {game.number}" for game in games if game.fault]
    if faults:
        return f"Would not pass its trial: {', '.join(faults)}. A fault in its trial game sets a bot aside."
    slowest = max((ms for game in games for ms in game.cpu_ms), default=0.0)
    told = [
        f"Would pass its trial: {len(games)} game{'' if len(games) == 1 else 's'} without a fault.",
        f"Its slowest decision took {slowest:.1f} ms of CPU; {1000 * LIMITS.move_s:.0f} are allowed.",
    ]
    if slowest > NARROW * 1000 * LIMITS.move_s:
        told.append("That is near: the site's processor may be slower than yours.")
    if min(game.bank_s for game in games) < NARROW * LIMITS.bank_s:
        told.append(f"It used more than half of its bank of {LIMITS.bank_s:g} s for long thoughts.")
    return "\n".join(told)
