"""Requests that nobody sends by mistake: whatever comes, to whatever address, is refused and breaks nothing."""

import base64
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from games.matches import create_match
from ladder.models import Entry
from soureh_site.bodies import MAX_BYTES
from tests.addresses import addresses
from tests.ladder.rows import CLASSIC, make_entries, make_ladder, make_pairing
from tests.people import person

pytestmark = pytest.mark.django_db
FIELDS = (
    *(
        "bot",
        "person",
        "name",
        "source",
        "file",
        "note",
        "about",
        "ladder",
        "next",
        "id",
        "move",
        "player_seed",
        "preset",
    ),
    "target",
    *("opponent_1", "opponent_2", "username", "email", "login", "password", "password1", "password2", "oldpassword"),
    *("code", "revoke", "remember", "action_add", "action_primary", "action_remove", "action_send", "uid", "key"),
)
FORM = "application/x-www-form-urlencoded"
NESTED = b"[" * 100_000
PART = b'--x\r\nContent-Disposition: form-data; name="bot"'


def form(value: str, *, times: int = 1) -> bytes:
    """Return a form in which every field of the site has this value, each so many times."""
    return "&".join(f"{field}={quote(value)}" for field in FIELDS for _ in range(times)).encode()


BODIES = {
    "nothing": (b"", FORM),
    "empty fields": (form(""), FORM),
    "NUL": (form("a\0b"), FORM),
    "wrong type": (form("[object Object]"), FORM),
    "overlong": (form("9" * 5000), FORM),
    "twice": (form("1", times=2), FORM),
    "not UTF-8": (form("x").replace(b"=x", b"=%ff%fe%ed%a0%80"), FORM),
    "right-to-left": (form("\u202e\u0000\U000e0001"), FORM),
    "too many fields": (b"&".join(b"a%d=1" % number for number in range(2000)), FORM),
    "charset that is no text": (form("x"), f"{FORM}; charset=base64"),
    "charset of old": (form("x"), f"{FORM}; charset=utf-16"),
    "multipart without boundary": (form("x"), "multipart/form-data"),
    "multipart in no text": (PART + b"\r\n\r\na\r\n--x--", "multipart/form-data; boundary=x; charset=rot13"),
    "multipart cut off": (PART + b'; filename="../\0a.py"', "multipart/form-data; boundary=x"),
    "JSON list": (b"[1]", "application/json"),
    "JSON without end": (b'{"name":', "application/json"),
    "JSON too deep": (NESTED, "application/json"),
    "JSON surrogate": (b'{"name":"\\ud800","bot":"\\ud800","ladder":"\\u0000","about":"\\udfff"}', "application/json"),
    "JSON wrong types": (b'{"name":{},"bot":[],"ladder":1e999,"about":null,"file":7}', "application/json"),
    "no type": (b"\0\1", ""),
}  # fmt: skip
QUERIES = (
    *("?q=%00&after=%00&bot=%00&ladder=%00&before=%00&next=%00&hand=%00&step=%00", "?next=http://%5b&bot=a&bot=b"),
    *("?old=-1&new=" + "9" * 40, "?old=1&new=%EF%BC%91&page=" + "9" * 40),
    *("?cursor=" + base64.b64encode(text).decode() for text in (b"p=a\0b", b"p=" + b"9" * 40, b"o=9&p=\xff")),
    *("?limit=-1&offset=" + "9" * 40, "?hand=" + "9" * 40 + "&step=-1&before=" + "9" * 18, "?format=%00&state=%00"),
)


@pytest.fixture
def fill() -> dict[str, list[Any]]:
    """What the gaps of the URLconf are filled with beside the usual: rows of ada's, and what is no such thing."""
    ada = person("ada")
    table = create_match(kind="table", rules=CLASSIC, entrants=[{"user": ada}, {"user": person("ben")}])
    ladder = make_ladder(name="Hostile")
    [entry] = make_entries(ladder, 1, owner=ada)
    pairing, _match = make_pairing(ladder, [entry, *make_entries(ladder, 1)])
    return {
        "code": [table.code],
        "slug": [ladder.slug, entry.bot.slug],
        "bot": [entry.bot.slug],
        "username": ["ada", "%00"],
        "pk": [entry.pk],
        "pairing": [pairing.pk],
        "id": [ada.pk],
        "change": ["pause", "return", "ready", "unready"],
        "object_id": [table.pk],
        "key": ["abc", "%00-%00"],
        "uidb36": ["1", "zzzzzzzzzzzz"],
    }


@pytest.fixture
def ada(fill: dict[str, list[Any]]) -> Client:
    """A browser in which ada is logged in."""
    client = Client(raise_request_exception=False)
    client.force_login(get_user_model().objects.get(username="ada"))
    return client


