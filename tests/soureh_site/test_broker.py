"""What travels through Redis, who may touch it, and what logs show of it."""

import io
import logging
import socket
import threading

import pytest
import redis

from soureh_site import broker, logs
from soureh_site.celery import app


@pytest.fixture
def sandbox_redis(redis_url):
    import os

    with redis.Redis.from_url(os.environ["SANDBOX_REDIS_URL"]) as client:
        yield client


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("redis://u:p@host:6379/1", "redis://u:p@host:6379/1"),
        ("unix:///run/x.sock", "redis+socket:///run/x.sock"),
        ("unix://u:p@/run/x.sock?db=3", "redis+socket://u:p@/run/x.sock?virtual_host=3"),
    ],
)
def test_broker_url_is_written_as_celery_reads_it(url, expected):
    assert broker.broker_url(url) == expected


def test_task_arguments_do_not_show_in_a_message_beside_its_body(site_redis):
    app.send_task("sandbox.play_match", ({"server_seed": "5eed" * 16},), queue="matches", argsrepr="match=x attempt=1")
    import base64
    import json

    message = json.loads(site_redis.lpop("matches"))
    assert "5eed" in base64.b64decode(message["body"]).decode()
    assert "5eed" not in json.dumps({key: value for key, value in message.items() if key != "body"})


def test_sandbox_user_can_do_its_work(sandbox_redis, site_redis):
    site_redis.set("source:abc", b"x = 1")
    site_redis.set("attempt:m", "1")
    site_redis.lpush("matches", "job")
    assert sandbox_redis.get("source:abc") == b"x = 1" and sandbox_redis.get("attempt:m") == b"1"
    assert sandbox_redis.brpop(["matches"], timeout=1)[1] == b"job"
    sandbox_redis.lpush("results", "outcome")
    assert site_redis.llen("results") == 1


@pytest.mark.parametrize(
    "command",
    [
        ("LRANGE", "results", "0", "-1"),
        ("RPOP", "results"),
        ("LPUSH", "slow", "x"),
        ("GET", ":1:django.contrib.sessions"),
        ("SET", "source:abc", "other"),
        ("SET", "attempt:m", "2"),
        ("SADD", "_kombu.binding.results", "x"),
        ("KEYS", "*"),
        ("SCAN", "0"),
        ("PUBLISH", "table", "x"),
        ("SUBSCRIBE", "table"),
        ("FLUSHALL",),
        ("CONFIG", "GET", "*"),
        ("ACL", "LIST"),
        ("MONITOR",),
        ("EVAL", "return redis.call('GET', 'x')", "0"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_sandbox_user_can_do_nothing_else(sandbox_redis, command):
    with pytest.raises(redis.exceptions.NoPermissionError):
        sandbox_redis.execute_command(*command)


def test_publishing_gives_up_soon_while_the_broker_is_away(tmp_path):
    import time

    from celery import Celery
    from kombu.exceptions import OperationalError

    away = Celery(broker=broker.broker_url(f"unix://{tmp_path}/nobody.sock"), set_as_current=False)
    away.conf.update(broker.CONFIG, broker_transport_options=broker.transport_options("site"))
    began = time.monotonic()
    with pytest.raises(OperationalError):
        away.send_task("games.tasks.dispatch", retry=False)
    assert time.monotonic() - began < 5


def test_broker_that_never_replies_is_given_up(tmp_path):
    from celery import Celery
    from kombu.exceptions import OperationalError

    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"{tmp_path}/silent.sock")
        silent.listen()
        deaf = Celery(broker=broker.broker_url(f"unix://{tmp_path}/silent.sock"), set_as_current=False)
        deaf.conf.update(broker.CONFIG, broker_transport_options=broker.transport_options("site"))
        ended = threading.Event()

        def ask() -> None:
            with pytest.raises(OperationalError):
                deaf.send_task("games.tasks.dispatch", retry=False)
            ended.set()

        threading.Thread(target=ask, daemon=True).start()
        assert ended.wait(60)


def test_a_log_record_is_one_line_with_its_traceback():
    try:
        raise ValueError("first\nsecond")
    except ValueError as error:
        record = logging.LogRecord(
            "room", logging.ERROR, __file__, 1, "broke match=%s", ("a\nb\x1b[31m",), (type(error), error, None)
        )
    line = logs.OneLine(logs.FORMAT).format(record)
    assert "\n" not in line and "\x1b" not in line
    assert "level=ERROR logger=room broke match=a\\nb" in line and "ValueError" in line


def test_a_report_on_an_unknown_message_loses_its_body():
    record = logging.LogRecord(
        "celery", logging.ERROR, "", 1, "The full contents of the message body was:\n%s", ("server_seed=5eed",), None
    )
    assert logs.WithoutBody().filter(record) and "5eed" not in record.getMessage()


@pytest.mark.parametrize(("status", "is_traced"), [(403, False), (404, False), (500, True)])
def test_log_traces_what_is_broken_and_not_what_is_refused(status: int, is_traced: bool) -> None:
    stream = io.StringIO()
    handler = logs.config("INFO")["handlers"]["stderr"]
    writer = logging.StreamHandler(stream)
    writer.setFormatter(logs.OneLine(logs.FORMAT))
    for name in handler["filters"]:
        writer.addFilter(logs.config("INFO")["filters"][name]["()"]())
    try:
        raise PermissionError("not for you")
    except PermissionError as error:
        record = logging.LogRecord("django.request", 30, "", 1, "Forbidden", (), (type(error), error, None))
    record.status_code = status
    writer.handle(record)
    assert ("not for you" in stream.getvalue()) == is_traced
    assert "Forbidden" in stream.getvalue()
