"""How a log record looks: one line, `key=value`. Never imports Django; both kinds of worker use it."""

import logging
import time
from typing import Any

FORMAT = "%(asctime)s level=%(levelname)s logger=%(name)s %(message)s"


class OneLine(logging.Formatter):
    """Format a record, its traceback too, on one line: line ends are written as `\\n`."""

    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def converter(self, seconds: float | None) -> time.struct_time:
        """Return a moment in UTC."""
        return time.gmtime(seconds)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of `record`."""
        lines = super().format(record).replace("\r", "\\r").strip("\n")
        return lines.replace("\n", "\\n").replace("\x1b", "\\x1b")


class WithoutBody(logging.Filter):
    """Drop what Celery repeats of a message that it does not know: the body may hold a seed."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Reduce a report on a message to its first line, and let it pass."""
        if "body" in str(record.msg):
            error = record.args[0] if isinstance(record.args, tuple) and record.args else ""
            named = type(error).__name__ if isinstance(error, Exception) else "unknown format"
            record.msg, record.args, record.exc_info = "message refused error=%s", (named,), None
        return True


class WithoutRefusalsTraceback(logging.Filter):
    """Drop the traceback of an answer below 500: somebody may not do something, and nothing of ours is broken."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Reduce Django's report on a refused request to its line, and let it pass."""
        if getattr(record, "status_code", 500) < 500:
            record.exc_info = record.exc_text = None
        return True


def config(level: str) -> dict[str, Any]:
    """Return the `dictConfig` of a process that logs to stderr at `level`."""
    quiet = {"level": "WARNING"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": OneLine, "format": FORMAT}},
        "filters": {"without_body": {"()": WithoutBody}, "without_refusals": {"()": WithoutRefusalsTraceback}},
        "handlers": {
            "stderr": {
                "class": "logging.StreamHandler",
                "formatter": "line",
                "filters": ["without_body", "without_refusals"],
            },
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # They would print a line per task, arguments or results in it.
            "celery.worker.strategy": quiet,
            "celery.app.trace": quiet,
            "celery.beat": quiet,
            "kombu": quiet,
            "httpx": quiet,
            "uvicorn.access": {"level": "WARNING"},
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
        },
    }
