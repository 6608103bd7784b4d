"""Storing uploads: who may, under which name, how often, and that nothing is lost or doubled in a race."""

from collections import Counter
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from bots import versions
from bots.models import NOTE_MAX, Bot, BotVersion, Immutable, Source, Switch
from bots.signals import version_uploaded
from bots.upload_rules import SOURCE_MAX
from bots.uploads import UploadError, check_upload
from bots.versions import (
    NameRefused,
    NotActivated,
    NoteRefused,
    PausedError,
    QuotaError,
    Unchanged,
    activate,
    add_version,
    error_text,
    newest_versions,
    playable,
    playable_versions,
    with_active,
)
from tests.people import FIRST_BOT, house_bot, person, uploaded
from tests.racing import race

OTHER_BOT = FIRST_BOT + b"# improved\n"


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


def test_note_is_kept_as_one_line(ada: Any) -> None:
    version = add_version(ada, name="Mim", file_name="bot.py", data=FIRST_BOT, note="  Counts\n\tcards.\0 \u202e<b> ")
    assert version.note == "Counts cards. \u202e<b>"
    longest = add_version(ada, bot=version.bot, file_name="bot.py", data=OTHER_BOT, note="x" * NOTE_MAX)
    assert longest.note == "x" * NOTE_MAX


def test_note_that_is_too_long_is_refused_and_nothing_stored(ada: Any) -> None:
    with pytest.raises(NoteRefused, match="at most 200 characters; this one has 201"):
        add_version(ada, name="Mim", file_name="bot.py", data=FIRST_BOT, note="x" * (NOTE_MAX + 1))
    assert not Bot.objects.exists()


# What never changes


def other_source() -> Source:
    return Source.objects.create(sha256="0" * 64, data=b"other")


@pytest.mark.parametrize("path", ["save", "save it all", "update", "bulk", "update_or_create", "by hand", "conflict"])
def test_nothing_changes_what_was_uploaded(ada: Any, path: str) -> None:
    pk = uploaded(ada).pk
    before = BotVersion.objects.values().get()
    other, tom = other_source(), Bot.objects.create(name="Tom", slug="tom")
    changes = {"number": 9, "size": 1, "note": "better", "file_name": "other.py", "source": other, "bot": tom}
    assert set(changes) == {name.removesuffix("_id") for name in BotVersion.FIXED}
    for name, value in changes.items():
        version = BotVersion.objects.get(pk=pk)
        with pytest.raises((Immutable, IntegrityError)), transaction.atomic():
            change(version, name, value, path=path)
        assert BotVersion.objects.values().get(pk=pk) == before, name


def change(version: BotVersion, name: str, value: Any, *, path: str) -> None:
    """Try to change a column of a version in one of the ways that the ORM knows."""
    if path == "update":
        BotVersion.objects.filter(pk=version.pk).update(**{name: value})
        return
    if path == "update_or_create":
        version.bot.versions.update_or_create(pk=version.pk, defaults={name: value})
        return
    if path == "by hand":
        version = BotVersion(**BotVersion.objects.values().get(pk=version.pk))
    setattr(version, name, value)
    if path == "bulk":
        BotVersion.objects.bulk_update([version], [name])
    elif path == "conflict":
        options = {"update_conflicts": True, "update_fields": [name], "unique_fields": ["id"]}
        BotVersion.objects.bulk_create([version], **options)
    else:
        version.save(update_fields=[name] if path == "save" else None)


@pytest.mark.parametrize("path", ["save", "save it all", "update", "bulk", "by hand", "update_or_create"])
def test_nothing_changes_a_source(ada: Any, path: str) -> None:
    source = uploaded(ada).source
    with pytest.raises((Immutable, IntegrityError)), transaction.atomic():
        if path == "update":
            Source.objects.update(data=b"other")
        elif path == "by hand":
            Source(sha256=source.pk, data=b"other").save()
        elif path == "update_or_create":
            Source.objects.update_or_create(sha256=source.pk, defaults={"data": b"other"})
        else:
            source.data = b"other"
            if path == "bulk":
                Source.objects.bulk_update([source], ["data"])
            else:
                source.save(update_fields=["data"] if path == "save" else None)
    assert bytes(Source.objects.get().data) == FIRST_BOT


def test_source_in_use_is_not_deleted(ada: Any) -> None:
    with pytest.raises(ProtectedError):
        uploaded(ada).source.delete()


def test_state_of_a_version_moves(ada: Any) -> None:
    version = uploaded(ada)
    version.state = "ready"
    version.save(update_fields=["state"])
    BotVersion.objects.update(state_note="played well")
    version.refresh_from_db()
    assert (version.state, version.state_note) == ("ready", "played well")


# Which version plays


def ready(owner: Any, count: int) -> list[BotVersion]:
    """Return that many ready versions of a bot, oldest first."""
    first = uploaded(owner, state="ready")
    return [first, *(next_version(first, number) for number in range(2, count + 1))]


def next_version(version: BotVersion, number: int, *, state: str = "ready") -> BotVersion:
    data = FIRST_BOT + b"# %d\n" % number
    added = add_version(version.bot.owner, bot=version.bot, file_name="bot.py", data=data)
    BotVersion.objects.filter(pk=added.pk).update(state=state)
    added.refresh_from_db()
    return added


def plays(version: BotVersion) -> int:
    """Return the number of the version that plays, as all who ask are told."""
    bot = Bot.objects.get(pk=version.bot_id)
    told = playable(bot)
    active = with_active(BotVersion.objects.filter(bot=bot)).filter(is_active=True)
    assert told is not None
    assert [one.number for one in active] == [told.number]
    return told.number


