"""Read settings from the environment; a bad value raises with its variable's name and what was expected.

A value is never repeated in a message if it may hold a password: addresses of servers and keys.
An empty variable counts as one that is not given.
"""

import os
import re
from collections.abc import Callable, Sequence
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email
from environs import Env, EnvError

from bots.sandbox.runtime import read_variables

_env = Env()
MAIL_SCHEMES = ("smtp", "submission", "smtps", "smtp+tls", "smtp+ssl")
HOST = re.compile(r"\*|\.?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\]", re.ASCII)
ORIGIN = re.compile(r"https?://(\*\.)?([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?", re.ASCII)
SECRET_LEAST = 32
DATABASE_ENGINES = ("django.db.backends.sqlite3", "django.db.backends.postgresql")


def text(name: str, default: str = "") -> str:
    """Return the variable as it stands."""
    return os.environ.get(name) or default


def folder(name: str, default: Path) -> Path:
    """Return a folder that can be written to, made if it is not there."""
    path = Path(text(name) or default).resolve()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise _bad(name, "a folder that is there or can be made", str(path)) from None
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise _bad(name, "a folder that can be written to", str(path))
    return path


def secret(name: str) -> str:
    """Return a key that cannot be guessed, or an empty string if none is given."""
    value = text(name)
    if value and len(value) < SECRET_LEAST:
        raise _bad(name, f"at least {SECRET_LEAST} characters")
    return value


def hosts(name: str, default: Sequence[str]) -> list[str]:
    """Return names of hosts, written with commas."""
    return _list(name, HOST, "names such as soureh.example.org, with commas, without https:// and port") or [*default]


def origins(name: str) -> list[str]:
    """Return origins of other sites, written with commas."""
    return _list(name, ORIGIN, "origins such as https://other.example.org, with commas")


def sender(name: str, default: str) -> str:
    """Return an address for the From line of a mail."""
    value = text(name, default)
    try:
        validate_email(parseaddr(value)[1])
    except ValidationError:
        raise _bad(name, "an address such as Soureh <soureh@example.org>", value) from None
    return value


def flag(name: str, default: bool) -> bool:
    """Return a yes or no."""
    return _read(_env.bool, name, "yes or no", is_shown=True) if text(name) else default


def number(name: str, default: int, *, least: int, most: int) -> int:
    """Return a whole number from `least` to `most`."""
    expected = f"a whole number from {least} to {most}"
    value = _read(_env.int, name, expected, is_shown=True) if text(name) else default
    if not least <= value <= most:
        raise _bad(name, expected, text(name))
    return value


def choice(name: str, default: str, allowed: Sequence[str]) -> str:
    """Return one of `allowed`, which are upper case, however the variable is written."""
    value = text(name, default).upper()
    if value not in allowed:
        raise _bad(name, "one of " + ", ".join(allowed), text(name))
    return value


def redis_address(name: str, default: str) -> str:
    """Return the address of a Redis: redis://, rediss:// or unix://."""
    expected = "redis://host:port/0, rediss://host:port/0 or unix:///path/to/socket"
    value = text(name, default)
    parts = _read(lambda _: urlsplit(value), name, expected)
    has_place = parts.path.strip("/") if parts.scheme == "unix" else _host_of(parts)
    if parts.scheme not in {"redis", "rediss", "unix"} or not has_place:
        raise _bad(name, expected)
    return value


def database(name: str, default: dict[str, Any]) -> dict[str, Any]:
    """Return Django's description of a SQLite or PostgreSQL database."""
    if not text(name):
        return dict(default)
    expected = "postgresql://user:password@host:port/name or sqlite:////path/to/file"
    value = _read(_env.dj_db_url, name, expected)
    if value.get("ENGINE") not in DATABASE_ENGINES or not value.get("NAME"):
        raise _bad(name, expected)
    return dict(value)


def mail(name: str) -> dict[str, Any]:
    """Return Django's mail settings by name, none of them if the variable is empty."""
    expected = "smtp://user:password@host:port (submission:// for STARTTLS, smtps:// for TLS)"
    if not text(name):
        return {}
    value = _read(_env.dj_email_url, name, expected)
    # Of an address without a host the parser makes localhost.
    if not _host_of(urlsplit(text(name))) or text(name).partition("://")[0] not in MAIL_SCHEMES:
        raise _bad(name, expected)
    return {key: found for key, found in value.items() if key != "EMAIL_FILE_PATH"}


def bot_runtime(name: str) -> str | None:
    """Return a path to what bots run on. Workers that run them read it themselves; here a bad one stops the start."""
    try:
        python, packages = read_variables(os.environ)
    except ValueError as error:
        raise ImproperlyConfigured(str(error)) from None
    return {"BOT_PYTHON": python, "BOT_PACKAGES": packages}[name]


def _list(name: str, item: re.Pattern[str], expected: str) -> list[str]:
    """Return the parts of a list that is written with commas, each of them an `item`."""
    parts = [part for written in text(name).split(",") if (part := written.strip())]
    for part in parts:
        if not item.fullmatch(part):
            raise _bad(name, expected, part)
    return parts


def _host_of(parts: Any) -> str | None:
    """Return the host of a split address; None if there is none or its port is no port."""
    try:
        return parts.hostname if parts.port is None or parts.port else None
    except ValueError:
        return None


def _read(read: Callable[[str], Any], name: str, expected: str, *, is_shown: bool = False) -> Any:
    """Return `read(name)`; a value that it refuses is reported without a trace of the value's parts."""
    try:
        return read(name)
    except (EnvError, ValueError):
        raise _bad(name, expected, text(name) if is_shown else None) from None


def _bad(name: str, expected: str, found: str | None = None) -> ImproperlyConfigured:
    """Return the error for a bad value; `found` only where it cannot be a secret."""
    return ImproperlyConfigured(f"{name}: expected {expected}" + (f": {found[:40]!r}" if found is not None else ""))
