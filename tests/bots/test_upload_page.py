"""The pages on which an owner minds his bots, as a browser sees them: the success, then every refusal."""

import re
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from bots import rates
from bots.forms import excerpt
from bots.models import Bot, BotVersion, Switch
from bots.upload_rules import DEPTH_MAX, MAX_BYTES, MEMBERS_MAX, PATH_MAX, SOURCE_MAX, UNPACKED_MAX
from bots.versions import add_version, limit_sentences
from games.referee import KIT
from soureh_site.tokens import issue
from tests.bots.archives import archive
from tests.people import FIRST_BOT, house_bot, person, uploaded

UPLOAD, MINE = "/bots/upload/", "/my/bots/"
OTHER_BOT = FIRST_BOT + b"# improved\n"


def file(data: bytes = FIRST_BOT, name: str = "bot.py") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data, "text/x-python")


def test_upload_of_a_new_bot_leads_to_its_versions_page(client: Client) -> None:
    answer = client.post(UPLOAD, {"name": "Mim", "file": file()})
    assert answer.status_code == 302
    assert answer["Location"] == reverse("version", args=["mim", 1])
    assert BotVersion.objects.get().bot.name == "Mim"


def test_pasted_source_is_stored_with_plain_line_ends(client: Client) -> None:
    client.post(UPLOAD, {"name": "Mim", "source": FIRST_BOT.decode().replace("\n", "\r\n")})
    assert bytes(BotVersion.objects.get().source.data) == FIRST_BOT


def test_pasted_source_keeps_its_white_space(client: Client) -> None:
    source = "\n\n" + FIRST_BOT.decode() + "    \n"
    client.post(UPLOAD, {"name": "Mim", "source": source})
    assert bytes(BotVersion.objects.get().source.data) == source.encode()


def test_upload_of_a_new_version_needs_no_name(client: Client, ada: Any) -> None:
    uploaded(ada)
    answer = client.post(UPLOAD, {"bot": "mim", "file": file(OTHER_BOT)})
    assert answer["Location"] == reverse("version", args=["mim", 2])


def test_a_chosen_file_counts_before_pasted_text(client: Client) -> None:
    client.post(UPLOAD, {"name": "Mim", "file": file(OTHER_BOT), "source": FIRST_BOT.decode()})
    assert bytes(BotVersion.objects.get().source.data) == OTHER_BOT


def test_link_for_a_new_version_chooses_the_bot(client: Client, ada: Any) -> None:
    uploaded(ada)
    assert '<option value="mim" selected>Mim</option>' in client.get(UPLOAD + "?bot=mim").content.decode()


def test_syntax_error_says_line_and_column_and_shows_the_line(client: Client) -> None:
    source = "import soureh_bot\n\ndef choose(turn)\n    return turn.legal[0]\n"
    answer = client.post(UPLOAD, {"name": "Mim", "source": source})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "line 3, column 17" in page
    assert '<span class="line-wrong">    3  def choose(turn)</span>\n' + " " * (7 + 16) + "^" in page
    assert not Bot.objects.exists()


def test_refused_upload_keeps_name_and_pasted_text(client: Client) -> None:
    page = client.post(UPLOAD, {"name": "Mim & Co", "source": "if <b>:\n"}).content.decode()
    assert 'value="Mim &amp; Co"' in page
    assert "if &lt;b&gt;:\n</textarea>" in page


def test_refused_files_text_comes_back_to_be_mended(client: Client) -> None:
    page = client.post(UPLOAD, {"name": "Mim", "file": file(b"def f(:\n")}).content.decode()
    assert "def f(:\n</textarea>" in page


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "Mim"}, "Choose a file, or paste the source below."),
        ({"source": "x = 1"}, "A new bot needs a name."),
        ({"name": "M", "source": "x = 1"}, "has 2 to 32 characters"),
        ({"name": "ada", "source": "x = 1"}, "A person goes by this name"),
        ({"name": "Mim", "source": "x = 1", "bot": "no-such"}, "Select a valid choice"),
        ({"name": "Mim", "source": "x = 1\0"}, "NUL character. It stands in line 1"),
        ({"name": "Mim", "source": "x" * (SOURCE_MAX + 1)}, "bot.py is too large: at most 256 KiB."),
    ],
    ids=["no-source", "no-name", "short-name", "persons-name", "no-such-bot", "nul", "large"],
)
def test_refusals_are_told_in_place(client: Client, fields: dict[str, str], told: str) -> None:
    answer = client.post(UPLOAD, fields)
    assert answer.status_code == 200
    assert told in answer.content.decode()
    assert not Bot.objects.exists()


