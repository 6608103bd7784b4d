"""Every setting of the site, from the environment. A bad value raises with the name of its variable.

The README has the table of the variables. Nothing here reads a file but the secret key's.
"""

import os
import secrets
from pathlib import Path
from typing import Any

import django_stubs_ext
from celery.schedules import crontab
from django.utils.translation import gettext_lazy as _

from soureh_site import broker, environment, logs

# Lets Django's classes name their model as their types do: `ModelAdmin[Bot]`.
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
VAR = environment.folder("SOUREH_VAR", BASE_DIR / "var")


def _kept_secret_key() -> str:
    """Return the key kept in `var/`, made at the first start."""
    path, draft = VAR / "secret_key", VAR / f"secret_key.{os.getpid()}"
    if not path.exists():
        # Linked into place whole, so that of several first starts one wins and none reads half a key.
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(50))
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process made it first: its key is read below
        finally:
            draft.unlink()
    return path.read_text().strip()


SECRET_KEY = environment.secret("SECRET_KEY") or _kept_secret_key()
DEBUG = environment.flag("DEBUG", False)
ALLOWED_HOSTS = environment.hosts("ALLOWED_HOSTS", ["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = environment.origins("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "soureh_site",
    "soureh_site.accounts",
    "bots",
    "games",
    "ladder",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "channels",
    "csp",
    "django_filters",
    "django_htmx",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest_framework",
    "rest_framework.authtoken",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "soureh_site.bodies.readable",
    "csp.middleware.CSPMiddleware",
    "soureh_site.static_files.StaticFiles",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "soureh_site.accounts.middleware.new_password_first",
    "django_htmx.middleware.HtmxMiddleware",
]
ROOT_URLCONF = "soureh_site.urls"
ASGI_APPLICATION = "soureh_site.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# The database: SQLite in var/, or what DATABASE_URL names.
SQLITE_OPTIONS = {
    "timeout": 20,
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;PRAGMA busy_timeout=20000;",
}
SQLITE: dict[str, Any] = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(VAR / "db.sqlite3")}
DATABASES = {"default": environment.database("DATABASE_URL", SQLITE)}
if DATABASES["default"]["ENGINE"] == SQLITE["ENGINE"]:
    DATABASES["default"]["OPTIONS"] = SQLITE_OPTIONS
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Redis: broker, channel layer and cache. `manage.py up` sets the address of the Valkey that it starts.
REDIS_URL = environment.redis_address("REDIS_URL", "redis://127.0.0.1:6379/0")
# What the sandboxed workers use: another user of the same server, if the operator made one.
SANDBOX_REDIS_URL = environment.redis_address("SANDBOX_REDIS_URL", REDIS_URL)
CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}}
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [REDIS_URL]}}
}

# The trusted Celery app (celery.py).
CELERY_BROKER_URL = broker.broker_url(REDIS_URL)
CELERY_BROKER_TRANSPORT_OPTIONS = broker.transport_options("site")
globals().update({f"CELERY_{key.upper()}": value for key, value in broker.CONFIG.items()})
CELERY_TASK_DEFAULT_QUEUE = "results"
CELERY_TASK_ROUTES = {
    "sandbox.play_match": {"queue": "matches"},
    "sandbox.table_move": {"queue": "tables"},
    "sandbox.bot_answers": {"queue": "answers"},
    "ladder.tasks.tick": {"queue": "slow"},
    "ladder.tasks.hold_due": {"queue": "slow"},
    "ladder.tasks.move_seasons": {"queue": "slow"},
    "ladder.tasks.move_season": {"queue": "slow"},
    "ladder.tasks.sweep": {"queue": "slow"},
    "ladder.tasks.rate_overlooked": {"queue": "slow"},
    "ladder.tasks.fit_due": {"queue": "slow"},
    "ladder.tasks.fit": {"queue": "slow"},
    "ladder.tasks.judge": {"queue": "slow"},
    "ladder.tasks.review_all": {"queue": "slow"},
    "ladder.tasks.review": {"queue": "slow"},
}
# A web page that enqueues must not hang while the broker is away: what is lost here the sweep finds.
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 2, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.2}


def _every(task: str, seconds: float) -> dict[str, Any]:
    """Return a beat entry; a tick that could not be taken before the next few were due is dropped."""
    return {"task": task, "schedule": seconds, "options": {"expires": max(2 * seconds, 5.0)}}


