"""The rules of Soureh, played: games, fair shuffles, views and records. Standard library only.

A game is made of rules and a secret seed, and asks for one decision after the other:

>>> game = Game(Rules.preset("classic", target=100), 3, server_seed=bytes(32))
>>> game.decision
Decision(id=1, seat=1, kind='turn', hand=1)
>>> game.legal()[:6]
('k0', 'k1', 'k2', 'k3', 's00', 's02')
>>> game.play("k2")
>>> game.decision.seat
2

What is not legal is refused, and has changed nothing:

>>> game.play("show")
Traceback (most recent call last):
games.engine.notation.IllegalMove: expected one of k0, k1, k2, k3, k3!, s00, s02, s03, s10, s11, s12, s13, d: 'show'
>>> game.decision.id
2

A view shows what one seat may see, and nothing else does; None is a spectator:

>>> view = game.view(2)
>>> view["down"]
[['??', '??', '??', '??'], ['??', '??', '??', '??'], ['9s', 'Ac', '5h', 'Tc']]
>>> game.view(None)["drawn"]
'??'
>>> game.log_for(2)[-1]
{'seat': 1, 'move': 'k2', 'out': 'Td'}

Programs that search copy a game, or sample games that agree with all that a seat has seen:

>>> from random import Random
>>> twin = game.copy()
>>> twin.play("d")
>>> (game.decision.id, twin.decision.id)
(2, 3)
>>> sampler = Sampler(game.rules, game.view(2), game.log_for(2, own_draws=True))
>>> world = sampler.sample(Random(1))
>>> world.view(2) == game.view(2)
True
>>> world.view(0)["down"][0] == game.view(0)["down"][0]
False

A game that is over has a result and a record, which anybody can check:

>>> while game.result is None:
...     game.play(game.legal()[0])
>>> game.result
Result(how='target', totals=[82, 111, 109], places=[1, 3, 2])
>>> seats = [{"name": name, "kind": "human"} for name in ("ada", "Mim", "tom")]
>>> doc = record.build(game, id="7c0e", played="2026-11-30T09:15:00Z", seats=seats, seating=fixed_seats(3))
>>> record.verify(doc)
>>> record.unpack(record.pack(doc)) == doc
True
>>> doc["result"]["places"] = [1, 2, 3]
>>> record.verify(doc)
Traceback (most recent call last):
games.engine.game.InvalidRecord: result: places, item 2: expected 3: 2

A game can be dealt from a deck of one's own, and moves are text that parses and formats:

>>> deck = [rank + suit for suit in "shdc" for rank in "A23456789T"] * 2
>>> Game.from_deck(Rules.preset("inventor"), 2, deck).view(1)["down"][1]
['As', '2s', '3s', '4s']
>>> parse_move("s13!")
Move(kind='s', seat=1, slot=3, calls=True, pick='')
>>> format_move(parse_move("p0110"))
'p0110'

An option that does not exist, or a value that it does not take, is an error that says what there is:

>>> Rules.preset("classic", caller_shield=13)
Traceback (most recent call last):
games.engine.rules.RulesError: caller_shield: expected an integer from 0 to 12 or null: 13
"""

from . import record
from .game import FAULT_KINDS, Decision, Fault, Game, InvalidRecord, Result, replay
from .notation import IllegalMove, Move, format_move, parse_move
from .rules import OPTIONS, PRESETS, Rules, RulesError
from .sampling import Sampler
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
    "Move",
    "Result",
    "Rules",
    "RulesError",
    "Sampler",
    "Seating",
    "commitment",
    "draw_seats",
    "fixed_seats",
    "format_move",
    "parse_move",
    "record",
    "replay",
    "rng_seed",
]