@pytest.mark.parametrize(
    ("upload", "told"),
    [
        (file(b"# caf\xe9\n"), "not UTF-8 text: see byte 5. Save it as UTF-8. It stands in line 1, column 6."),
        (file(b"x =\n", "<i>mine.py"), "Syntax error in &lt;i&gt;mine.py, line 1, column"),
    ],
    ids=["latin-1", "markup"],
)
def test_refused_files_are_told_at_the_file(client: Client, upload: SimpleUploadedFile, told: str) -> None:
    upload.seek(0)
    page = client.post(UPLOAD, {"name": "Mim", "file": upload}).content.decode()
    assert told in page
    assert 'name="name" value="Mim"' in page
    assert not Bot.objects.exists()


def test_same_file_again_is_said_with_a_link(client: Client, ada: Any) -> None:
    uploaded(ada)
    page = client.post(UPLOAD, {"bot": "mim", "file": file()}).content.decode()
    assert "same file as version 1" in page
    assert reverse("version", args=["mim", 1]) in page
    assert BotVersion.objects.count() == 1


def test_quota_is_told_and_nothing_typed_is_lost(client: Client, ada: Any, settings: Any) -> None:
    settings.UPLOADS_PER_DAY = 1
    uploaded(ada)
    page = client.post(UPLOAD, {"name": "Tom", "source": "x = 1\n"}).content.decode()
    assert "1 version within 24 hours, which is the limit" in page
    assert "x = 1\n</textarea>" in page


def test_paused_uploads_show_the_note_and_take_nothing(client: Client) -> None:
    Switch.objects.create(name="uploads", is_paused=True, note="Back at <noon>.")
    page = client.get(UPLOAD).content.decode()
    assert "Back at &lt;noon&gt;." in page
    assert "disabled>Upload" in page
    assert client.post(UPLOAD, {"name": "Mim", "source": "x = 1\n"}).status_code == 200
    assert not Bot.objects.exists()


def test_somebody_elses_bot_is_no_choice(client: Client) -> None:
    uploaded(person("ben"))
    answer = client.post(UPLOAD, {"bot": "mim", "file": file(OTHER_BOT)})
    assert answer.status_code == 200
    assert BotVersion.objects.count() == 1


