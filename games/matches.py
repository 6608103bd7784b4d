"""Create matches, and write the jobs by which sandboxed workers play them. Nothing here decides who plays when."""

import logging
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from bots.sandbox.limits import Limits
from games import broker
from games.duplicates import rotated
from games.engine import Rules, commitment
from games.models import Match, Seat, new_code

logger = logging.getLogger(__name__)

SEED_BYTES = 32


def draw_seed() -> bytes:
    """Return a new match's secret seed, out of the operating system's randomness (rules 11)."""
    return secrets.token_bytes(SEED_BYTES)


def create_match(
    *,
    kind: str,
    rules: Mapping[str, Any],
    entrants: Sequence[Mapping[str, Any]],
    seating: str = "draw",
    share: str = "",
    is_showcase: bool = False,
    server_seed: bytes | None = None,
    limits: Mapping[str, Any] | None = None,
    duplicates: str = "",
) -> Match:
    """Insert a match and its seats, in the caller's transaction; the dispatcher hears of it on commit.

    `rules` are options as `Rules.from_json` takes them. `entrants` are 2 to 4, in order of entry: each
    {"version": BotVersion} or {"user": User}, and {"name"} if it is to go by another than its own. `share` is
    whose part of the workers it takes. `server_seed` (32 bytes) is drawn, unless it is a duplicate's; `duplicates`
    is the code of its set. `limits` are those that differ from the usual ones, as Match keeps them.

    Raises:
        RulesError: an option is unknown or has a value that it does not allow.
        ValueError: the number of entrants or the seating is none, or a limit is no positive number.
    """
    if not 2 <= len(entrants) <= 4:
        raise ValueError(f"expected 2 to 4 entrants: {len(entrants)}")
    if seating not in ("draw", "fixed"):
        raise ValueError(f"expected draw or fixed: {seating!r}")
    Limits.from_json(limits or {})
    seed = draw_seed() if server_seed is None else server_seed
    match = Match.objects.create(
        kind=kind,
        state=Match.State.OPEN if kind == Match.Kind.TABLE else Match.State.WAITING,
        rules=Rules.from_json(rules).to_json(),
        seats=len(entrants),
        seating=seating,
        server_seed=seed,
        commitment=commitment(seed),
        player_seeds=[""] * len(entrants),
        share=share,
        is_showcase=is_showcase,
        limits=dict(limits or {}),
        duplicates=duplicates,
    )
    Seat.objects.bulk_create(_seat(match, number, entrant) for number, entrant in enumerate(entrants))
    if match.state == Match.State.WAITING:
        transaction.on_commit(nudge, robust=True)
    return match


def create_set(
    *,
    rules: Mapping[str, Any],
    entrants: Sequence[Mapping[str, Any]],
    share: str = "",
    is_showcase: bool = False,
    server_seed: bytes | None = None,
    limits: Mapping[str, Any] | None = None,
) -> list[Match]:
    """Insert the matches of a duplicate set of bots: one seed, one in each rotation, in that order.

    In match `r` the set's entrant `e` sits in seat `seat_in_set(e, rotation=r, seats=n)`, which is also its order of
    entry there. Of a showcase the first match is the one to be shown. Otherwise like `create_match`.
    """
    seed, code = draw_seed() if server_seed is None else server_seed, new_code()
    return [
        create_match(
            kind=Match.Kind.RANKED,
            rules=rules,
            entrants=rotated(entrants, rotation),
            seating="fixed",
            share=share,
            is_showcase=is_showcase and rotation == 0,
            server_seed=seed,
            limits=limits,
            duplicates=code,
        )
        for rotation in range(len(entrants))
    ]


def _seat(match: Match, number: int, entrant: Mapping[str, Any]) -> Seat:
    version, user = entrant.get("version"), entrant.get("user")
    name = entrant.get("name") or str(version.bot if version else user)
    return Seat(match=match, entrant=number, name=name, bot=version and version.bot, version=version, user=user)


def nudge() -> None:
    """Have the dispatcher look at once, rather than at its next tick."""
    broker.send("games.tasks.dispatch", queue="results", shown="()", expires_s=2)


def players_of(match: Match) -> list[Seat]:
    """Return the seats of a match in order of entry, with their versions. One query."""
    return list(match.players.select_related("version").order_by("entrant"))


def limits_of(match: Match) -> Limits:
    """Return what a bot may use in this match; what people's clocks are is not among it."""
    return Limits.from_json(match.limits)


def make_job(match: Match, players: Sequence[Seat]) -> dict[str, Any]:
    """Return all that the referee needs for `match`; it holds the seed, and goes to sandboxed workers only."""
    return {
        "match": match.code,
        "attempt": match.attempt,
        "rules": match.rules,
        "server_seed": bytes(match.server_seed).hex(),
        "player_seeds": match.player_seeds,
        "seating": match.seating,
        "entrants": [_entrant(player) for player in players],
        "limits": limits_of(match).to_json(),
        "moves": [],
        "faults": [],
    }


def _entrant(player: Seat) -> dict[str, Any]:
    if player.version is None:
        return {"name": player.name, "kind": "human"}
    return {"name": player.name, "kind": "bot", "sha256": player.version.source_id}


def is_playable(players: Sequence[Seat]) -> bool:
    """Tell whether every seat still has its person or its version; either may have been deleted."""
    return all(player.version_id or player.user_id for player in players)
