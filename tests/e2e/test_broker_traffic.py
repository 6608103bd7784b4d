"""Everything that passes through Redis while the whole site is used: no secret of the site or of a person is in it."""

import base64
import json
import re
import threading
from collections.abc import Iterator

import pytest
import redis

from tests.e2e.test_faults import Visitor, sign_up
from tests.live import Site, Valkey, until
from tests.people import FIRST_BOT

pytestmark = pytest.mark.e2e
PASSWORD = "correct horse battery"  # what sign_up gives everybody
OF_DATABASE = """
import json
from django.contrib.sessions.models import Session
from rest_framework.authtoken.models import Token
from soureh_site.accounts.models import User
found = {
    "password hash": User.objects.values_list("password", flat=True),
    "session key": Session.objects.values_list("session_key", flat=True),
    "session": Session.objects.values_list("session_data", flat=True),
    "token digest": Token.objects.values_list("key", flat=True),
}
print(json.dumps({kind: list(values) for kind, values in found.items()}))
"""


class Tap:
    """Hears every command that anybody sends to a Redis, scripts' commands as well."""

    def __init__(self, url: str) -> None:
        self.client = redis.Redis.from_url(url, socket_timeout=None)
        self.commands: list[str] = []
        self.lock = threading.Lock()

    def __enter__(self) -> "Tap":
        self.monitor = self.client.monitor().__enter__()
        threading.Thread(target=self._listen, name="tap", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.monitor.connection.disconnect()

    def _listen(self) -> None:
        try:
            for heard in self.monitor.listen():
                with self.lock:
                    self.commands.append(heard["command"])
        except (redis.RedisError, OSError, ValueError, AttributeError):
            return  # Hung up by __exit__.

    def heard(self) -> str:
        """Return all commands, and after them what the messages among them hold."""
        with self.lock:
            text = "\n".join(self.commands)
        bodies = re.findall(r'body\\*":\s*\\*"([A-Za-z0-9+/=]{20,})\\*"', text)
        return "\n".join([text, *(base64.b64decode(body).decode(errors="replace") for body in bodies)])


@pytest.fixture(scope="module")
def tapped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Tap, Valkey]]:
    with Valkey() as valkey, Tap(valkey.url) as tap:
        addresses = {"REDIS_URL": valkey.url, "SANDBOX_REDIS_URL": valkey.sandbox_url}
        with Site(tmp_path_factory.mktemp("tapped"), ROUND_S="5", **addresses) as site:
            yield site, tap, valkey


def new_token(visitor: Visitor) -> str:
    """Return an API token; the site asks for the password once more."""
    _, page, path = visitor.post("/api/token/")
    if path != "/api/token/":
        _, page, _ = visitor.post("/accounts/reauthenticate/?next=/api/token/", password=PASSWORD)
    found = re.search(r"soureh_[\w-]{20,}", page)
    assert found, page
    return found[0]


def play_a_table(visitor: Visitor) -> str:
    """Open a table, play a few decisions, and resign; return its code."""
    *_, path = visitor.post("/tables/new/", opponent_1="careful", preset="classic")
    code = path.strip("/").rpartition("/")[2]
    visitor.post_from(path, f"{path}deal/", player_seed="mine")
    for _ in range(3):
        page = until(lambda: own_turn(visitor, path), within_s=60, every_s=0.3, what="a turn of the person's")
        number, move = re.search(r'name="id" value="(\d+)"', page), re.search(r'name="move" value="(d|k\d)"', page)
        assert number and move, page
        visitor.post_from(path, f"{path}move/", id=number[1], move=move[1])
        until(lambda seen=number[0]: seen not in visitor.get(path)[1], within_s=60, every_s=0.3, what="it is taken")
    return code


def own_turn(visitor: Visitor, path: str) -> str:
    page = visitor.get(path)[1]
    return page if 'name="move"' in page else ""


def test_no_secret_passes_through_redis(tapped: tuple[Site, Tap, Valkey]) -> None:
    site, tap, valkey = tapped
    ada = sign_up(site, "ada")
    token = new_token(ada)
    ada.post("/bots/upload/", name="Tapped", source=FIRST_BOT.decode())
    trial = "/api/v1/bots/tapped/versions/1/"
    until(lambda: json.loads(ada.get(trial)[1])["state"] == "ready", within_s=120, every_s=0.5, what="it is tried")
    code = play_a_table(ada)
    until(lambda: site.ask("Pairing.objects.filter(state='rated').count()"), within_s=60, every_s=1, what="a rating")

    heard = tap.heard()
    for expected in ("sandbox.play_match", "sandbox.table_move", "sandbox.bot_answers", code, "soureh_bot.run(choose)"):
        assert expected in heard, expected
    assert re.search(r'"server_seed": ?"[0-9a-f]{64}"', heard), "expected jobs to be read to their bottom"
    secrets = json.loads(site.manage("shell", "--no-imports", "-c", OF_DATABASE).splitlines()[-1]) | {
        "secret key": [(site.folder / "secret_key").read_text().strip()],
        "database": [str(site.folder), "db.sqlite3", site.environment.get("DATABASE_URL", "")],
        "password": [PASSWORD],
        "token": [token],
    }
    assert all(secrets.values())
    found = {kind for kind, values in secrets.items() for value in values if value and value in heard}
    assert found == set()
    # The tap would have heard it, by itself as well as in a message.
    [key] = secrets["secret key"]
    body = base64.b64encode(json.dumps([[token], {}, {}]).encode()).decode()
    with redis.Redis.from_url(valkey.url) as client:
        client.lpush("planted", key, json.dumps({"body": body}))
    until(lambda: key in tap.heard() and token in tap.heard(), what="what is planted is heard")
