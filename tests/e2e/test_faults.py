"""Through the running site: one bot for each kind of fault, and beside each a harmless control.

Each gets its fault, its owner sees why, nobody else does, and its opponents are unharmed. Everything
is real: `manage.py up`, its sandboxed workers, pages and API over HTTP with sessions of two people.
"""

import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import pytest
from django.utils.html import escape

from bots.sandbox import probe
from tests.live import Site, until

pytestmark = pytest.mark.e2e

BOT = """import ctypes, os, time
import soureh_bot

MARK = "{mark}"
{at_start}

def choose(turn):
    soureh_bot.log(MARK, len(turn.legal))
    {in_turn}
    return turn.rng.choice(turn.legal)


soureh_bot.run(choose)
"""
# By kind: where the crime stands, the crime, and what comes close to it and is allowed.
CRIMES = {
    "start": ("at_start", "time.sleep(60)", "time.sleep(0.1)"),
    "timeout": ("in_turn", "while True: pass", "sum(range(1000))"),
    "illegal": ("in_turn", "return 'k4'", "return turn.legal[-1]"),
    "protocol": ("in_turn", "os.write(1, b'not JSON' + bytes([10]))", "print('not JSON')"),
    "crash": ("in_turn", "raise RuntimeError(MARK + ' is over')", "os.path.exists('/no/such/file')"),
    "memory": ("in_turn", "hoard = bytearray(2 << 30)", "hoard = bytearray(1 << 20)"),
    "output": ("in_turn", "while True: os.write(1, b'x' * 65536)", "soureh_bot.log('x' * 100)"),
    "violation": ("in_turn", "ctypes.CDLL(None).ptrace(16, 1, 0, 0)", "ctypes.CDLL(None).getpid()"),
}
PUBLIC = [
    "/",
    "/bots/",
    "/ladders/",
    "/matches/",
    "/people/ada/",
    "/api/v1/bots/?limit=200",
    "/api/v1/matches/?limit=200",
]


def source(kind: str, *, is_control: bool) -> str:
    """Return the bot that commits this fault, or the one that comes close to it."""
    place, crime, harmless = CRIMES[kind]
    parts = {"at_start": "", "in_turn": "", place: harmless if is_control else crime}
    return BOT.format(mark=mark(kind, is_control=is_control), **parts)


def bot_name(kind: str, *, is_control: bool) -> str:
    return f"{kind} {'control' if is_control else 'culprit'}"


def mark(kind: str, *, is_control: bool) -> str:
    """Return what the bot writes to its log in every turn, and nobody but its owner may ever read."""
    return f"MARK-{kind.upper()}-{'CONTROL' if is_control else 'CULPRIT'}"


class Visitor:
    """A browser without the looks: cookies, forms with their token, redirects."""

    def __init__(self, site: Site) -> None:
        self.url = site.url
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def get(self, path: str) -> tuple[int, str, str]:
        """Return status, text and final path."""
        return self._open(urllib.request.Request(self.url + path))

    def post(self, path: str, **fields: str) -> tuple[int, str, str]:
        """Send the form at `path`; return status, text and final path."""
        return self.post_from(path, path, **fields)

    def post_from(self, page_path: str, path: str, **fields: str) -> tuple[int, str, str]:
        """Send a form that stands on another page to `path`; return status, text and final path."""
        _, page, _ = self.get(page_path)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        assert token, page
        data = urllib.parse.urlencode({"csrfmiddlewaretoken": token[1], **fields}).encode()
        return self._open(urllib.request.Request(self.url + path, data, {"Referer": self.url + page_path}))

    def _open(self, request: urllib.request.Request) -> tuple[int, str, str]:
        try:
            with self.opener.open(request, timeout=30) as answer:
                return answer.status, answer.read().decode(), urllib.parse.urlsplit(answer.url).path
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(), urllib.parse.urlsplit(error.url or "").path


def sign_up(site: Site, name: str) -> Visitor:
    visitor = Visitor(site)
    password = "correct horse battery"
    fields = {"username": name, "email": f"{name}@example.org", "password1": password}
    status, page, path = visitor.post("/accounts/signup/", **fields)
    assert (status, path) == (200, "/"), page
    return visitor


@dataclass
class Trials:
    """All bots of the test, uploaded and tried: what each one's owner is told, by (kind, is_control)."""

    owner: Visitor
    other: Visitor
    stranger: Visitor
    told: dict[tuple[str, bool], dict[str, str]]


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Trials]]:
    report = probe()
    assert report.ok, report.reason
    with Site(tmp_path_factory.mktemp("faults"), UPLOADS_PER_DAY="100", ROUND_S="600", SANDBOX_SLOTS="2") as site:
        owner, other, stranger = sign_up(site, "ada"), sign_up(site, "ben"), Visitor(site)
        wanted = [(kind, is_control) for kind in CRIMES for is_control in (False, True)]
        for kind, is_control in wanted:
            name, text = bot_name(kind, is_control=is_control), source(kind, is_control=is_control)
            status, page, path = owner.post("/bots/upload/", name=name, source=text)
            assert (status, path) == (200, version_page(kind, is_control=is_control)), page
        told = {}
        for kind, is_control in wanted:
            tried = partial(is_over, owner, kind, is_control=is_control)
            until(tried, within_s=120, every_s=0.5, what=f"{kind} is tried")
            told[kind, is_control] = json.loads(owner.get(trial_api(kind, is_control=is_control))[1])
        yield site, Trials(owner, other, stranger, told)


