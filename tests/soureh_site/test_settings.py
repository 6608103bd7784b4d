"""Settings come from the environment; a bad one stops the start with its name and tells no secret."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

ROOT = Path(__file__).resolve().parents[2]
SECRET = "hunter2-is-secret"
BAD = [
    ("DEBUG", "maybe", "yes or no"),
    ("HTTPS", "2", "yes or no"),
    ("ROUND_S", "soon", "a whole number from 5 to 604800"),
    ("ROUND_S", "4", "a whole number from 5 to 604800"),
    ("UPLOADS_PER_DAY", "0", "a whole number from 1 to 10000"),
    ("SANDBOX_SLOTS", "1.5", "a whole number from 1 to 1024"),
    ("SANDBOX_SLOTS", "100000", "a whole number from 1 to 1024"),
    ("ROUND_S", "9" * 20, "a whole number from 5 to 604800"),
    ("SHOWCASE_PACE_MS", "-50", "a whole number from 50 to 60000"),
    ("BOT_PYTHON", "python3", "the whole path of an interpreter"),
    ("BOT_PYTHON", "/no/such/python", "the whole path of an interpreter"),
    ("BOT_PYTHON", "/etc/passwd", "the whole path of an interpreter"),
    ("BOT_PACKAGES", "numpy", "the whole path of a folder"),
    ("BOT_PACKAGES", "/no/such/folder", "the whole path of a folder"),
    ("BOT_PACKAGES", "/", "the whole path of a folder"),
    ("SECRET_KEY", "CHANGE-ME", "at least 32 characters"),
    ("SOUREH_VAR", "/dev/null", "a folder"),
    ("SOUREH_VAR", "/proc/no-such", "a folder"),
    ("ALLOWED_HOSTS", "https://soureh.example.org", "names such as"),
    ("ALLOWED_HOSTS", "soureh.example.org:8000", "names such as"),
    ("ALLOWED_HOSTS", "soureh.example.org other", "names such as"),
    ("CSRF_TRUSTED_ORIGINS", "other.example.org", "origins such as"),
    ("CSRF_TRUSTED_ORIGINS", "https://other.example.org/path", "origins such as"),
    ("DEFAULT_FROM_EMAIL", "nobody", "an address such as"),
    ("DEFAULT_FROM_EMAIL", "Soureh <soureh", "an address such as"),
    ("LOG_LEVEL", "loud", "one of DEBUG, INFO, WARNING, ERROR"),
    ("DATABASE_URL", f"mysql://u:{SECRET}@host/name", "postgresql://"),
    ("DATABASE_URL", f"postgresql://u:{SECRET}@host:port/name", "postgresql://"),
    ("DATABASE_URL", f"postgresql://u:{SECRET}@host", "postgresql://"),
    ("DATABASE_URL", SECRET, "postgresql://"),
    ("REDIS_URL", f"http://:{SECRET}@host", "redis://host"),
    ("REDIS_URL", f"redis://:{SECRET}@host:port/0", "redis://host"),
    ("REDIS_URL", "unix://", "redis://host"),
    ("SANDBOX_REDIS_URL", SECRET, "redis://host"),
    ("EMAIL_URL", f"carrier-pigeon://u:{SECRET}@host", "smtp://"),
    ("EMAIL_URL", f"smtp://u:{SECRET}@host:port", "smtp://"),
    ("EMAIL_URL", SECRET, "smtp://"),
    ("EMAIL_URL", "smtp://", "smtp://"),
    ("EMAIL_URL", f"submission://me:{SECRET}@:587", "smtp://"),
]


def start(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a management command in an environment that holds nothing but what is given."""
    clean = {"PATH": os.environ["PATH"], "SOUREH_VAR": str(folder), **environment}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments], cwd=ROOT, env=clean, capture_output=True, text=True
    )


def read(folder: Path, *names: str, **environment: str) -> dict:
    """Return settings as a process with this environment sees them."""
    code = "import json;from django.conf import settings as s;print(json.dumps({n: getattr(s, n) for n in %r}))"
    done = start(folder, "shell", "--no-imports", "-c", code % (names,), **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("name", "value", "expected"), BAD, ids=[f"{name}-{n}" for n, (name, *_) in enumerate(BAD)])
