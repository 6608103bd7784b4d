"""Take uploads in: the one door through which pages and the API store a new version of a bot.

What a file must be like is decided in `uploads`; here it is who may store it, under which name, how
often, and that versions are numbered without gaps. Nothing here runs a bot.
"""

import logging
import re
import secrets
import threading
import unicodedata
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.core.files import File
from django.db import IntegrityError, transaction
from django.db.models import BooleanField, Case, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.utils import timezone
from django.utils.text import slugify
from django.utils.timesince import timeuntil
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from bots.models import NOTE_MAX, Bot, BotVersion, Source, Switch
from bots.names import RESERVED, has_unseen, name_key
from bots.rates import upload_tries
from bots.signals import version_uploaded
from bots.switches import pause_note
from bots.upload_rules import (
    DEPTH_MAX,
    ENTRY,
    KIB,
    MAX_BYTES,
    MEMBERS_MAX,
    PATH_MAX,
    SOURCE_MAX,
    UNPACKED_MAX,
    require_size,
)
from bots.uploads import Upload, UploadError, check_upload, size_limit

logger = logging.getLogger(__name__)

# One check at a time for each owner, so that who sends many files at once waits for himself; others he makes wait
# only if their lock is his, one in so many.
_CHECKING = tuple(threading.Lock() for _ in range(64))

QUOTA_WINDOW = timedelta(hours=24)
NAME_MIN, NAME_MAX = 2, 32
# What others may know of: versions that passed their trial. The rest is between the owner and the site.
PUBLIC_STATES = (BotVersion.State.READY, BotVersion.State.SET_ASIDE)
# What stands at these addresses below /bots/ is a page of the site, not a bot.
RESERVED_SLUGS = frozenset({"guide", "kit", "new", "reference", "upload"})


class Refusal(Exception):
    """A sound file that is not taken now, or not under this name; the text is a sentence for the user."""


class QuotaError(Refusal):
    """The owner has uploaded as often as a day allows."""


class PausedError(Refusal):
    """The operators have paused uploads; the text is their note."""


class NameRefused(Refusal):
    """The name is not one, or looks like somebody else's."""


class NoteRefused(Refusal):
    """The note is too long."""


class NotActivated(Refusal):
    """The version may not play, so it is not made the one that does."""


class Unchanged(Refusal):
    """The file is the newest version's; `version` is that one."""

    def __init__(self, version: BotVersion) -> None:
        self.version = version
        text = _("This is the same file as version %(number)s, your newest one, so nothing was stored.")
        super().__init__(text % {"number": version.number})


def add_version(
    owner: Any, *, name: str = "", bot: Bot | None = None, file_name: str, data: bytes, note: str = ""
) -> BotVersion:
    """Store `data` as the first version of a new bot called `name`, or as the next version of `bot`.

    `note` is what its owner tells everybody of it. The version is in state `trial`; `version_uploaded` is sent once
    it is committed.

    Raises:
        UploadError: the file will not do; it says why, and for a syntax error where.
        Refusal: the file will do but is not taken; the subclass says why.
        PermissionDenied: `bot` is not the owner's.
    """
    if bot is not None and not bot.is_owned_by(owner):
        raise PermissionDenied("expected a bot of the uploader's own")
    if pause := pause_note(Switch.Name.UPLOADS):
        raise PausedError(pause)
    name = clean_name(name, owner) if bot is None else ""
    note = clean_note(note)
    # Checking a file is work: who has no place left does not cause any.
    _check_quota(owner)
    with _CHECKING[owner.pk % len(_CHECKING)]:
        upload = check_upload(file_name, data)
    with transaction.atomic():
        # Locking the owner makes his uploads queue, so that two at once cannot both take the last place of
        # the quota, nor the same number.
        get_user_model().objects.select_for_update(no_key=True).get(pk=owner.pk)
        _check_quota(owner)
        if bot is None:
            bot = _create_bot(owner, name)
        version = _create_version(bot, upload, file_name=file_name, data=data, note=note)
        transaction.on_commit(partial(version_uploaded.send_robust, sender=BotVersion, version_id=version.pk))
    logger.info("version uploaded bot=%s number=%s size=%s", bot.slug, version.number, version.size)
    return version


def read_file(file: "File[bytes]") -> bytes:
    """Return the content of an uploaded file, or as much of it as shows that it is too large.

    Raises:
        UploadError: it is so large that it is not even read.
    """
    name = file.name or ""
    require_size(shown_file_name(name), file.size, size_limit(name))
    content: bytes = file.read()
    return content


