"""Fixtures of the games room: house bots, people, and a post office in place of the broker's workers."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth import get_user_model

from bots.models import Bot, BotVersion
from games import broker, sandbox_tasks, tasks
from games.models import Worker
from games.seed import seed_house_bots
from games.signals import match_finished


@pytest.fixture(autouse=True)
def _same_cards_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deal a test's matches from seeds in order: a bot that calls in its first turns would end a short game early."""
    numbers = count()
    monkeypatch.setattr("games.matches.draw_seed", lambda: bytes([*range(31), 31 + next(numbers)]))


class Office:
    """Takes in what is sent to the broker and, when told, does what its workers would: sandboxed tasks for real."""

    def __init__(self) -> None:
        self.waiting: deque[tuple[str, tuple[Any, ...]]] = deque()
        self.shown: list[str] = []

    def send(self, name: str, *args: Any, queue: str, shown: str, expires_s: float) -> bool:
        # As the broker would: JSON and nothing else.
        self.waiting.append((name, tuple(json.loads(json.dumps(args)))))
        self.shown.append(shown)
        return True

    def take(self, name: str) -> list[tuple[Any, ...]]:
        """Take the waiting tasks of one name out, unplayed."""
        taken = [args for task, args in self.waiting if task == name]
        self.waiting = deque(item for item in self.waiting if item[0] != name)
        return taken

    def report(self, name: str, *args: Any) -> None:
        self.waiting.append((name, tuple(json.loads(json.dumps(args)))))

    def deliver(self, *, until: Callable[[], bool] = lambda: False) -> int:
        """Do all that waits, and what follows from it; return how many tasks that were."""
        count = 0
        while self.waiting and not until():
            name, args = self.waiting.popleft()
            self.run(name, args)
            count += 1
        return count

    async def deliver_beside(self) -> None:
        """As `deliver`, from an event loop: bots start in the main thread, rows are written in another."""
        while self.waiting:
            name, args = self.waiting.popleft()
            if name.startswith("sandbox."):
                self.run(name, args)
            else:
                await database_sync_to_async(self.run)(name, args)

    def run(self, name: str, args: tuple[Any, ...]) -> None:
        if name == "sandbox.play_match":
            sandbox_tasks.play(*args, broker.client(), self.report, worker="test@sandbox")
        elif name == "sandbox.table_move":
            sandbox_tasks.move(*args, self.report)
        elif name == "sandbox.bot_answers":
            sandbox_tasks.answers(*args, broker.client(), self.report)
        else:
            getattr(tasks, name.removeprefix("games.tasks."))(*args)


@pytest.fixture
def office(monkeypatch: pytest.MonkeyPatch) -> Office:
    """A post office instead of a broker and its workers."""
    office = Office()
    monkeypatch.setattr(broker, "send", office.send)
    return office


@pytest.fixture
def worker(db: None) -> Worker:
    """A live sandboxed worker with two slots."""
    tasks.worker_alive("test@sandbox", "matches", 2, True, "sandbox mode A")
    return Worker.objects.get()


@pytest.fixture
def house(db: None) -> dict[str, BotVersion]:
    """The house bots' versions by name."""
    seed_house_bots()
    return {bot.name: bot.versions.get() for bot in Bot.objects.filter(owner=None)}


@pytest.fixture
def heard() -> Iterator[list[tuple[int, str]]]:
    """What is announced of matches that have ended, as (match id, state), in order."""
    heard: list[tuple[int, str]] = []

    def listen(*, match_id: int, state: str, **_signal: Any) -> None:
        heard.append((match_id, state))

    match_finished.connect(listen)
    yield heard
    match_finished.disconnect(listen)


@pytest.fixture
def make_user(db: None) -> Callable[[str], Any]:
    """Make a person by name."""

    def make(name: str) -> Any:
        return get_user_model().objects.create_user(name, f"{name}@example.org", "a long enough password")

    return make


@pytest.fixture
def ada(make_user: Callable[[str], Any]) -> Any:
    return make_user("ada")