def test_forged_upload_is_refused(ada: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    assert client.post(UPLOAD, {"name": "Mim", "file": file()}).status_code == 403
    assert not Bot.objects.exists()


def test_archive_is_handed_back_as_it_was_sent(client: Client, ada: Any) -> None:
    data = archive(("bot.py", FIRST_BOT), ("data.bin", bytes(range(256))), comment=b"mine")
    add_version(ada, name="Mim", file_name="mein <Bot>.zip", data=data)
    answer = client.get("/bots/mim/versions/1/source")
    assert answer.content == data
    assert (answer["Content-Type"], answer["X-Content-Type-Options"]) == ("application/zip", "nosniff")
    assert answer["Content-Disposition"] == 'attachment; filename="mim-1.zip"'


def test_limits_are_told_before_the_upload_from_the_figures_that_hold(client: Client, settings: Any) -> None:
    settings.UPLOADS_PER_DAY = 7
    page = unescape(client.get(UPLOAD).content.decode())
    assert len(limit_sentences()) == 6
    assert [sentence for sentence in limit_sentences() if f"<li>{sentence}</li>" not in page] == []
    figures = (SOURCE_MAX >> 10, MAX_BYTES >> 10, UNPACKED_MAX >> 10, MEMBERS_MAX, PATH_MAX, DEPTH_MAX, 7, 60)
    assert not {str(figure) for figure in figures} - set(re.findall(r"\d+", " ".join(limit_sentences())))


def test_note_is_kept_in_a_refusal_and_told_where_it_is_wrong(client: Client) -> None:
    page = client.post(UPLOAD, {"name": "Mim", "source": FIRST_BOT.decode(), "note": "x" * 201})
    assert "at most 200 characters" in page.context["form"].errors["note"][0]
    assert f'value="{"x" * 201}"' in page.content.decode()
    assert not Bot.objects.exists()


@pytest.mark.parametrize("address", ["/my/bots/", "/bots/mim/"])
def test_what_a_bot_says_about_itself_hides_nothing(client: Client, ada: Any, address: str) -> None:
    uploaded(ada)
    Bot.objects.update(about="Says <b>\u202esdrawkcab\x1b[31m")
    page = client.get(address).content.decode()
    assert "Says &lt;b&gt;\\u202esdrawkcab\\x1b[31m" in page
    assert "\u202e" not in page and "\x1b" not in page


# The list of versions

VERSIONS = "/bots/mim/versions/"


def with_versions(ada: Any, *states: str) -> list[BotVersion]:
    """Return versions of one bot of ada's in these states, oldest first."""
    found = [uploaded(ada, state=states[0])]
    for number, state in enumerate(states[1:], 2):
        data = FIRST_BOT + b"# %d\n" % number
        found.append(add_version(ada, bot=found[0].bot, file_name="b.py", data=data, note=f"Note <{number}>\u202e"))
        BotVersion.objects.filter(pk=found[-1].pk).update(state=state, state_note="SECRET reason")
    return found


def test_owner_sees_all_versions_and_which_is_active(client: Client, ada: Any) -> None:
    versions = with_versions(ada, "ready", "ready", "failed", "trial")
    page = client.get(VERSIONS).content.decode()
    shown = re.findall(r'<li class="version-row" id="version-(\d)">(.*?)</li>', page, re.DOTALL)
    assert [number for number, _row in shown] == ["4", "3", "2", "1"]
    assert ["badge-active" in row for _number, row in shown] == [False, False, True, False]
    assert ["/activate/" in row for _number, row in shown] == [False, False, False, True]
    assert "Note &lt;4&gt;\\u202e" in page and "\u202e" not in page
    assert all(version.source_id in page for version in versions)
    assert "Version 2 plays: the newest that passed its trial always does" in page


def test_others_see_versions_that_passed_without_what_is_the_owners(ada: Any) -> None:
    versions = with_versions(ada, "ready", "ready", "failed", "set_aside")
    page = Client().get(VERSIONS).content.decode()
    assert re.findall(r'id="version-(\d)"', page) == ["4", "2", "1"]
    assert versions[1].source_id in page and "Note &lt;2&gt;" in page
    for hidden in ("SECRET", "/activate/", "/source", "/compare/", versions[2].source_id):
        assert hidden not in page


def test_one_click_activates_and_the_page_says_what_follows(client: Client, ada: Any) -> None:
    with_versions(ada, "ready", "ready")
    page = client.post(VERSIONS + "1/activate/", follow=True).content.decode()
    assert "Version 1 plays from the next match on." in page
    assert "Version 1 plays because you activated it. Others wait, new ones too, until you activate one." in page
    assert "activated by you" in client.get(MINE).content.decode()
    BotVersion.objects.filter(number=1).update(state="set_aside")
    assert (
        "Version 1, which you activated, may not play now. So version 2 does" in client.get(VERSIONS).content.decode()
    )


def test_version_that_may_not_play_is_not_activated_and_why_is_said(client: Client, ada: Any) -> None:
    with_versions(ada, "failed", "ready")
    page = client.post(VERSIONS + "1/activate/", follow=True).content.decode()
    assert "Version 1 was not activated: it is “trial failed”" in page
    assert Bot.objects.get().chosen is None


@pytest.mark.parametrize("rights", [{}, {"is_staff": True, "is_superuser": True}], ids=["person", "staff"])
def test_nobody_else_activates(ada: Any, rights: dict[str, bool]) -> None:
    with_versions(ada, "ready", "ready")
    other = Client()
    other.force_login(person("ben", **rights))
    assert other.post(VERSIONS + "1/activate/").status_code == 404
    assert Client().post(VERSIONS + "1/activate/").status_code == 302
    assert Bot.objects.get().chosen is None


def test_activation_takes_a_form_with_its_token(client: Client, ada: Any) -> None:
    with_versions(ada, "ready", "ready")
    assert client.get(VERSIONS + "1/activate/").status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert strict.post(VERSIONS + "1/activate/").status_code == 403
    assert Bot.objects.get().chosen is None


def test_versions_take_as_many_queries_however_many_there_are(
    client: Client, ada: Any, django_assert_max_num_queries: Any
) -> None:
    with_versions(ada, "ready", "ready")
    with django_assert_max_num_queries(12) as few:
        client.get(VERSIONS)
    bot, source = Bot.objects.get(), BotVersion.objects.all()[0].source
    BotVersion.objects.bulk_create(
        BotVersion(bot=bot, number=number, source=source, size=9, state="ready") for number in range(3, 40)
    )
    with django_assert_max_num_queries(12) as many:
        page = client.get(VERSIONS).content.decode()
    assert len(few) == len(many)
    assert page.count('class="version-row"') == 24 and 'href="?page=2"' in page


@pytest.mark.parametrize(
    "address",
    [UPLOAD, MINE, "/bots/mim/edit/", "/bots/mim/versions/1/source", "/bots/mim/versions/compare/?old=1&new=1"],
)
def test_strangers_are_asked_to_log_in(ada: Any, address: str) -> None:
    uploaded(ada)
    answer = Client().get(address)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/accounts/login/?next=")


def test_my_bots_show_mine_only_with_their_state(client: Client, ada: Any) -> None:
    version = uploaded(ada, "Mim", state="failed")
    BotVersion.objects.filter(pk=version.pk).update(state_note="timeout")
    uploaded(person("ben"), "Tom")
    page = client.get(MINE).content.decode()
    assert "Mim" in page
    assert "trial failed" in page
    assert "Tom" not in page


def test_my_bots_without_any_say_how_to_begin(client: Client) -> None:
    page = client.get(MINE).content.decode()
    assert "soureh_bot.run(choose)" in page
    assert f'href="{UPLOAD}"' in page


def test_my_bots_take_as_many_queries_however_many_there_are(
    client: Client, ada: Any, django_assert_max_num_queries: Any, settings: Any
) -> None:
    settings.UPLOADS_PER_DAY = 100
    with django_assert_max_num_queries(12) as few:
        client.get(MINE)
    for number in range(5):
        uploaded(ada, f"Bot {number}a")
    with django_assert_max_num_queries(12) as one:
        client.get(MINE)
    for number in range(20):
        uploaded(ada, f"Bot {number}b")
    with django_assert_max_num_queries(12) as many:
        client.get(MINE)
    assert len(few) <= len(one) == len(many)


def test_my_bots_are_all_there_page_by_page(client: Client, ada: Any, settings: Any) -> None:
    settings.UPLOADS_PER_DAY = 100
    for number in range(30):
        uploaded(ada, f"Bot {number}")
    pages = [client.get(f"{MINE}?page={number}").content.decode() for number in (1, 2)]
    shown = [re.findall(r'id="bot-([a-z0-9-]+)"', page) for page in pages]
    assert [len(part) for part in shown] == [24, 6]
    assert {slug for part in shown for slug in part} == set(Bot.objects.values_list("slug", flat=True))
    assert 'rel="next" href="?page=2"' in pages[0] and 'rel="prev" href="?page=1"' in pages[1]


def test_source_is_handed_to_its_owner_as_a_download(client: Client, ada: Any) -> None:
    uploaded(ada)
    answer = client.get("/bots/mim/versions/1/source")
    assert answer.content == FIRST_BOT
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["Content-Disposition"] == 'attachment; filename="mim-1.py"'
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize("rights", [{}, {"is_staff": True}, {"is_staff": True, "is_superuser": True}])
def test_source_is_handed_to_nobody_else(ada: Any, rights: dict[str, bool]) -> None:
    uploaded(ada)
    client = Client()
    client.force_login(person("ben", **rights))
    assert client.get("/bots/mim/versions/1/source").status_code == 404


def test_house_sources_are_nobodys(client: Client) -> None:
    bot = house_bot()
    assert client.get(f"/bots/{bot.slug}/versions/1/source").status_code == 404


def test_admin_shows_no_source(ada: Any) -> None:
    version = uploaded(ada, source=b"SECRET_PLAN = 1\n")
    client = Client()
    client.force_login(person("root2", is_staff=True, is_superuser=True))
    pages = ["/admin/bots/bot/", "/admin/bots/botversion/", f"/admin/bots/botversion/{version.pk}/change/"]
    for page in [*pages, f"/admin/bots/bot/{version.bot_id}/change/"]:
        answer = client.get(page)
        assert answer.status_code == 200
        assert b"SECRET_PLAN" not in answer.content
    assert client.get(f"/admin/bots/source/{version.source_id}/change/").status_code == 404


@pytest.mark.parametrize("kind", ["bots/bot", "accounts/user"])
def test_admin_deletes_nobody_whose_versions_have_played(ada: Any, kind: str) -> None:
    version = uploaded(ada)
    pk = version.bot_id if kind == "bots/bot" else ada.pk
    client = Client()
    client.force_login(person("root2", is_staff=True, is_superuser=True))
    assert client.post(f"/admin/{kind}/{pk}/delete/", {"post": "yes"}).status_code == 403
    several = {"action": "delete_selected", "_selected_action": [pk], "post": "yes"}
    client.post(f"/admin/{kind}/", several)
    assert BotVersion.objects.get().bot.owner == ada


def test_owner_changes_what_his_bot_says(client: Client, ada: Any) -> None:
    bot = uploaded(ada).bot
    assert client.post("/bots/mim/edit/", {"about": "Counts cards."}).status_code == 302
    bot.refresh_from_db()
    assert bot.about == "Counts cards."


def test_too_long_a_text_is_told_and_kept(client: Client, ada: Any) -> None:
    uploaded(ada)
    answer = client.post("/bots/mim/edit/", {"about": "x" * 281})
    assert answer.status_code == 200
    assert "x" * 281 in answer.content.decode()
    assert Bot.objects.get().about == ""


def test_nobody_else_changes_what_a_bot_says(client: Client) -> None:
    uploaded(person("ben"))
    assert client.post("/bots/mim/edit/", {"about": "I am bad."}).status_code == 404
    assert Bot.objects.get().about == ""


def test_first_bot_of_the_pages_is_the_documents_and_accepted(client: Client, ada: Any, settings: Any) -> None:
    page = client.get(UPLOAD)
    shown = unescape(page.content.decode().split('id="first-bot">')[1].split("</pre>")[0])
    assert shown == (settings.BASE_DIR / "docs" / "example_bot.py").read_text()
    assert shown in unescape(client.get(MINE).content.decode())
    assert add_version(ada, name="Mim", file_name="bot.py", data=shown.encode()).number == 1


def test_kit_of_the_page_is_the_one_that_bots_play_with(client: Client) -> None:
    address = reverse("kit")
    assert f'href="{address}"' in client.get(UPLOAD).content.decode()
    answer = Client().get(address)
    assert answer.content == KIT.read_bytes()
    assert answer["Content-Disposition"] == 'attachment; filename="soureh_bot.py"'


def test_excerpt_of_a_very_long_line_shows_the_wrong_place() -> None:
    (line,) = excerpt(b"x" * 5000 + b"(" + b"y" * 5000, 1, 5001)
    assert len(line.text) <= 160
    assert line.text[len(line.mark or "")] == "("


def test_excerpt_stands_at_the_start_and_the_end_of_a_file() -> None:
    assert [line.number for line in excerpt(b"a\nb\nc\nd", 1, 1)] == [1, 2, 3]
    assert [line.number for line in excerpt(b"a\nb\nc\nd", 4, None)] == [2, 3, 4]
    assert excerpt(b"a\n", 9, 1) == []


def test_too_many_tries_are_told_to_wait_and_nothing_typed_is_lost(
    client: Client, ada: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "UPLOAD_TRIES_PER_HOUR", 2)
    monkeypatch.setattr(rates, "time", lambda: 1e9)
    settings.UPLOADS_PER_DAY = 2
    for _ in range(2):
        assert client.post(UPLOAD, {"name": "Mim", "source": "x ="}).status_code == 200
    answer = client.post(UPLOAD, {"name": "Mim", "source": "x = 1"})
    assert answer.status_code == 429
    assert "You have tried to upload too often." in answer.content.decode()
    assert "x = 1</textarea>" in answer.content.decode()
    token = Client(headers={"authorization": f"Token {issue(ada)}"})
    assert token.post("/api/v1/bots/", {"name": "Mim", "source": "x = 1"}).status_code == 429, "the API counts along"
    other = Client()
    other.force_login(person("ben"))
    assert other.post(UPLOAD, {"name": "Mim", "file": file()}).status_code == 302
    monkeypatch.setattr(rates, "time", lambda: 1e9 + 3600)
    assert client.post(UPLOAD, {"name": "Tim", "file": file()}).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_file_that_is_far_too_large_is_told_before_it_is_sent(
    site: str, page: Any, client: Client, tmp_path: Any
) -> None:
    session = client.cookies["sessionid"]
    page.context.add_cookies([{"name": "sessionid", "value": session.value, "url": site}])
    page.goto(site + UPLOAD)
    sources = {"large.py": b"#" * 10_000_000, "large.zip": b"PK\x03\x04" + bytes(MAX_BYTES), "good.py": FIRST_BOT}
    for name, data in sources.items():
        (tmp_path / name).write_bytes(data)
    page.fill("[name=name]", "Mim")
    for name in ("large.py", "large.zip"):
        page.set_input_files("[name=file]", tmp_path / name)
        page.click("form[data-upload] button.button-primary")
        told = page.locator(".drop [role=alert]")
        assert told.inner_text() == "This file is too large: a .py has at most 256 KiB, a .zip 1024 KiB."
        assert page.input_value("[name=name]") == "Mim"
    page.set_input_files("[name=file]", tmp_path / "good.py")
    assert told.inner_text() == ""
    with page.expect_navigation(url="**/bots/mim/versions/1/"):
        page.click("form[data-upload] button.button-primary")