def shown_file_name(file_name: str) -> str:
    """Return the last part of a file's name, without what cannot be printed, at most 100 characters."""
    last = re.split(r"[/\\]", file_name)[-1]
    printable = "".join(char for char in last if char.isprintable()).strip()
    return printable[-100:]


def error_text(error: UploadError, file_name: str) -> str:
    """Return what is wrong with a file, in the reader's language, with the file's own name and the place."""
    params = dict(error.params)
    # In an archive bot.py is a file of its own; alone, it is whatever its owner calls it.
    if params.get("name") == ENTRY and not file_name.lower().endswith(".zip"):
        params["name"] = shown_file_name(file_name)
    if "what" in params:
        params["what"] = _(str(params["what"]))
    text = _(error.template) % params
    if error.line is None or "%(line)" in error.template:
        return text
    if error.column is None:
        return _("%(text)s It stands in line %(line)s.") % {"text": text, "line": error.line}
    place = {"text": text, "line": error.line, "column": error.column}
    return _("%(text)s It stands in line %(line)s, column %(column)s.") % place


def clean_name(name: str, owner: Any) -> str:
    """Return a new bot's name as it will be shown. NameRefused if it is not one, or imitates a name in use."""
    # Compatibility forms make a name longer or shorter, but not many times.
    name = " ".join(unicodedata.normalize("NFKC", name[: 10 * NAME_MAX]).split())
    if not NAME_MIN <= len(name) <= NAME_MAX:
        raise NameRefused(_("A bot's name has 2 to 32 characters."))
    if has_unseen(name) or not re.fullmatch(r"[^\W_][\w .'’-]*", name):
        raise NameRefused(_("A bot's name starts with a letter or a digit; then spaces and - _ . ' are fine too."))
    key = name_key(name)
    if not key:
        raise NameRefused(_("A bot's name needs at least one letter or digit."))
    if key in RESERVED:
        raise NameRefused(_("This name is reserved. Please choose another."))
    if taken := Bot.objects.filter(name_key=key).first():
        if taken.is_owned_by(owner):
            text = _("You have a bot %(name)s already. For a new version of it, choose it in place of a new bot.")
            raise NameRefused(text % {"name": taken.name})
        raise NameRefused(_("There is a bot of this name, or of one that looks like it. Please choose another."))
    if get_user_model().objects.filter(name_key=key).exists():
        raise NameRefused(_("A person goes by this name, or by one that looks like it. Please choose another."))
    return name


def clean_note(note: str) -> str:
    """Return a version's note as it is stored: one line, without NUL. NoteRefused if it is too long."""
    note = " ".join(note.replace("\0", "").split())
    if len(note) > NOTE_MAX:
        text = _("A note has at most %(most)d characters; this one has %(count)d.")
        raise NoteRefused(text % {"most": NOTE_MAX, "count": len(note)})
    return note