CELERY_BEAT_SCHEDULE = {
    "dispatch": _every("games.tasks.dispatch", 1.0),
    "release-shows": _every("games.tasks.release_shows", 5.0),
    "sweep-matches": _every("games.tasks.sweep", 5.0),
    "sweep-tables": _every("games.tasks.sweep_tables", 30.0),
    "enforce-clocks": _every("games.tasks.enforce_clocks", 1.0),
    "hold-rounds": _every("ladder.tasks.tick", 1.0),
    "move-seasons": _every("ladder.tasks.move_seasons", 5.0),
    "sweep-ladders": _every("ladder.tasks.sweep", 10.0),
    "fit-ladders": _every("ladder.tasks.fit_due", 10.0),
    # At night, by the clock: a day's distance from the last start might never be over.
    "review-fair-play": {
        "task": "ladder.tasks.review_all",
        "schedule": crontab(hour="4", minute="20"),
        "options": {"expires": 3600},
    },
}

# People.
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
ACCOUNT_ADAPTER = "soureh_site.accounts.adapter.AccountAdapter"
ACCOUNT_FORMS = {"signup": "soureh_site.accounts.forms.SignupForm"}
ACCOUNT_LOGIN_METHODS = {"email", "username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email*", "password1*"]
ACCOUNT_USERNAME_MIN_LENGTH = 2
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Soureh: "
ACCOUNT_USER_DISPLAY = "soureh_site.accounts.models.public_name"
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = False
ACCOUNT_SESSION_REMEMBER = True

# Mail: without EMAIL_URL it goes to the log, and nobody has to confirm an address.
MAIL = environment.mail("EMAIL_URL")
globals().update(MAIL or {"EMAIL_BACKEND": "django.core.mail.backends.console.EmailBackend"})
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if MAIL else "optional"
DEFAULT_FROM_EMAIL = SERVER_EMAIL = environment.sender("DEFAULT_FROM_EMAIL", "Soureh <soureh@localhost>")
EMAIL_TIMEOUT = 10

# Behind HTTPS. The proxy in front must set X-Forwarded-Proto itself; deploy/ has examples that do.
HTTPS = environment.flag("HTTPS", False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_HSTS_SECONDS = 365 * 86400 if HTTPS else 0
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "soureh_site.views.csrf_failure"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "manifest-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English"))]
# How what is not ours speaks here, in English too.
LOCALE_PATHS = [BASE_DIR / "soureh_site" / "locale"]
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = VAR / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "soureh_site.static_files.HashedStorage"
    },
}
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEBUG

LOG_LEVEL = environment.choice("LOG_LEVEL", "INFO", ["DEBUG", "INFO", "WARNING", "ERROR"])
LOGGING = logs.config(LOG_LEVEL)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "soureh_site.tokens.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticatedOrReadOnly"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_PARSER_CLASSES": [
        "bots.parsers.JSONParser",
        "rest_framework.parsers.FormParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_THROTTLE_CLASSES": [
        "rest_framework.throttling.AnonRateThrottle",
        "rest_framework.throttling.UserRateThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {"anon": "120/min", "user": "600/min"},
    # The client's address is the connection's, which uvicorn has put right; a header would let anybody dodge a limit.
    "NUM_PROXIES": 0,
    "EXCEPTION_HANDLER": "soureh_site.api.error_response",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Soureh",
    "VERSION": "1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "VersionState": "bots.models.BotVersion.State",
        "MatchState": "games.models.Match.State",
        "EntryState": "ladder.models.Entry.State",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "soureh_site.api.describe_errors",
    ],
}

# Playing. Times in seconds unless the name says otherwise.
UPLOADS_PER_DAY = environment.number("UPLOADS_PER_DAY", 20, least=1, most=10_000)
ROUND_S = environment.number("ROUND_S", 60, least=5, most=7 * 86400)
SHOWCASE_PACE_MS = environment.number("SHOWCASE_PACE_MS", 1500, least=50, most=60_000)
SANDBOX_SLOTS = environment.number("SANDBOX_SLOTS", max(1, (os.cpu_count() or 2) - 1), least=1, most=1024)
BOT_PYTHON = environment.bot_runtime("BOT_PYTHON")
BOT_PACKAGES = environment.bot_runtime("BOT_PACKAGES")
HEARTBEAT_LOST_S = 20
TABLE_IDLE_S = 30 * 60
