"""The API: each door's success, then who may not, what is never told, and what a refusal looks like."""

import hashlib
import itertools
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from jsonschema import validate
from rest_framework.authtoken.models import Token
from rest_framework.test import APIClient
from rest_framework.throttling import SimpleRateThrottle

from bots import rates
from bots.models import Bot, BotVersion, Switch
from bots.upload_rules import SOURCE_MAX
from bots.versions import add_version, limit_sentences
from games.matches import create_match
from games.models import Match, Seat, SeatLog
from ladder.fits import fit_ladder
from ladder.models import Entry, Ladder
from ladder.ratings import rate
from ladder.registration import register
from soureh_site.tokens import issue
from tests.bots.archives import archive
from tests.ladder.play import finish_one
from tests.ladder.rows import end, make_bot, make_entries, make_ladder, make_pairing, void
from tests.people import FIRST_BOT, person, uploaded

API = "/api/v1/"
OTHER_BOT = FIRST_BOT + b"# improved\n"
SECRETS = ("example.org", "server_seed", "SECRET")


@pytest.fixture(autouse=True)
def surroundings(db: None, settings: Any) -> None:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}


@pytest.fixture
def ada() -> Any:
    return person("ada")


@pytest.fixture
def ben() -> Any:
    return person("ben")


@pytest.fixture
def anybody() -> APIClient:
    return APIClient()


def program(user: Any) -> APIClient:
    """Return a client that speaks for `user` by a token."""
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Token {issue(user)}")
    return client


def file(data: bytes = FIRST_BOT, name: str = "bot.py") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


def trial_of(version: BotVersion, *, fault: str = "") -> Match:
    """Return the finished trial of a version, with a log that only its owner may read."""
    match = create_match(
        kind="trial", rules={"preset": "classic"}, entrants=[{"version": version}, {"version": house_version()}]
    )
    end(match, [2, 1])
    seat = Seat.objects.get(match=match, entrant=0)
    Seat.objects.filter(pk=seat.pk).update(fault=fault)
    SeatLog.objects.create(seat=seat, stderr="SECRET stderr", fault_detail="SECRET detail")
    return match


def house_version() -> BotVersion:
    return make_bot().versions.get()