def limit_sentences() -> list[str]:
    """Return what an upload may be like and how often, in sentences, from the figures that are enforced."""
    source, archive = {"size": SOURCE_MAX // KIB}, {"size": MAX_BYTES // KIB, "files": MEMBERS_MAX}
    paths = {"path": PATH_MAX, "depth": DEPTH_MAX}
    unpacked = {"unpacked": UNPACKED_MAX // KIB, "size": SOURCE_MAX // KIB}
    return [
        _("One .py file of at most %(size)d KiB, in UTF-8.") % source,
        _("Or a .zip of at most %(size)d KiB with bot.py at its root and at most %(files)d files and folders.")
        % archive,
        _("It unpacks to at most %(unpacked)d KiB; a .py in it has at most %(size)d KiB.") % unpacked,
        _("File names in it: letters, digits, _, - and . up to %(path)d characters and %(depth)d levels.") % paths,
        _("Nothing compiled, no links, no password, no archive in the archive."),
        _("At most %(count)d versions in 24 hours, and %(tries)d tries in an hour.")
        % {"count": settings.UPLOADS_PER_DAY, "tries": upload_tries()},
    ]


# Which version plays


def playing(bot: str) -> QuerySet[BotVersion]:
    """Return the versions that may be rated of the bot that an outer query calls `bot`, first the one that plays.

    That is the one its owner chose, as long as it may, and otherwise the newest. A suspended person's bots have
    none: they play no more, and their entries wait.
    """
    of_active = Q(bot__owner=None) | Q(bot__owner__is_active=True)
    chosen_first = Case(When(bot__chosen=F("pk"), then=0), default=1)
    versions = BotVersion.objects.filter(of_active, bot=OuterRef(bot), state=BotVersion.State.READY)
    return versions.order_by(chosen_first, "-number")


def playable(bot: Bot) -> BotVersion | None:
    """Return the version of `bot` that plays, or None."""
    return playable_versions([bot.pk]).get(bot.pk)


def playable_versions(bot_ids: Iterable[int]) -> dict[int, BotVersion]:
    """Return by bot id the version that plays; bots without one are left out. One query."""
    return _first(bot_ids, playing("bot"))


def with_active(versions: QuerySet[BotVersion]) -> QuerySet[BotVersion]:
    """Add to each version `is_active`: whether it is the one of its bot that plays. No query of its own."""
    plays = Case(
        When(pk=Subquery(playing("bot").values("pk")[:1]), then=Value(True)),
        default=Value(False),
        output_field=BooleanField(),
    )
    return versions.annotate(is_active=plays)


def newest_versions(bot_ids: Iterable[int]) -> dict[int, BotVersion]:
    """Return by bot id the newest version, whatever its state. One query."""
    return _first(bot_ids, BotVersion.objects.filter(bot=OuterRef("bot")).order_by("-number"))


def _first(bot_ids: Iterable[int], of_bot: QuerySet[BotVersion]) -> dict[int, BotVersion]:
    versions = BotVersion.objects.filter(bot__in=list(bot_ids), pk=Subquery(of_bot.values("pk")[:1]))
    return {version.bot_id: version for version in versions}


def activate(owner: Any, version: BotVersion) -> None:
    """Let `version` be the one of its bot that plays, from the next pairing on.

    An older one then stays until its owner activates another. Activating the newest that may play ends that: later
    ones take over again as they pass their trials.

    Raises:
        PermissionDenied: the version is not the owner's.
        NotActivated: it may not play.
    """
    if not version.bot.is_owned_by(owner):
        raise PermissionDenied("expected a version of the user's own bot")
    ready = BotVersion.objects.filter(bot=version.bot_id, state=BotVersion.State.READY).order_by("-number")
    if not ready.filter(pk=version.pk).exists():
        version.refresh_from_db(fields=["state"])
        text = _("Version %(number)d was not activated: it is “%(state)s”, and only a version that is ready may play.")
        raise NotActivated(text % {"number": version.number, "state": version.get_state_display()})
    chosen = None if version == ready.first() else version
    Bot.objects.filter(pk=version.bot_id).update(chosen=chosen)
    logger.info("version activated bot=%s number=%s stays=%s", version.bot.slug, version.number, chosen is not None)


# Storing


def _check_quota(owner: Any) -> None:
    recent = BotVersion.objects.filter(bot__owner=owner, uploaded_at__gt=timezone.now() - QUOTA_WINDOW)
    limit = settings.UPLOADS_PER_DAY
    oldest_counted = recent.order_by("-uploaded_at").values_list("uploaded_at", flat=True)[limit - 1 : limit].first()
    if oldest_counted is None:
        return
    text = ngettext(
        "You have uploaded %(limit)s version within 24 hours, which is the limit. The next place is free in %(wait)s.",
        "You have uploaded %(limit)s versions within 24 hours, which is the limit. The next place is free in %(wait)s.",
        limit,
    )
    raise QuotaError(text % {"limit": limit, "wait": timeuntil(oldest_counted + QUOTA_WINDOW, depth=1)})


def _create_bot(owner: Any, name: str) -> Bot:
    try:
        with transaction.atomic():
            return Bot.objects.create(owner=owner, name=name, slug=_free_slug(name))
    except IntegrityError as error:
        # Somebody took the name between the check and now.
        raise NameRefused(_("This name has just been taken. Please choose another.")) from error


def _free_slug(name: str) -> str:
    """Return an address for `name` that no bot has; names in other scripts get a random one."""
    slug = slugify(name)[:NAME_MAX] or f"bot-{secrets.token_hex(4)}"
    if slug not in RESERVED_SLUGS and not Bot.objects.filter(slug=slug).exists():
        return slug
    return f"{slug}-{secrets.token_hex(3)}"


def _create_version(bot: Bot, upload: Upload, *, file_name: str, data: bytes, note: str) -> BotVersion:
    newest = bot.versions.order_by("-number").first()
    if newest is not None and newest.source_id == upload.sha256:
        raise Unchanged(newest)
    source, _created = Source.objects.get_or_create(sha256=upload.sha256, defaults={"data": data})
    return bot.versions.create(
        number=newest.number + 1 if newest else 1,
        source=source,
        file_name=shown_file_name(file_name),
        size=upload.size,
        note=note,
    )
