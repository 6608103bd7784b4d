"""The rules of Soureh, played: games, fair shuffles, views and records. Standard library only."""

from . import record
from .game import FAULT_KINDS, Decision, Fault, Game, InvalidRecord, Result, replay
from .notation import IllegalMove
from .rules import OPTIONS, PRESETS, Rules, RulesError
from .shuffle import Seating, commitment, draw_seats, fixed_seats, rng_seed
from .view import Feed

__all__ = [
    "FAULT_KINDS",
    "OPTIONS",
    "PRESETS",
    "Decision",
    "Fault",
    "Feed",
    "Game",
    "IllegalMove",
    "InvalidRecord",
    "Result",
    "Rules",
    "RulesError",
    "Seating",
    "commitment",
    "draw_seats",
    "fixed_seats",
    "record",
    "replay",
    "rng_seed",
]
