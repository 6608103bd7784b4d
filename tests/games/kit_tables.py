"""Bots of the kit and the engine in one process: what the tests of kit and house bots play on."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from games.engine import Feed, Game, Rules
from games.kit import soureh_bot

HOUSE = Path(__file__).parents[2] / "games" / "house"
VECTORS = Path(__file__).parents[1] / "fixtures" / "vectors"
HOUSE_NAMES = ("random", "careful", "spoiler", "counter", "sage")

Choose = Callable[[soureh_bot.Turn], str]
Watch = Callable[[Game, soureh_bot.Turn], None]


@contextmanager
def kit_as_bots_see_it(run: Callable[[Choose], None]) -> Iterator[None]:
    """Make `import soureh_bot` find the kit, with `run` in the place of its own."""
    own = soureh_bot.run
    sys.modules["soureh_bot"] = soureh_bot
    soureh_bot.run = run
    try:
        yield
    finally:
        soureh_bot.run = own
        del sys.modules["soureh_bot"]


def load_choose(path: Path) -> Choose:
    """Return what a bot's source hands to `soureh_bot.run`."""
    handed: list[Choose] = []
    with kit_as_bots_see_it(handed.append):
        exec(compile(path.read_text(), str(path), "exec"), {"__name__": "bot"})
    [choose] = handed
    return choose


def house(name: str) -> Choose:
    return load_choose(HOUSE / f"{name}.py")


class Seat:
    """A bot at a seat, fed with the engine's messages through the kit's own loop."""

    def __init__(self, choose: Choose, seat: int, game: Game, *, resumed: bool = False) -> None:
        self.table = soureh_bot.Table(choose)
        self.feed = Feed(seat)
        self.table.answer(self.feed.hello(game, match="test", names=["bot"] * game.seats, limits={}, resumed=resumed))
        if resumed:
            self.table.answer(self.feed.resume(game))

    def decide(self, game: Game) -> str:
        [answer] = [answer for message in self.feed.messages(game) if (answer := self.table.answer(message))]
        return answer["move"]


def play_game(rules: Rules, chooses: Sequence[Choose], seed: str, *, watch: Watch | None = None) -> Game:
    """Play a game to its end; every move must be legal. `watch(game, turn)` is called at every decision."""
    game = Game(rules, len(chooses), hashlib.sha256(seed.encode()).digest(), [""] * len(chooses))

    def watched(choose: Choose) -> Choose:
        def watch_and_choose(turn: soureh_bot.Turn) -> str:
            if watch is not None:
                watch(game, turn)
            return choose(turn)

        return watch_and_choose

    seats = [Seat(watched(choose), seat, game) for seat, choose in enumerate(chooses)]
    while (decision := game.decision) is not None:
        game.play(seats[decision.seat].decide(game))
    return game


def transcripts() -> list[dict[str, Any]]:
    """Return what a seat and its referee said to each other in several matches."""
    return [json.loads(line) for line in (VECTORS / "transcripts.jsonl").read_text().splitlines()]


def sent_in(transcript: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages that the bot of a transcript was sent."""
    return [message for way, message in transcript["lines"] if way == ">"]


def answers(choose: Choose, messages: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
    """Return what a bot answers to a whole match's messages."""
    sent: list[dict[str, object]] = []
    soureh_bot.play(choose, messages, sent.append)
    return sent
