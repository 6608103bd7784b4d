"""What the trusted and the sandboxed Celery apps have in common. Never imports Django, never reads a setting."""

from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

# Both apps: JSON only, no results kept, acknowledge early, one message ahead, nobody commands a worker remotely.
# What a message costs if its worker is lost is for the sweep to repair, never for the broker to deliver again.
CONFIG: dict[str, Any] = {
    "accept_content": ["json"],
    "task_serializer": "json",
    "task_ignore_result": True,
    "task_acks_late": False,
    "task_default_delivery_mode": "persistent",
    "worker_prefetch_multiplier": 1,
    # A message is taken when a slot is free, so that what waits behind a long match can be played elsewhere.
    "worker_disable_prefetch": True,
    "worker_enable_remote_control": False,
    "worker_send_task_events": False,
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "broker_pool_limit": 4,
    "timezone": "UTC",
    "enable_utc": True,
}


def transport_options(prefix: str) -> dict[str, Any]:
    """Return kombu's Redis options; messages in hand are noted under `prefix`, which no other app's workers read."""
    return {
        "visibility_timeout": 3600,
        "unacked_key": f"{prefix}:unacked",
        "unacked_index_key": f"{prefix}:unacked_index",
        "unacked_mutex_key": f"{prefix}:unacked_mutex",
        "socket_keepalive": True,
        # A worker waits for its next message a second at a time: longer is a reply that never comes, for which it
        # would wait for ever, at its end too.
        "socket_timeout": 10,
        "health_check_interval": 10,
        # Of one attempt to publish, which otherwise would try for ever, and a web page with it.
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.2,
        "interval_max": 0.2,
    }


def broker_url(redis_url: str) -> str:
    """Return `redis_url` as Celery writes it: unix:///path?db=1 is redis+socket:///path?virtual_host=1."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    query = urlencode({("virtual_host" if key == "db" else key): value for key, value in parse_qsl(parts.query)})
    return f"redis+socket://{parts.netloc}{parts.path}" + (f"?{query}" if query else "")
