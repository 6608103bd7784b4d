"""Open pages hear of news, and a page in a real browser shows it without being loaded again."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter
from django.db import connections, transaction

from ladder import registration
from ladder.consumers import MESSAGES_ALLOWED, TOO_MUCH
from ladder.models import Ladder, Pairing
from ladder.notices import announce
from ladder.ratings import rate
from ladder.routing import websocket_urlpatterns
from ladder.scheduling import hold_round
from tests.ladder.play import finish_all
from tests.ladder.rows import end, make_bot, make_entries, make_ladder, make_pairing, make_user

router = URLRouter(websocket_urlpatterns)


async def listen(path: str, query: bytes = b"") -> ApplicationCommunicator:
    scope = {"type": "websocket", "path": path, "headers": [], "query_string": query}
    listener = ApplicationCommunicator(router, scope)
    await listener.send_input({"type": "websocket.connect"})
    assert (await listener.receive_output(timeout=5))["type"] == "websocket.accept"
    return listener


async def say(listener: ApplicationCommunicator, **words: Any) -> None:
    await listener.send_input({"type": "websocket.receive", **words})


async def heard(listener: ApplicationCommunicator) -> Any:
    return json.loads((await listener.receive_output(timeout=5))["text"])


async def hang_up(listener: ApplicationCommunicator) -> None:
    await listener.send_input({"type": "websocket.disconnect", "code": 1000})
    await listener.wait(timeout=5)


@pytest.mark.parametrize("path", ["/ws/ladders/evening/", "/ws/home/"])
async def test_socket_passes_the_notice_on_and_nothing_else(path: str) -> None:
    listener = await listen(path)
    await sync_to_async(announce)("evening")
    assert await heard(listener) == {"type": "changed"}
    assert await listener.receive_nothing()
    await hang_up(listener)


async def test_socket_tells_what_was_announced_between_the_page_and_itself() -> None:
    rendered = int(time.time())
    await sync_to_async(announce)("noon")
    late = await listen("/ws/ladders/noon/", b"since=%d" % rendered)
    assert await heard(late) == {"type": "changed"}
    await hang_up(late)


@pytest.mark.parametrize("query", [b"", b"since=", b"since=-1", b"since=soon", b"since=" + b"9" * 5000, b"since=%00"])
async def test_socket_of_a_page_that_knows_tells_nothing(query: bytes) -> None:
    await sync_to_async(announce)("dusk")
    listener = await listen("/ws/ladders/dusk/", query)
    assert await listener.receive_nothing(timeout=0.2)
    await hang_up(listener)


async def test_socket_of_another_ladder_hears_nothing() -> None:
    listener = await listen("/ws/ladders/morning/")
    await sync_to_async(announce)("evening")
    assert await listener.receive_nothing(timeout=0.5)
    await hang_up(listener)


async def test_socket_stands_a_few_words_and_closes_on_a_flood() -> None:
    listener = await listen("/ws/home/")
    for word in ["{", "[]", "\0", "x" * 10_000]:
        await say(listener, text=word)
    await say(listener, bytes=b"\xff")
    await sync_to_async(announce)("evening")
    assert await heard(listener) == {"type": "changed"}
    for _ in range(MESSAGES_ALLOWED):
        await say(listener, text="again")
    closing = await listener.receive_output(timeout=5)
    assert (closing["type"], closing["code"]) == ("websocket.close", TOO_MUCH)


def test_announce_survives_redis_being_away(settings, caplog) -> None:
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]},
        }
    }
    announce("evening")
    assert "notice not sent ladder=evening" in caplog.text


@pytest.fixture
def announced(monkeypatch) -> list[str]:
    """The slugs of ladders whose news would have been sent."""
    slugs: list[str] = []
    for module in ("ratings", "scheduling", "registration"):
        monkeypatch.setattr(f"ladder.{module}.announce", slugs.append)
    return slugs


@pytest.mark.django_db(transaction=True)
def test_rounds_ratings_and_entries_are_news_and_what_changed_nothing_is_not(announced: list[str]) -> None:
    owner = make_user()
    ladder = make_ladder(slug="evening")
    make_entries(ladder, 2)
    hold_round(ladder.pk)
    assert announced == ["evening"]
    pairing = Pairing.objects.get()
    assert not rate(pairing.pk)
    assert announced == ["evening"]
    end(pairing.paired_matches.get().match, [1, 2])
    rate(pairing.pk)
    rate(pairing.pk)
    assert announced == ["evening"] * 2
    registration.register(owner, make_bot(owner), ladder)
    assert announced == ["evening"] * 3
    assert hold_round(make_ladder().pk) is None
    assert announced == ["evening"] * 3


@pytest.mark.django_db(transaction=True)
def test_news_of_what_was_rolled_back_is_never_sent(announced: list[str]) -> None:
    ladder = make_ladder()
    make_entries(ladder, 2)
    with pytest.raises(KeyError), transaction.atomic():
        hold_round(ladder.pk)
        raise KeyError
    assert announced == []


def open_page(page: Any, url: str, socket: str) -> None:
    """Open a page and wait until its socket listens."""
    with page.expect_websocket(lambda one: urlsplit(one.url).path == socket) as opened:
        page.goto(url)
    # The consumer joins its group before it accepts; the page says when it has been accepted.
    page.locator("[data-news][data-listens]").wait_for(state="attached")
    assert not opened.value.is_closed()
    page.evaluate("window.stillTheSamePage = true")


def elsewhere(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function as a worker does: in a thread without the event loop that drives the browser."""

    def call() -> Any:
        try:
            return function(*args)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result(60)