def slug(kind: str, *, is_control: bool) -> str:
    return bot_name(kind, is_control=is_control).replace(" ", "-")


def version_page(kind: str, *, is_control: bool) -> str:
    return f"/bots/{slug(kind, is_control=is_control)}/versions/1/"


def version_api(kind: str, *, is_control: bool) -> str:
    return "/api/v1" + version_page(kind, is_control=is_control)


def trial_api(kind: str, *, is_control: bool) -> str:
    return version_api(kind, is_control=is_control) + "trial/"


def is_over(owner: Visitor, kind: str, *, is_control: bool) -> bool:
    status, text, _ = owner.get(version_api(kind, is_control=is_control))
    assert status == 200, text
    return json.loads(text)["state"] != "trial"


KINDS = pytest.mark.parametrize("kind", CRIMES)


@KINDS
def test_culprit_gets_its_fault_and_its_owner_sees_why(trials: tuple[Site, Trials], kind: str) -> None:
    _, found = trials
    told = found.told[kind, False]
    assert (told["fault"], told["state"]) == (kind, "finished")
    assert told["fault_detail"]
    version = json.loads(found.owner.get(version_api(kind, is_control=False))[1])
    assert version["state"] == "failed"
    _, page, _ = found.owner.get(version_page(kind, is_control=False))
    assert f'<span class="badge badge-fault">{kind}</span>' in page
    assert escape(told["fault_detail"]) in page
    if kind != "start":
        assert mark(kind, is_control=False) in told["stderr"]
        assert mark(kind, is_control=False) in page


@KINDS
def test_control_passes_and_its_log_is_kept(trials: tuple[Site, Trials], kind: str) -> None:
    _, found = trials
    told = found.told[kind, True]
    assert (told["fault"], told["fault_detail"], told["state"]) == ("", "", "finished")
    assert mark(kind, is_control=True) in told["stderr"]
    assert json.loads(found.owner.get(version_api(kind, is_control=True))[1])["state"] == "ready"


@KINDS
@pytest.mark.parametrize("is_control", [False, True], ids=["culprit", "control"])
def test_nobody_else_sees_trial_log_or_source(trials: tuple[Site, Trials], kind: str, is_control: bool) -> None:
    _, found = trials
    match = found.told[kind, is_control]["match"]
    page = version_page(kind, is_control=is_control)
    hidden = [page, page + "source", trial_api(kind, is_control=is_control)]
    hidden += [f"/matches/{match}/", f"/matches/{match}/record.json", f"/matches/{match}/replay.json?hand=1"]
    hidden += [f"/api/v1/matches/{match}/", f"/api/v1/matches/{match}/record/", f"/tables/{match}/"]
    for path in hidden:
        assert found.other.get(path)[0] == 404, path
        status, text, final = found.stranger.get(path)
        assert status in (401, 404) or final == "/accounts/login/", path
        assert mark(kind, is_control=is_control) not in text


def test_no_public_page_tells_of_the_faults(trials: tuple[Site, Trials]) -> None:
    _, found = trials
    pages = PUBLIC + [f"/bots/{slug(kind, is_control=one)}/" for kind in CRIMES for one in (False, True)]
    pages += [f"/api/v1{page}" for page in pages if page.startswith("/bots/") and page != "/bots/"]
    trials_of_others = [told["match"] for told in found.told.values()]
    details = [told["fault_detail"] for told in found.told.values() if told["fault_detail"]]
    for visitor in (found.other, found.stranger):
        for path in pages:
            status, text, _ = visitor.get(path)
            assert status == 200, path
            assert "MARK-" not in text, path
            assert not [one for one in (*trials_of_others, *details) if one in text], path


def test_opponents_are_unharmed(trials: tuple[Site, Trials]) -> None:
    site, found = trials
    players = site.ask("list(Seat.objects.filter(match__kind='trial').values_list('match__code', 'entrant', 'fault'))")
    assert len(players) == 3 * len(found.told)
    assert {fault for _, entrant, fault in players if entrant > 0} == {""}
    assert (
        site.ask("list(BotVersion.objects.filter(bot__owner=None).exclude(state='ready').values_list('bot__name'))")
        == []
    )


def test_no_attempt_was_lost_and_nothing_is_void(trials: tuple[Site, Trials]) -> None:
    site, _ = trials
    states = site.ask("list(Match.objects.filter(kind='trial').values_list('state', 'attempt', 'lost_attempts'))")
    assert {tuple(one) for one in states} == {("finished", 1, 0)}
