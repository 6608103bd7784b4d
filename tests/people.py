"""People and bots for the tests of every room."""

from typing import Any

from django.contrib.auth import get_user_model

from bots.models import Bot, BotVersion
from bots.versions import add_version

FIRST_BOT = b"""import soureh_bot


def choose(turn):
    return turn.rng.choice(turn.legal)


soureh_bot.run(choose)
"""


def person(name: str, **fields: Any) -> Any:
    """Return a new account called `name`."""
    return get_user_model().objects.create_user(name, f"{name}@example.org", "correct horse battery", **fields)


def uploaded(owner: Any, name: str = "Mim", *, state: str = "trial", source: bytes = FIRST_BOT) -> BotVersion:
    """Return the first version of a new bot of `owner`, moved to `state`."""
    version = add_version(owner, name=name, file_name="bot.py", data=source)
    BotVersion.objects.filter(pk=version.pk).update(state=state)
    version.refresh_from_db()
    return version


def house_bot(name: str = "careful") -> Bot:
    """Return a bot that nobody owns, with one version that is ready to play."""
    version = uploaded(
        person(f"builder-of-{name}"), name, state="ready", source=FIRST_BOT + name.encode().join([b"# ", b"\n"])
    )
    Bot.objects.filter(pk=version.bot_id).update(owner=None)
    return Bot.objects.get(pk=version.bot_id)
