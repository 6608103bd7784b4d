"""Storing uploads: who may, under which name, how often, and that nothing is lost or doubled in a race."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from bots.models import Bot, BotVersion, Source, Switch
from bots.signals import version_uploaded
from bots.upload_rules import SOURCE_MAX
from bots.uploads import UploadError
from bots.versions import (
    NameRefused,
    PausedError,
    QuotaError,
    Unchanged,
    add_version,
    error_text,
    newest_versions,
    playable,
    playable_versions,
)
from tests.people import FIRST_BOT, house_bot, person, uploaded
from tests.racing import race

OTHER_BOT = FIRST_BOT + b"# improved\n"


@pytest.fixture
def ada(db: None) -> Any:
    return person("ada")


@pytest.fixture
def announced() -> Any:
    heard: list[int] = []

    def listen(version_id: int, **_kwargs: Any) -> None:
        heard.append(version_id)

    version_uploaded.connect(listen)
    yield heard
    version_uploaded.disconnect(listen)


def test_first_version_is_stored_with_its_bot(ada: Any) -> None:
    version = add_version(ada, name="Mim", file_name="mim.py", data=FIRST_BOT)
    assert (version.bot.name, version.bot.slug, version.bot.owner) == ("Mim", "mim", ada)
    assert (version.number, version.state, version.size) == (1, "trial", len(FIRST_BOT))
    assert bytes(Source.objects.get(pk=version.source_id).data) == FIRST_BOT


def test_versions_of_a_bot_are_numbered_in_order(ada: Any) -> None:
    bot = uploaded(ada).bot
    numbers = [add_version(ada, bot=bot, file_name="b.py", data=FIRST_BOT + b"#" * n + b"\n").number for n in (1, 2, 3)]
    assert numbers == [2, 3, 4]


def test_versions_of_the_same_content_share_one_source(ada: Any) -> None:
    uploaded(ada, "Mim")
    uploaded(ada, "Tom")
    assert Source.objects.count() == 1


def test_upload_is_announced_once_it_is_committed(
    ada: Any, announced: list[int], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        version = add_version(ada, name="Mim", file_name="bot.py", data=FIRST_BOT)
        assert announced == []
    assert announced == [version.pk]


def test_upload_stands_even_if_a_listener_fails(ada: Any, django_capture_on_commit_callbacks: Any) -> None:
    def fail(**_kwargs: Any) -> None:
        raise ConnectionError("the broker is away")

    version_uploaded.connect(fail)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            add_version(ada, name="Mim", file_name="bot.py", data=FIRST_BOT)
    finally:
        version_uploaded.disconnect(fail)
    assert BotVersion.objects.count() == 1


@pytest.mark.parametrize(
    ("file_name", "data", "told"),
    [
        ("bot.txt", FIRST_BOT, "Send a .py file, or a .zip"),
        ("bot.zip", b"PK\x03\x04", "is damaged"),
        ("bot.py", b"PK\x03\x04 and more", "This is a zip archive"),
        ("bot.py", b"#" * (SOURCE_MAX + 1), "too large"),
        ("bot.py", b"x = '\xff'\n", "byte 5. Save it as UTF-8. It stands in line 1, column 6"),
        ("bot.py", b"x = 1\ny = '\0'\n", "line 2"),
        ("mine.py", b"x = 1\nif x\n    pass\n", "Syntax error in mine.py, line 2, column 5"),
        ("bot.py", b"# coding: latin-1\n", "UTF-8"),
        ("bot.py", b"-" * 100_000 + b"1", "too deeply nested"),
    ],
    ids=["text", "zip", "disguised-zip", "large", "not-utf8", "nul", "syntax", "coding", "nested"],
)
def test_upload_refused_stores_nothing(ada: Any, file_name: str, data: bytes, told: str) -> None:
    with pytest.raises(UploadError) as refused:
        add_version(ada, name="Mim", file_name=file_name, data=data)
    assert told in error_text(refused.value, file_name)
    assert not Bot.objects.exists()
    assert not Source.objects.exists()


@pytest.mark.parametrize(
    ("file_name", "stored"),
    [
        ("../../etc/passwd.py", "passwd.py"),
        ("C:\\bots\\mim.py", "mim.py"),
        ("a\nb\r\x1b[31m.py", "ab[31m.py"),
        ("‮yp.exe.py", "yp.exe.py"),
        ("x" * 300 + ".py", "x" * 97 + ".py"),
        ("<script>.py", "<script>.py"),
    ],
    ids=["path", "windows", "control", "right-to-left", "long", "markup"],
)
def test_hostile_file_names_are_kept_short_and_printable(ada: Any, file_name: str, stored: str) -> None:
    version = add_version(ada, name="Mim", file_name=file_name, data=FIRST_BOT)
    assert version.file_name == stored


@pytest.mark.parametrize(
    "name",
    ["", "  ", "M", "x" * 33, "-mim", "mim\u202e", "mim\x00", "<b>mim</b>", "mim\nmam\t!", "._.", "a/b", "Mim 🂡"],
    ids=["none", "blank", "short", "long", "dash", "bidi", "nul", "markup", "mark", "dots", "slash", "picture"],
)
def test_name_that_is_none_is_refused(ada: Any, name: str) -> None:
    with pytest.raises(NameRefused):
        add_version(ada, name=name, file_name="bot.py", data=FIRST_BOT)
    assert not Bot.objects.exists()


@pytest.mark.parametrize("name", ["Mim", "mim", "MIM", "M i m", "Мim", "mím", "M1m", "rnim", "Ｍｉｍ"])
def test_name_that_looks_like_another_bots_is_refused(ada: Any, name: str) -> None:
    uploaded(person("ben"), "Mim")
    with pytest.raises(NameRefused, match="bot of this name"):
        add_version(ada, name=name, file_name="bot.py", data=FIRST_BOT)


@pytest.mark.parametrize("name", ["Mim", "mím"])
def test_name_of_an_own_bot_is_refused_with_what_to_do(ada: Any, name: str) -> None:
    uploaded(ada, "Mim")
    with pytest.raises(NameRefused, match="You have a bot Mim already. For a new version of it, choose it"):
        add_version(ada, name=name, file_name="bot.py", data=OTHER_BOT)


@pytest.mark.parametrize("name", ["ada", "Аda", "a d a"])
def test_name_that_looks_like_a_persons_is_refused(ada: Any, name: str) -> None:
    with pytest.raises(NameRefused, match="person"):
        add_version(ada, name=name, file_name="bot.py", data=FIRST_BOT)


@pytest.mark.parametrize("name", ["admin", "Soureh", "0fficial", "House"])
def test_name_that_speaks_for_the_site_is_refused(ada: Any, name: str) -> None:
    with pytest.raises(NameRefused, match="reserved"):
        add_version(ada, name=name, file_name="bot.py", data=FIRST_BOT)


@pytest.mark.parametrize("name", ["سورة", "四色", "Zoë's 2nd", "upload", "kit", "mim-1.2_b"])
def test_names_of_all_scripts_get_an_address_of_their_own(ada: Any, name: str) -> None:
    bot = add_version(ada, name=name, file_name="bot.py", data=FIRST_BOT).bot
    assert bot.name == name
    assert bot.slug
    assert bot.slug not in {"upload", "kit", "new"}


def test_bots_whose_addresses_would_be_the_same_get_two(ada: Any) -> None:
    first, second = (uploaded(ada, name).bot for name in ("Mim ب", "Mim ت"))
    assert first.slug != second.slug


def test_same_file_as_the_newest_version_is_said_and_not_stored(ada: Any) -> None:
    version = uploaded(ada)
    with pytest.raises(Unchanged, match="version 1") as refused:
        add_version(ada, bot=version.bot, file_name="bot.py", data=FIRST_BOT)
    assert refused.value.version == version
    assert version.bot.versions.count() == 1


def test_an_older_versions_file_may_come_back(ada: Any) -> None:
    bot = uploaded(ada).bot
    add_version(ada, bot=bot, file_name="bot.py", data=OTHER_BOT)
    assert add_version(ada, bot=bot, file_name="bot.py", data=FIRST_BOT).number == 3


def test_somebody_elses_bot_gets_no_version(ada: Any) -> None:
    bot = uploaded(ada).bot
    with pytest.raises(PermissionDenied):
        add_version(person("ben"), bot=bot, file_name="bot.py", data=OTHER_BOT)
    assert bot.versions.count() == 1


def test_a_house_bot_gets_no_version_from_anybody(ada: Any) -> None:
    with pytest.raises(PermissionDenied):
        add_version(ada, bot=house_bot(), file_name="bot.py", data=OTHER_BOT)


def test_quota_counts_a_day_and_then_frees_its_places(ada: Any, settings: Any) -> None:
    settings.UPLOADS_PER_DAY = 2
    bot = uploaded(ada).bot
    add_version(ada, bot=bot, file_name="bot.py", data=OTHER_BOT)
    with pytest.raises(QuotaError, match="2 versions within 24 hours.*free in 23 hours|24 hours|1 day"):
        add_version(ada, bot=bot, file_name="bot.py", data=FIRST_BOT)
    BotVersion.objects.filter(number=1).update(uploaded_at=timezone.now() - timedelta(hours=24, seconds=1))
    assert add_version(ada, bot=bot, file_name="bot.py", data=FIRST_BOT).number == 3


def test_quota_is_each_owners_own(ada: Any, settings: Any) -> None:
    settings.UPLOADS_PER_DAY = 1
    uploaded(ada, "Mim")
    assert uploaded(person("ben"), "Tom").number == 1


def test_refused_name_after_the_quota_leaves_no_bot_behind(ada: Any, settings: Any) -> None:
    settings.UPLOADS_PER_DAY = 1
    uploaded(ada)
    with pytest.raises(QuotaError):
        add_version(ada, name="Tom", file_name="bot.py", data=OTHER_BOT)
    assert Bot.objects.count() == 1


@pytest.mark.parametrize(("note", "told"), [("Back at noon.", "Back at noon."), ("", "try again later")])
def test_paused_uploads_tell_the_operators_note(ada: Any, note: str, told: str) -> None:
    Switch.objects.create(name="uploads", is_paused=True, note=note)
    with pytest.raises(PausedError, match=told):
        add_version(ada, name="Mim", file_name="bot.py", data=FIRST_BOT)
    Switch.objects.update(is_paused=False)
    assert add_version(ada, name="Mim", file_name="bot.py", data=FIRST_BOT).number == 1


def test_paused_rounds_do_not_pause_uploads(ada: Any) -> None:
    Switch.objects.create(name="rounds", is_paused=True)
    assert uploaded(ada).number == 1


def test_playable_is_the_newest_version_that_is_ready(ada: Any) -> None:
    first = uploaded(ada, state="ready")
    second = add_version(ada, bot=first.bot, file_name="bot.py", data=OTHER_BOT)
    assert playable(first.bot) == first
    assert newest_versions([first.bot_id]) == {first.bot_id: second}
    BotVersion.objects.filter(pk=second.pk).update(state="ready")
    assert playable(first.bot) == second
    BotVersion.objects.update(state="failed")
    assert playable(first.bot) is None


def test_nothing_of_a_suspended_person_is_playable(ada: Any) -> None:
    version, house = uploaded(ada, state="ready"), house_bot()
    type(ada).objects.update(is_active=False)
    assert list(playable_versions([version.bot_id, house.pk])) == [house.pk], "a house bot has no owner to suspend"
    type(ada).objects.update(is_active=True)
    assert playable(version.bot) == version


def test_playable_versions_of_many_bots_take_one_query(ada: Any, django_assert_num_queries: Any) -> None:
    versions = [uploaded(ada, name, state="ready") for name in ("Mim", "Tom", "Zoë")]
    waiting = uploaded(ada, "Kim")
    with django_assert_num_queries(1):
        found = playable_versions([*(version.bot_id for version in versions), waiting.bot_id])
    assert found == {version.bot_id: version for version in versions}


@pytest.mark.django_db(transaction=True)
def test_two_uploads_at_once_get_the_next_two_numbers() -> None:
    ada = person("ada")
    bot = uploaded(ada).bot
    stored = race(
        *(lambda n=n: add_version(ada, bot=bot, file_name="bot.py", data=FIRST_BOT + b"#%d\n" % n) for n in (1, 2))
    )
    assert sorted(version.number for version in stored) == [2, 3]


@pytest.mark.django_db(transaction=True)
def test_two_uploads_at_once_do_not_share_the_quotas_last_place(settings: Any) -> None:
    settings.UPLOADS_PER_DAY = 2
    ada = person("ada")
    bot = uploaded(ada).bot
    results = race(
        *(lambda n=n: add_version(ada, bot=bot, file_name="bot.py", data=FIRST_BOT + b"#%d\n" % n) for n in (1, 2)),
        refusals=(QuotaError,),
    )
    assert sorted((type(result) for result in results), key=str) == sorted([BotVersion, QuotaError], key=str)


@pytest.mark.django_db(transaction=True)
def test_two_people_at_once_do_not_get_the_same_name() -> None:
    people = [person("ada"), person("ben")]
    results = race(
        *(lambda who=who: add_version(who, name="Mim", file_name="bot.py", data=FIRST_BOT) for who in people),
        refusals=(NameRefused,),
    )
    assert sorted((type(result) for result in results), key=str) == sorted([BotVersion, NameRefused], key=str)
    assert Bot.objects.count() == 1