def results(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.content
    return answer.json()["results"]


# Reading


def test_ladders_are_listed_with_their_rules(anybody: APIClient) -> None:
    make_ladder(name="Classic for two", slug="classic-for-two")
    (shown,) = results(anybody.get(API + "ladders/"))
    assert (shown["slug"], shown["rules"]["preset"]) == ("classic-for-two", "classic")
    assert anybody.get(API + "ladders/classic-for-two/").json() == shown


def test_standings_are_best_first_without_the_withdrawn(anybody: APIClient) -> None:
    ladder = make_ladder(slug="two")
    entries = make_entries(ladder, 4)
    for entry, rating in zip(entries, (1400.0, 1600.0, 1600.0, 1700.0), strict=True):
        Entry.objects.filter(pk=entry.pk).update(rating=rating)
    Entry.objects.filter(pk=entries[3].pk).update(state="withdrawn")
    rows = results(anybody.get(API + "ladders/two/standings/"))
    assert [(row["rank"], row["rating"]) for row in rows] == [(1, 1600.0), (1, 1600.0), (3, 1400.0)]
    (last,) = results(anybody.get(API + "ladders/two/standings/?limit=1&offset=2"))
    assert last == rows[2]


def test_bots_are_listed_by_name_with_the_version_that_plays(anybody: APIClient, ada: Any) -> None:
    uploaded(ada, "Tom", state="ready")
    uploaded(ada, "Mim")
    make_bot(name="Zed")
    shown = [(bot["name"], bot["owner"], bot["playing_version"]) for bot in results(anybody.get(API + "bots/"))]
    assert shown == [("Mim", "ada", None), ("Tom", "ada", 1), ("Zed", None, 1)]


def test_list_pages_join_without_a_gap_or_a_repeat(anybody: APIClient) -> None:
    for _ in range(5):
        make_bot()
    address, seen = API + "bots/?limit=2", []
    while address:
        page = anybody.get(address).json()
        seen += [bot["slug"] for bot in page["results"]]
        address = page["next"]
    assert sorted(seen) == sorted(Bot.objects.values_list("slug", flat=True))
    assert len(seen) == 5


def test_matches_are_newest_first_and_filtered(anybody: APIClient, ada: Any) -> None:
    ladder, other = make_ladder(slug="two"), make_ladder(slug="three")
    entries = make_entries(ladder, 3)
    _, first = make_pairing(ladder, entries[:2])
    _, second = make_pairing(ladder, entries[1:])
    _, third = make_pairing(other, make_entries(other, 2))
    end(first, [1, 2])

    def codes(query: str) -> list[str]:
        return [match["code"] for match in results(anybody.get(API + "matches/" + query))]

    assert codes("") == [third.code, second.code, first.code]
    assert codes("?ladder=two") == [second.code, first.code]
    assert codes(f"?bot={entries[1].bot.slug}") == [second.code, first.code]
    assert codes(f"?bot={entries[1].bot.slug}&state=finished") == [first.code]
    assert codes("?bot=nobody") == []
    assert anybody.get(API + "matches/?state=lost").json()["code"] == "invalid"


def test_finished_match_tells_how_it_went(anybody: APIClient) -> None:
    ladder = make_ladder(slug="two")
    _, match = make_pairing(ladder, make_entries(ladder, 2))
    end(match, [2, 1], totals=[260, 100])
    shown = anybody.get(f"{API}matches/{match.code}/").json()
    assert (shown["ladder"], shown["round"], shown["how"]) == ("two", 1, "target")
    assert [(one["seat"], one["place"], one["total"]) for one in shown["players"]] == [(0, 2, 260), (1, 1, 100)]


def test_rated_match_tells_what_it_changed(anybody: APIClient) -> None:
    from ladder.ratings import rate

    ladder = make_ladder()
    pairing, match = make_pairing(ladder, make_entries(ladder, 2))
    end(match, [2, 1])
    assert rate(pairing.pk)
    changes = anybody.get(f"{API}matches/{match.code}/").json()["rating_changes"]
    assert [(one["entrant"], one["after"] - one["before"]) for one in changes] == [(0, -20.0), (1, 20.0)]


@pytest.mark.parametrize("state", ["waiting", "queued", "playing", "showing"])
def test_unfinished_match_tells_nothing_but_who_plays(anybody: APIClient, state: str) -> None:
    ladder = make_ladder()
    _, match = make_pairing(ladder, make_entries(ladder, 2))
    end(match, [2, 1])
    # What a match on show already holds in its row.
    Match.objects.filter(pk=match.pk).update(state=state, decisions=99, faults=[{"seat": 0, "kind": "timeout"}])
    shown = anybody.get(f"{API}matches/{match.code}/").json()
    told = {key: shown[key] for key in ("how", "decisions", "hands", "faults", "finished_at", "why_unrated")}
    assert set(told.values()) == {None}
    assert {(one["place"], one["total"], one["fault"]) for one in shown["players"]} == {(None, None, None)}
    assert shown["rating_changes"] == []
    assert bytes(match.server_seed).hex() not in json.dumps(shown)


@pytest.mark.parametrize("state", ["waiting", "queued", "playing", "showing", "void"])
def test_only_a_finished_match_has_a_record(anybody: APIClient, state: str) -> None:
    ladder = make_ladder()
    _, match = make_pairing(ladder, make_entries(ladder, 2))
    Match.objects.filter(pk=match.pk).update(state=state)
    answer = anybody.get(f"{API}matches/{match.code}/record/")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_finished")


def test_void_match_tells_no_outcome(anybody: APIClient) -> None:
    ladder = make_ladder()
    _, match = make_pairing(ladder, make_entries(ladder, 2))
    void(match)
    shown = anybody.get(f"{API}matches/{match.code}/").json()
    assert (shown["state"], shown["decisions"]) == ("void", None)


# What is between an owner and the site


def test_versions_before_their_trial_are_their_owners_only(anybody: APIClient, ada: Any, ben: Any) -> None:
    ready = uploaded(ada, state="ready")
    add_version(ada, bot=ready.bot, file_name="plan.py", data=OTHER_BOT)
    address = API + "bots/mim/versions/"
    assert [one["number"] for one in results(program(ada).get(address))] == [2, 1]
    for client in (anybody, program(ben)):
        assert [one["number"] for one in results(client.get(address))] == [1]
        assert client.get(address + "2/").status_code == 404
        shown = client.get(address + "1/").json()
        assert {shown[key] for key in ("file_name", "state_note")} == {None}
        assert (shown["sha256"], shown["size"]) == (ready.source_id, ready.size)
    assert program(ada).get(address + "2/").json()["file_name"] == "plan.py"


def test_trial_and_log_are_their_owners_only(anybody: APIClient, ada: Any, ben: Any) -> None:
    version = uploaded(ada, state="failed")
    match = trial_of(version, fault="timeout")
    address = API + "bots/mim/versions/1/trial/"
    told = program(ada).get(address).json()
    assert told == {
        "match": match.code,
        "state": "finished",
        "queue_place": None,
        "fault": "timeout",
        "fault_detail": "SECRET detail",
        "stderr": "SECRET stderr",
    }
    assert program(ben).get(address).status_code == 404
    assert program(person("root2", is_staff=True, is_superuser=True)).get(address).status_code == 404
    assert anybody.get(address).status_code == 401
    assert program(ada).get(f"{API}matches/{match.code}/").status_code == 200
    for client in (anybody, program(ben)):
        assert client.get(f"{API}matches/{match.code}/").status_code == 404
        assert client.get(f"{API}matches/{match.code}/record/").status_code == 404
        assert results(client.get(API + "matches/")) == []


def test_trial_that_has_not_begun_is_not_there(ada: Any) -> None:
    uploaded(ada)
    BotVersion.objects.update(state="trial")
    Match.objects.all().delete()
    assert program(ada).get(API + "bots/mim/versions/1/trial/").status_code == 404


def test_no_list_and_no_page_tells_a_secret(anybody: APIClient, ada: Any, ben: Any) -> None:
    version = uploaded(ada, state="ready")
    match = trial_of(version)
    ladder = make_ladder(slug="two")
    register(ada, version.bot, ladder)
    _, running = make_pairing(ladder, make_entries(ladder, 2))
    addresses = ["ladders/", "ladders/two/", "ladders/two/standings/", "bots/", "bots/mim/", "bots/mim/versions/"]
    addresses += ["bots/mim/versions/1/", "entries/", "matches/", f"matches/{running.code}/"]
    seeds = [bytes(one.server_seed).hex() for one in (match, running)]
    for client in (anybody, program(ben)):
        for address in addresses:
            answer = client.get(API + address)
            assert answer.status_code == 200
            assert not [word for word in (*SECRETS, *seeds) if word in answer.content.decode()], address


# Uploading


def test_upload_of_a_new_bot_awaits_its_trial(ada: Any) -> None:
    answer = program(ada).post(API + "bots/", {"name": "Mim", "file": file()}, format="multipart")
    assert answer.status_code == 201
    told = answer.json()
    assert (told["bot"], told["number"], told["state"], told["size"]) == ("mim", 1, "trial", len(FIRST_BOT))
    assert program(ada).get(API + "bots/mim/versions/1/").json() == told


def test_upload_as_json_keeps_the_source_as_it_is(ada: Any) -> None:
    source = "\n  \n" + FIRST_BOT.decode() + "   \n"
    answer = program(ada).post(API + "bots/", {"name": "Mim", "source": source}, format="json")
    assert answer.status_code == 201
    assert bytes(BotVersion.objects.get().source.data) == source.encode()


def test_upload_of_the_next_version(ada: Any) -> None:
    uploaded(ada)
    answer = program(ada).post(API + "bots/mim/versions/", {"file": file(OTHER_BOT)}, format="multipart")
    assert (answer.status_code, answer.json()["number"]) == (201, 2)


def test_upload_by_session_needs_the_forms_token(ada: Any) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(ada)
    answer = client.post(API + "bots/", {"name": "Mim", "source": "x = 1"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    assert not Bot.objects.exists()


def test_syntax_error_says_line_and_column(ada: Any) -> None:
    answer = program(ada).post(API + "bots/", {"name": "Mim", "source": "x = 1\nif x\n"}, format="json")
    told = answer.json()
    assert (answer.status_code, told["code"], told["line"], told["column"]) == (400, "upload", 2, 5)
    assert told["detail"].startswith("Syntax error in bot.py, line 2, column 5")


@pytest.mark.parametrize(
    ("data", "code", "told"),
    [
        ({"name": "Mim"}, "invalid", "either a file or a source"),
        ({"name": "Mim", "source": "x = 1", "file": file()}, "invalid", "either a file or a source"),
        ({"source": "x = 1"}, "invalid", "This field is required."),
        ({"name": "M", "source": "x = 1"}, "name", "2 to 32 characters"),
        ({"name": "аda", "source": "x = 1"}, "name", "A person goes by this name"),
        ({"name": "x" * 150, "source": "x = 1"}, "name", "2 to 32 characters"),
        ({"name": "Mim", "source": "x = 1", "note": "x" * 201}, "note", "at most 200 characters"),
        ({"name": "Mim", "source": "x = '\0'"}, "upload", "NUL"),
        ({"name": "Mim", "file": file(b"\xff")}, "upload", "not UTF-8 text: see byte 0"),
        ({"name": "Mim", "file": file(name="bot.txt")}, "upload", "Send a .py file"),
        ({"name": "Mim", "file": file(b"#" * (SOURCE_MAX + 1))}, "upload", "too large"),
        ({"name": "Mim", "source": "#" * (SOURCE_MAX + 1)}, "upload", "too large"),
    ],
    ids=[
        "nothing",
        "both",
        "no-name",
        "short",
        "look-alike",
        "long",
        "note",
        "nul",
        "not-utf8",
        "text",
        "large",
        "large-text",
    ],
)
def test_refused_uploads_are_told_and_not_stored(ada: Any, data: dict[str, Any], code: str, told: str) -> None:
    if "file" in data:
        data["file"].seek(0)
    answer = program(ada).post(API + "bots/", data, format="multipart")
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert told in json.dumps(answer.json(), ensure_ascii=False)
    assert not Bot.objects.exists()


def test_archive_with_a_note_is_taken_and_handed_back(anybody: APIClient, ada: Any, ben: Any) -> None:
    data = archive(("bot.py", FIRST_BOT), ("helper.py", b"x = 1\n"))
    answer = program(ada).post(API + "bots/", {"name": "Mim", "note": "New.", "file": file(data, "b.zip")})
    told = answer.json()
    assert (answer.status_code, told["note"], told["size"], told["is_active"]) == (201, "New.", len(data), False)
    assert told["sha256"] == hashlib.sha256(data).hexdigest()
    BotVersion.objects.update(state="ready")
    address = API + "bots/mim/versions/1/source/"
    handed = program(ada).get(address)
    assert (handed.content, handed["Content-Type"]) == (data, "application/zip")
    assert handed["Content-Disposition"] == 'attachment; filename="mim-1.zip"'
    assert [program(ben).get(address).status_code, anybody.get(address).status_code] == [404, 401]
    staff = program(person("root2", is_staff=True, is_superuser=True))
    assert staff.get(address).status_code == 404


def test_owner_activates_a_version_that_may_play(anybody: APIClient, ada: Any) -> None:
    first = uploaded(ada, state="ready")
    add_version(ada, bot=first.bot, file_name="b.py", data=OTHER_BOT)
    address = API + "bots/mim/versions/"
    refused = program(ada).post(address + "2/activate/")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_ready")
    assert "Version 2 was not activated" in refused.json()["detail"]
    BotVersion.objects.update(state="ready")
    assert anybody.get(API + "bots/mim/").json()["playing_version"] == 2
    answer = program(ada).post(address + "1/activate/")
    assert (answer.status_code, answer.json()["number"], answer.json()["is_active"]) == (200, 1, True)
    assert anybody.get(API + "bots/mim/").json()["playing_version"] == 1
    assert [(one["number"], one["is_active"]) for one in results(anybody.get(address))] == [(2, False), (1, True)]
    assert program(ada).post(address + "9/activate/").status_code == 404


def test_trial_that_waits_tells_its_place_in_the_queue(ada: Any) -> None:
    ladder = make_ladder()
    for _ in range(3):
        make_pairing(ladder, make_entries(ladder, 2))
    waiting = []
    for name in ("Tom", "Mim"):
        version = uploaded(ada, name, source=name.encode().join([b"x = '", b"'\n"]))
        entrants = [{"version": version}, {"version": house_version()}]
        waiting.append(create_match(kind="trial", rules={"preset": "classic"}, entrants=entrants, share="owner:1"))
    told = [program(ada).get(f"{API}bots/{name}/versions/1/trial/").json()["queue_place"] for name in ("tom", "mim")]
    assert told == [1, 2], "ahead of every match of a ladder"
    Match.objects.filter(pk=waiting[0].pk).update(state="playing")
    told = [program(ada).get(f"{API}bots/{name}/versions/1/trial/").json()["queue_place"] for name in ("tom", "mim")]
    assert told == [None, 1]


def test_limits_stand_in_the_description_and_the_document(anybody: APIClient, settings: Any) -> None:
    schema = anybody.get(API + "schema/", HTTP_ACCEPT="application/vnd.oai.openapi+json").json()
    document = " ".join((settings.BASE_DIR / "docs" / "api.md").read_text().split())
    for path in ("/api/v1/bots/", "/api/v1/bots/{bot}/versions/"):
        described = schema["paths"][path]["post"]["description"]
        assert [sentence for sentence in limit_sentences() if sentence not in described] == []
    assert [sentence for sentence in limit_sentences() if sentence not in document] == []


def test_same_file_again_names_the_version(ada: Any) -> None:
    uploaded(ada)
    answer = program(ada).post(API + "bots/mim/versions/", {"source": FIRST_BOT.decode()}, format="json")
    assert (answer.status_code, answer.json()["code"], answer.json()["version"]) == (409, "unchanged", 1)


def test_quota_and_pause_hold_here_too(ada: Any, settings: Any) -> None:
    settings.UPLOADS_PER_DAY = 1
    uploaded(ada)
    answer = program(ada).post(API + "bots/", {"name": "Tom", "source": "x = 1"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (429, "quota")
    Switch.objects.create(name="uploads", is_paused=True, note="Back at noon.")
    answer = program(ada).post(API + "bots/", {"name": "Tom", "source": "x = 1"}, format="json")
    assert (answer.status_code, answer.json()) == (503, {"detail": "Back at noon.", "code": "paused"})


def test_about_is_changed_and_nothing_else(ada: Any) -> None:
    uploaded(ada)
    answer = program(ada).patch(API + "bots/mim/", {"about": "Counts.", "name": "Tom", "owner": None}, format="json")
    assert answer.status_code == 200
    bot = Bot.objects.get()
    assert (bot.about, bot.name, bot.owner) == ("Counts.", "Mim", ada)


# Entries


def test_entry_is_registered_paused_resumed_and_withdrawn(ada: Any) -> None:
    uploaded(ada, state="ready")
    make_ladder(slug="two")
    client = program(ada)
    entry = client.post(API + "entries/", {"bot": "mim", "ladder": "two"}, format="json").json()
    assert (entry["bot"], entry["ladder"], entry["state"], entry["rating"]) == ("mim", "two", "active", 1500.0)
    for step, state in [("pause", "paused"), ("resume", "active"), ("withdraw", "withdrawn")]:
        assert client.post(f"{API}entries/{entry['id']}/{step}/").json()["state"] == state
        assert Entry.objects.get().state == state
    assert results(client.get(API + "entries/?ladder=two&state=withdrawn"))[0]["id"] == entry["id"]


@pytest.mark.parametrize(
    ("prepare", "told"),
    [
        (lambda: Ladder.objects.update(state="closed"), "closed"),
        (lambda: BotVersion.objects.update(state="trial"), "still to play its trial"),
        (lambda: BotVersion.objects.update(state="failed"), "did not pass its trial"),
    ],
    ids=["closed", "trial", "failed"],
)
def test_refused_registration_says_why(ada: Any, prepare: Callable[[], Any], told: str) -> None:
    uploaded(ada, state="ready")
    make_ladder(slug="two")
    prepare()
    answer = program(ada).post(API + "entries/", {"bot": "mim", "ladder": "two"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "not_registered")
    assert told in answer.json()["detail"]
    assert not Entry.objects.exists()


def test_second_registration_and_wrong_step_change_nothing(ada: Any) -> None:
    version = uploaded(ada, state="ready")
    entry = register(ada, version.bot, make_ladder(slug="two"))
    client = program(ada)
    again = client.post(API + "entries/", {"bot": "mim", "ladder": "two"}, format="json")
    resumed = client.post(f"{API}entries/{entry.pk}/resume/")
    assert (again.status_code, resumed.status_code) == (409, 409)
    assert Entry.objects.get().state == "active"


# Who may do what

WRITES = [
    ("post", "bots/", {"name": "Tom", "source": "x = 1"}),
    ("patch", "bots/mim/", {"about": "mine now"}),
    ("post", "bots/mim/versions/", {"source": "x = 1"}),
    ("post", "bots/mim/versions/1/activate/", {}),
    ("post", "entries/", {"bot": "mim", "ladder": "two"}),
    ("post", "entries/{entry}/pause/", {}),
    ("post", "entries/{entry}/resume/", {}),
    ("post", "entries/{entry}/withdraw/", {}),
]


def write(client: APIClient, method: str, address: str, data: dict[str, str]) -> Any:
    entry = Entry.objects.values_list("pk", flat=True).first()
    return getattr(client, method)(API + address.format(entry=entry), data, format="json")


@pytest.fixture
def registered(ada: Any) -> Entry:
    return register(ada, uploaded(ada, state="ready").bot, make_ladder(slug="two"))


@pytest.mark.parametrize(("method", "address", "data"), WRITES, ids=[f"{one[0]} {one[1]}" for one in WRITES])
def test_strangers_change_nothing(
    anybody: APIClient, registered: Entry, method: str, address: str, data: dict[str, str]
) -> None:
    answer = write(anybody, method, address, data)
    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert "Token" in answer["WWW-Authenticate"]
    assert Bot.objects.filter(owner__isnull=False).count() == BotVersion.objects.count() == 1
    assert Entry.objects.get().state == "active"


@pytest.mark.parametrize(("method", "address", "data"), WRITES[1:], ids=[f"{one[0]} {one[1]}" for one in WRITES[1:]])
@pytest.mark.parametrize("rights", [{}, {"is_staff": True, "is_superuser": True}], ids=["person", "staff"])
def test_nobody_changes_what_is_anothers(
    registered: Entry, ben: Any, rights: dict[str, bool], method: str, address: str, data: dict[str, str]
) -> None:
    type(ben).objects.filter(pk=ben.pk).update(**rights)
    ben.refresh_from_db()
    answer = write(program(ben), method, address, data)
    assert answer.status_code in (403, 404)
    assert answer.json()["code"] in ("permission_denied", "not_found")
    assert Bot.objects.get().about == ""
    assert BotVersion.objects.count() == 1
    assert Bot.objects.get().chosen is None
    assert Entry.objects.get().state == "active"


@pytest.mark.parametrize("method", ["put", "patch", "delete", "post"])
@pytest.mark.parametrize("address", ["ladders/two/", "matches/", "bots/mim/versions/1/", "entries/{entry}/"])
def test_what_is_not_to_be_written_is_not(registered: Entry, ada: Any, method: str, address: str) -> None:
    answer = write(program(ada), method, address, {})
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


# Tokens


def test_token_is_shown_once_and_kept_as_a_digest(ada: Any) -> None:
    client = fresh_login(ada)
    page = client.post("/api/token/", {"create": "1"})
    token = page.content.decode().split('id="api-token">')[1].split("<")[0]
    assert token.startswith("soureh_")
    assert "no-store" in page["Cache-Control"]
    assert token not in client.get("/api/token/").content.decode()
    assert token not in Token.objects.get().key
    speaker = APIClient()
    speaker.credentials(HTTP_AUTHORIZATION=f"Token {token}")
    assert speaker.post(API + "bots/", {"name": "Mim", "source": "x = 1"}, format="json").status_code == 201
    # What the database holds is not a token.
    speaker.credentials(HTTP_AUTHORIZATION=f"Token {Token.objects.get().key}")
    assert speaker.get(API + "bots/").status_code == 401


def test_new_token_ends_the_old_one(ada: Any) -> None:
    old = program(ada)
    new = program(ada)
    assert old.get(API + "bots/").json()["code"] == "authentication_failed"
    assert new.get(API + "bots/").status_code == 200


def test_revoked_token_speaks_for_nobody(ada: Any) -> None:
    client = program(ada)
    assert fresh_login(ada).post("/api/token/", {"revoke": "1"}).status_code == 302
    assert client.get(API + "bots/").status_code == 401


def test_token_of_a_closed_account_speaks_for_nobody(ada: Any) -> None:
    client = program(ada)
    type(ada).objects.filter(pk=ada.pk).update(is_active=False)
    assert client.get(API + "bots/").status_code == 401


def test_token_is_made_for_who_has_just_shown_his_password(ada: Any) -> None:
    client = APIClient()
    client.force_login(ada)
    answer = client.post("/api/token/", {"create": "1"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/accounts/reauthenticate/")
    assert not Token.objects.exists()
    # The form that was sent is taken up again, so nobody has to press the button twice.
    page = client.post(answer["Location"], {"password": "correct horse battery"}, follow=True)
    assert 'id="api-token">soureh_' in page.content.decode()
    assert Token.objects.get().user == ada


def test_token_page_is_for_people_logged_in(anybody: APIClient) -> None:
    assert anybody.get("/api/token/")["Location"] == "/accounts/login/?next=/api/token/"


def test_token_is_not_made_by_a_forged_form(ada: Any) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(ada)
    assert client.post("/api/token/", {"create": "1"}).status_code == 403
    assert not Token.objects.exists()


def fresh_login(user: Any) -> APIClient:
    """Return a client that has logged in, and has just shown its password once more."""
    client = APIClient()
    password = {"password": "correct horse battery"}
    assert client.post("/accounts/login/", {"login": user.username, **password}).status_code == 302
    assert client.post("/accounts/reauthenticate/", password).status_code == 302
    return client


# Limits, costs, description


def test_too_many_requests_are_told_to_wait(
    anybody: APIClient, ada: Any, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"anon": "2/min", "user": "4/min"})
    assert [anybody.get(API + "bots/").status_code for _ in range(3)] == [200, 200, 429]
    # A header does not make anybody somebody else.
    answer = anybody.get(API + "bots/", HTTP_X_FORWARDED_FOR="203.0.113.9")
    assert (answer.status_code, answer.json()["code"]) == (429, "throttled")
    assert int(answer["Retry-After"]) > 0
    monkeypatch.setattr(rates, "UPLOAD_TRIES_PER_HOUR", 1)
    monkeypatch.setattr(rates, "time", lambda: 1e9)
    settings.UPLOADS_PER_DAY = 1
    client = program(ada)
    tries = [client.post(API + "bots/", {"name": "Mim", "source": "x ="}, format="json").status_code for _ in range(2)]
    assert tries == [400, 429]
    assert client.get(API + "bots/").status_code == 200


@pytest.mark.parametrize(
    "address", ["ladders/", "ladders/two/standings/", "bots/", "bots/mim/versions/", "entries/", "matches/"]
)
def test_lists_take_as_many_queries_however_long_they_are(
    anybody: APIClient, registered: Entry, ada: Any, address: str, django_assert_max_num_queries: Any
) -> None:
    def grow(count: int) -> None:
        for _ in range(count):
            make_pairing(registered.ladder, make_entries(registered.ladder, 2))
            make_ladder()
            number = registered.bot.versions.count() + 1
            version = add_version(ada, bot=registered.bot, file_name="b.py", data=b"x = %d\n" % number)
            BotVersion.objects.filter(pk=version.pk).update(state="ready")
        for match in Match.objects.all():
            end(match, [1, 2])

    grow(2)
    with django_assert_max_num_queries(12) as few:
        count = len(results(anybody.get(API + address)))
    grow(6)
    with django_assert_max_num_queries(12) as many:
        assert len(results(anybody.get(API + address))) > count
    assert len(few) == len(many)


@pytest.mark.parametrize("address", ["nothing/", "bots/no-such/", "matches/0123456789abcdef/", "ladders/x/standings/"])
def test_what_is_not_there_is_said_in_json(anybody: APIClient, address: str) -> None:
    answer = anybody.get(API + address)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


def test_broken_json_is_said_in_json(ada: Any) -> None:
    answer = program(ada).post(API + "entries/", "{", content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "parse_error")


@pytest.mark.parametrize("cursor", ["x", "cD1hYmM=", "bz05OTk5OTk5OTk5"])
def test_wrong_cursors_are_no_failure_of_ours(anybody: APIClient, cursor: str) -> None:
    assert anybody.get(f"{API}matches/?cursor={cursor}").status_code in (200, 404)


def test_schema_is_valid_and_without_warnings(tmp_path: Any) -> None:
    path = tmp_path / "schema.yml"
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(path))
    assert "/api/v1/matches/{code}/record/" in path.read_text()


def test_schema_describes_every_address(anybody: APIClient) -> None:
    schema = anybody.get(API + "schema/", HTTP_ACCEPT="application/vnd.oai.openapi+json").json()
    assert {"ladders", "bots", "entries", "matches", "pairings"} == {path.split("/")[3] for path in schema["paths"]}
    for operations in schema["paths"].values():
        for operation in operations.values():
            assert operation["summary"]
            assert "4XX" in operation["responses"]


def test_answers_are_as_the_schema_describes_them(anybody: APIClient, ada: Any) -> None:
    version = uploaded(ada, state="ready")
    entrants = [{"version": version}, {"version": house_version()}]
    finish_one(create_match(kind="trial", rules={"preset": "classic"}, entrants=entrants), log="said so")
    ladder = make_ladder(slug="two")
    own, house = register(ada, version.bot, ladder), make_entries(ladder, 1)[0]
    pairing, match = make_pairing(ladder, [own, house])
    finish_one(match)
    rate(pairing.pk)
    fit_ladder(ladder.pk)
    create_match(kind="table", rules={"preset": "classic"}, entrants=[{"user": ada}, {"version": version}])
    schema = anybody.get(API + "schema/", HTTP_ACCEPT="application/vnd.oai.openapi+json").json()
    described = plain_schema(schema)
    seen = 0
    gaps = {"bot": ["mim"], "number": ["1"], "id": [own.pk, house.pk], "pairing": [pairing.pk]}
    for path, operations in described["paths"].items():
        if "get" not in operations or path.endswith(("/record/", "/schema/", "/source/", "/reproducer/")):
            continue
        slugs = {"slug": ["two"] if "/ladders/" in path else [version.bot.slug]}
        codes = {"code": list(Match.objects.values_list("code", flat=True))}
        named = {**gaps, **slugs, **codes}
        names = re.findall(r"{(\w+)}", path)
        for values in itertools.product(*(named[name] for name in names)):
            for client in (program(ada), anybody):
                answer = client.get(path.format(**dict(zip(names, values, strict=True))))
                if answer.status_code != 200:
                    continue
                shape = operations["get"]["responses"]["200"]["content"]["application/json"]["schema"]
                validate(answer.json(), {**shape, "components": described["components"]})
                seen += 1
    assert seen > 20


def plain_schema(described: Any) -> Any:
    """Return a part of an OpenAPI 3.0 document as JSON Schema says it, which has no `nullable`."""
    if isinstance(described, list):
        return [plain_schema(part) for part in described]
    if not isinstance(described, dict):
        return described
    plain = {key: plain_schema(part) for key, part in described.items() if key != "nullable"}
    return {"anyOf": [plain, {"type": "null"}]} if described.get("nullable") is True else plain


def test_page_about_the_api_loads_nothing_from_elsewhere(anybody: APIClient) -> None:
    answer = anybody.get("/api/")
    assert answer.status_code == 200
    assert "script-src 'self'" in answer["Content-Security-Policy"]
    assert "https://" not in answer.content.decode()