def test_newest_that_passes_takes_over_by_itself(ada: Any) -> None:
    first, second = ready(ada, 2)
    assert plays(first) == 2
    third = next_version(first, 3, state="trial")
    assert plays(first) == 2
    BotVersion.objects.filter(pk=third.pk).update(state="ready")
    assert plays(second) == 3


def test_older_version_that_was_activated_stays_until_another_is(ada: Any) -> None:
    first, second, third = ready(ada, 3)
    activate(ada, first)
    assert plays(first) == 1
    next_version(first, 4)
    assert plays(first) == 1, "a new upload that passes does not take over"
    activate(ada, second)
    assert plays(first) == 2
    activate(ada, third)
    assert plays(first) == 3, "the newest but one is a choice like any other"


def test_activating_the_newest_lets_later_ones_take_over_again(ada: Any) -> None:
    first, second = ready(ada, 2)
    activate(ada, first)
    activate(ada, second)
    next_version(first, 3)
    assert plays(first) == 3


@pytest.mark.parametrize("state", ["failed", "set_aside", "trial"])
def test_activated_version_that_may_not_play_leaves_its_place_to_the_newest_and_gets_it_back(
    ada: Any, state: str
) -> None:
    first, _second, third = ready(ada, 3)
    activate(ada, first)
    BotVersion.objects.filter(pk=first.pk).update(state=state)
    assert plays(first) == third.number
    BotVersion.objects.filter(pk=first.pk).update(state="ready")
    assert plays(first) == 1


@pytest.mark.parametrize("state", ["failed", "set_aside", "trial"])
def test_version_that_may_not_play_is_not_activated(ada: Any, state: str) -> None:
    first, second = ready(ada, 2)
    BotVersion.objects.filter(pk=first.pk).update(state=state)
    with pytest.raises(NotActivated, match="Version 1 was not activated: it is “"):
        activate(ada, first)
    assert plays(second) == 2


def test_nobody_else_activates_a_version(ada: Any) -> None:
    first, _second = ready(ada, 2)
    with pytest.raises(PermissionDenied):
        activate(person("ben", is_staff=True, is_superuser=True), first)
    house = house_bot()
    with pytest.raises(PermissionDenied):
        activate(ada, house.versions.get())
    assert plays(first) == 2


def test_deleted_version_leaves_its_place_to_the_newest(ada: Any) -> None:
    first, _second = ready(ada, 2)
    activate(ada, first)
    BotVersion.objects.filter(pk=first.pk).delete()
    assert plays(first) == 2


def test_bot_with_an_activated_version_is_deleted_with_its_owner(ada: Any) -> None:
    first, _second = ready(ada, 2)
    activate(ada, first)
    ada.delete()
    assert not Bot.objects.exists() and not BotVersion.objects.exists()


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
    next_version(versions[0], 2)
    activate(ada, versions[0])
    waiting = uploaded(ada, "Kim")
    with django_assert_num_queries(1):
        found = playable_versions([*(version.bot_id for version in versions), waiting.bot_id])
    assert found == {version.bot_id: version for version in versions}


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads race as several web processes do, of which each minds its own checks alone."""
    monkeypatch.setattr(versions, "_CHECKING", (nullcontext(),))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("processes")
def test_two_uploads_at_once_get_the_next_two_numbers() -> None:
    ada = person("ada")
    bot = uploaded(ada).bot
    stored = race(
        *(lambda n=n: add_version(ada, bot=bot, file_name="bot.py", data=FIRST_BOT + b"#%d\n" % n) for n in (1, 2))
    )
    assert sorted(version.number for version in stored) == [2, 3]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("processes")
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
def test_who_uploads_many_at_once_has_one_checked_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ada, ben = person("ada"), person("ben")
    at_once, most = Counter[str](), Counter[str]()

    def counted(file_name: str, data: bytes) -> Any:
        at_once[file_name] += 1
        most[file_name] = max(most[file_name], at_once[file_name])
        try:
            return check_upload(file_name, data)
        finally:
            at_once[file_name] -= 1

    monkeypatch.setattr(versions, "check_upload", counted)
    people = [(ada, "ada.py"), (ada, "ada.py"), (ada, "ada.py"), (ben, "ben.py")]
    stored = race(
        *(
            lambda n=n, who=who, file=file: add_version(
                who, name=f"Bot {n}", file_name=file, data=FIRST_BOT + b"#%d" % n
            )
            for n, (who, file) in enumerate(people)
        )
    )
    assert len(stored) == 4
    assert most == {"ada.py": 1, "ben.py": 1}


def test_who_has_no_place_left_causes_no_check(ada: Any, settings: Any) -> None:
    settings.UPLOADS_PER_DAY = 1
    bot = uploaded(ada).bot
    with pytest.raises(QuotaError):
        add_version(ada, bot=bot, file_name="bot.py", data=b"this is no bot")


@pytest.mark.django_db(transaction=True)
def test_two_people_at_once_do_not_get_the_same_name() -> None:
    people = [person("ada"), person("ben")]
    results = race(
        *(lambda who=who: add_version(who, name="Mim", file_name="bot.py", data=FIRST_BOT) for who in people),
        refusals=(NameRefused,),
    )
    assert sorted((type(result) for result in results), key=str) == sorted([BotVersion, NameRefused], key=str)
    assert Bot.objects.count() == 1