def our_addresses(fill: dict[str, list[Any]]) -> list[str]:
    """Return every address but those of the admin, into which nobody gets who means harm."""
    return [place for place in addresses(fill) if not place.startswith("/admin/")]


def broken(ask: Callable[[str], Any], places: list[str]) -> list[str]:
    """Return the addresses that answer with a failure of ours."""
    return [f"{place}: {status}" for place in places if (status := ask(place).status_code) >= 500]


@pytest.mark.parametrize("name", BODIES)
def test_no_body_breaks_any_address(ada: Client, fill: dict[str, list[Any]], name: str) -> None:
    body, kind = BODIES[name]
    # Logging out comes last, or what follows would be asked by nobody.
    places = sorted(our_addresses(fill), key=lambda place: "logout" in place)
    assert broken(lambda place: ada.generic("POST", place, body, content_type=kind), places) == []
    changed = [place for place in places if place.startswith("/api/v1/bots/")]
    assert broken(lambda place: ada.generic("PATCH", place, body, content_type=kind), changed) == []


@pytest.mark.parametrize("query", QUERIES)
def test_no_query_breaks_any_address(ada: Client, fill: dict[str, list[Any]], query: str) -> None:
    assert broken(lambda place: ada.get(place + query), our_addresses(fill)) == []


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"])
def test_no_method_breaks_any_address(ada: Client, fill: dict[str, list[Any]], method: str) -> None:
    assert broken(lambda place: ada.generic(method, place), our_addresses(fill)) == []


def test_no_form_is_taken_without_its_token(fill: dict[str, list[Any]]) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(get_user_model().objects.get(username="ada"))
    before = everything()
    # 405 where there is no form; what the API's own addresses say to a session is the same refusal in JSON.
    told = {place: client.post(place, {"name": "x", "change": "x"}).status_code for place in addresses(fill)}
    assert {place: status for place, status in told.items() if status not in (400, 403, 404, 405)} == {}
    assert sum(status == 403 for status in told.values()) > 30
    assert everything() == before
    assert client.get("/my/bots/").status_code == 200, "nobody was logged out"


def everything() -> dict[str, list[Any]]:
    """Return all rows of the site's own tables, but what a visit itself leaves."""
    models = [model for model in apps.get_models() if model.__name__ != "Session"]
    return {model._meta.label: list(model._default_manager.order_by("pk").values()) for model in models}


def test_refusals_of_the_api_are_json(ada: Client) -> None:
    deep = ada.post(reverse("api-bot-list"), NESTED, content_type="application/json")
    assert (deep.status_code, deep.json()["code"]) == (400, "parse_error")
    strange = ada.post(reverse("api-bot-list"), b"{}", content_type="application/json; charset=utf-16")
    assert (strange.status_code, strange.json()["code"]) == (400, "charset")


@pytest.mark.parametrize(
    "where", ["http://evil.example/", "//evil.example", "/\\evil.example", "javascript:a", "http://["]
)
def test_nobody_is_led_away_from_the_site(ada: Client, where: str) -> None:
    entry = Entry.objects.filter(bot__owner__username="ada", state="active").first()
    assert ada.post(f"/entries/{entry.pk}/pause/", {"next": where}).headers["Location"].startswith("/ladders/")
    assert ada.get("/accounts/login/", {"next": where}).headers["Location"] == "/"
    assert ada.post("/accounts/logout/", {"next": where}).headers["Location"] == "/"


@pytest.mark.parametrize("path", ["/accounts/login/", "/api/v1/entries/"])
@pytest.mark.parametrize("is_stated", [True, False], ids=["stated", "chunked"])
@pytest.mark.django_db(transaction=True)
def test_body_without_end_is_not_taken_in(site: str, path: str, is_stated: bool) -> None:
    import http.client

    connection = http.client.HTTPConnection(site.removeprefix("http://"), timeout=20)
    sent = 0

    def parts() -> Iterator[bytes]:
        nonlocal sent
        while sent < 4 * MAX_BYTES:
            sent += 65_536
            yield b"a" * 65_536

    headers = {"Content-Type": FORM}
    try:
        if is_stated:
            connection.putrequest("POST", path)
            connection.putheader("Content-Length", str(1 << 40))
            connection.endheaders()
        else:
            connection.request("POST", path, parts(), headers, encode_chunked=True)
    except (BrokenPipeError, ConnectionResetError):
        pass  # It has answered, and hangs up.
    answer = connection.getresponse()
    assert answer.status == 413 and b"4 MiB" in answer.read()
    connection.close()