def play_and_rate(ladder: Ladder) -> str:
    hold_round(ladder.pk)
    (match,) = finish_all(ladder)
    return match.code


def test_a_rated_match_appears_on_the_open_ladder_page_by_itself(site: str, page: Any) -> None:
    ladder = make_ladder(has_showcase=False)
    first, second = make_entries(ladder, 2)
    open_page(page, site + ladder.get_absolute_url(), f"/ws/ladders/{ladder.slug}/")
    assert page.locator(".match-row").count() == 0
    code = elsewhere(play_and_rate, ladder)
    page.locator(f"#latest #match-{code} .badge-rated").wait_for(timeout=15_000)
    page.locator("#standings").get_by_text("1520").wait_for()
    assert page.evaluate("window.stillTheSamePage") is True


def test_a_result_appears_on_the_open_home_page_by_itself(site: str, page: Any) -> None:
    ladder = make_ladder(has_showcase=False)
    make_entries(ladder, 2)
    open_page(page, site + "/", "/ws/home/")
    code = elsewhere(play_and_rate, ladder)
    page.locator(f"#latest #match-{code}").wait_for(timeout=15_000)
    assert page.evaluate("window.stillTheSamePage") is True


def test_a_waiting_match_turns_into_its_replay_on_the_open_page(site: str, page: Any) -> None:
    ladder = make_ladder(has_showcase=False)
    entries = make_entries(ladder, 2)
    _, match = make_pairing(ladder, entries)
    open_page(page, f"{site}/matches/{match.code}/", f"/ws/ladders/{ladder.slug}/")
    page.get_by_text("Waiting to be played").wait_for()
    elsewhere(finish_all, ladder)
    page.locator("[data-replay] button[data-play]:visible").wait_for(timeout=15_000)
    page.get_by_role("button", name="Step on").click()
    assert "step 1 of" in page.locator("[data-where]").inner_text()
    # The part of the page is put in place anew, as when the match is rated after it has been shown.
    page.evaluate("document.querySelector('[data-part][data-key]:has([data-replay])').dataset.key = 'of old'")
    page.evaluate("document.querySelector('[data-replay]').classList.add('of-old')")
    elsewhere(announce, ladder.slug)
    page.locator("[data-replay]:not(.of-old) button[data-play]:visible").wait_for(timeout=15_000)
    page.get_by_role("button", name="Step on").click()
    assert "step 2 of" in page.locator("[data-where]").inner_text()
    assert page.evaluate("window.stillTheSamePage") is True