def test_settings_refuse_a_bad_value_by_name(tmp_path, monkeypatch, name, value, expected):
    monkeypatch.setenv("SOUREH_VAR", str(tmp_path))
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as refused:
        runpy.run_path(str(ROOT / "soureh_site" / "settings.py"))
    assert str(refused.value).startswith(f"{name}: expected {expected}")
    assert SECRET not in str(refused.value)
    assert refused.value.__cause__ is None and (refused.value.__suppress_context__ or not refused.value.__context__)


def test_lists_of_hosts_and_origins_are_taken(tmp_path):
    given = {
        "ALLOWED_HOSTS": "soureh.example.org, .example.net,[::1],10.0.0.7,*",
        "CSRF_TRUSTED_ORIGINS": "https://other.example.org,http://localhost:8080,https://*.example.net",
    }
    seen = read(tmp_path, *given, **given)
    assert seen == {name: [part.strip() for part in value.split(",")] for name, value in given.items()}


@pytest.mark.parametrize(
    ("name", "value"),
    [("ROUND_S", "x"), ("DEBUG", "x"), ("DATABASE_URL", f"pg://{SECRET}@h"), ("EMAIL_URL", f"x://u:{SECRET}@h")],
)
def test_a_bad_value_stops_the_start_with_one_line(tmp_path, name, value):
    done = start(tmp_path, "up", **{name: value})
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith(f"error: {name}: expected ") and done.stderr.count("\n") == 1
    assert SECRET not in done.stderr


def test_defaults_are_safe(tmp_path):
    seen = read(tmp_path, "DEBUG", "ALLOWED_HOSTS", "EMAIL_BACKEND", "ACCOUNT_EMAIL_VERIFICATION", "SECRET_KEY")
    assert seen["DEBUG"] is False and "*" not in seen["ALLOWED_HOSTS"]
    assert seen["EMAIL_BACKEND"].endswith("console.EmailBackend") and seen["ACCOUNT_EMAIL_VERIFICATION"] == "optional"
    kept = tmp_path / "secret_key"
    assert kept.read_text() == seen["SECRET_KEY"] and len(seen["SECRET_KEY"]) >= 50
    assert kept.stat().st_mode & 0o077 == 0
    assert read(tmp_path, "SECRET_KEY") == {"SECRET_KEY": seen["SECRET_KEY"]}


def test_given_addresses_are_used(tmp_path):
    seen = read(
        tmp_path,
        *("EMAIL_HOST", "EMAIL_PORT", "EMAIL_USE_TLS", "ACCOUNT_EMAIL_VERIFICATION", "DATABASES", "CELERY_BROKER_URL"),
        *("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS"),
        EMAIL_URL="submission://me:word@mail.example.org:587",
        DATABASE_URL="postgresql://u:p@db.example.org:5433/name",
        REDIS_URL="unix://site:word@/run/redis.sock?db=2",
        HTTPS="yes",
    )
    assert (seen["EMAIL_HOST"], seen["EMAIL_PORT"], seen["EMAIL_USE_TLS"]) == ("mail.example.org", 587, True)
    assert seen["ACCOUNT_EMAIL_VERIFICATION"] == "mandatory"
    assert seen["DATABASES"]["default"]["HOST"] == "db.example.org" and seen["DATABASES"]["default"]["PORT"] == 5433
    assert seen["CELERY_BROKER_URL"] == "redis+socket://site:word@/run/redis.sock?virtual_host=2"
    assert seen["SESSION_COOKIE_SECURE"] and seen["CSRF_COOKIE_SECURE"] and seen["SECURE_SSL_REDIRECT"]
    assert seen["SECURE_HSTS_SECONDS"] > 0


def test_sqlite_takes_the_write_lock_at_once_and_writes_ahead(tmp_path):
    options = read(tmp_path, "DATABASES")["DATABASES"]["default"]["OPTIONS"]
    assert options["transaction_mode"] == "IMMEDIATE" and "journal_mode=WAL" in options["init_command"]
