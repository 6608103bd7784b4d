"""Take uploads in: the one door through which pages and the API store a new version of a bot.

What a file must be like is decided in `uploads`; here it is who may store it, under which name, how
often, and that versions are numbered without gaps. Nothing here runs a bot.
"""

import logging
import re
import secrets
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
from django.db.models import OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.text import slugify
from django.utils.timesince import timeuntil
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from bots.models import Bot, BotVersion, Source, Switch
from bots.names import RESERVED, name_key
from bots.signals import version_uploaded
from bots.switches import pause_note
from bots.uploads import ENTRY, SOURCE_MAX, Upload, UploadError, check_upload

logger = logging.getLogger(__name__)

QUOTA_WINDOW = timedelta(hours=24)
NAME_MIN, NAME_MAX = 2, 32
# What others may know of: versions that passed their trial. The rest is between the owner and the site.
PUBLIC_STATES = (BotVersion.State.READY, BotVersion.State.SET_ASIDE)
# What stands at these addresses below /bots/ is a page of the site, not a bot.
RESERVED_SLUGS = frozenset({"kit", "new", "upload"})


class Refusal(Exception):
    """A sound file that is not taken now, or not under this name; the text is a sentence for the user."""


class QuotaError(Refusal):
    """The owner has uploaded as often as a day allows."""


class PausedError(Refusal):
    """The operators have paused uploads; the text is their note."""


class NameRefused(Refusal):
    """The name is not one, or looks like somebody else's."""


class Unchanged(Refusal):
    """The file is the newest version's; `version` is that one."""

    def __init__(self, version: BotVersion) -> None:
        self.version = version
        text = _("This is the same file as version %(number)s, your newest one, so nothing was stored.")
        super().__init__(text % {"number": version.number})


def add_version(owner: Any, *, name: str = "", bot: Bot | None = None, file_name: str, data: bytes) -> BotVersion:
    """Store `data` as the first version of a new bot called `name`, or as the next version of `bot`.

    The version is in state `trial`; `version_uploaded` is sent once it is committed.

    Raises:
        UploadError: the file will not do; it says why, and for a syntax error where.
        Refusal: the file will do but is not taken; the subclass says why.
        PermissionDenied: `bot` is not the owner's.
    """
    if bot is not None and bot.owner_id != owner.pk:
        raise PermissionDenied("expected a bot of the uploader's own")
    if note := pause_note(Switch.Name.UPLOADS):
        raise PausedError(note)
    name = clean_name(name, owner) if bot is None else ""
    upload = check_source(file_name, data)
    with transaction.atomic():
        # Locking the owner makes his uploads queue, so that two at once cannot both take the last place of
        # the quota, nor the same number.
        get_user_model().objects.select_for_update(no_key=True).get(pk=owner.pk)
        _check_quota(owner)
        if bot is None:
            bot = _create_bot(owner, name)
        version = _create_version(bot, upload, file_name=file_name, data=data)
        transaction.on_commit(partial(version_uploaded.send_robust, sender=BotVersion, version_id=version.pk))
    logger.info("version uploaded bot=%s number=%s size=%s", bot.slug, version.number, version.size)
    return version


def check_source(file_name: str, data: bytes) -> Upload:
    """Return what `uploads` makes of one Python file. UploadError for anything else."""
    if not file_name.lower().endswith(".py"):
        raise UploadError(_("Please upload one Python file; its name ends in .py."))
    return check_upload(file_name, data)


def read_file(file: "File[bytes]") -> bytes:
    """Return the content of an uploaded file, or as much of it as shows that it is too large.

    Raises:
        UploadError: it is so large that it is not even read.
    """
    if file.size > SOURCE_MAX:
        raise UploadError(
            _("%(name)s is too large: at most %(most)d KiB."),
            name=shown_file_name(file.name or ""),
            most=SOURCE_MAX // 1024,
        )
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
    if params.get("name") == ENTRY:
        params["name"] = shown_file_name(file_name)
    text = _(error.template) % params
    if error.line is None or "%(line)" in error.template:
        return text
    if error.column is None:
        return _("%(text)s It stands in line %(line)s.") % {"text": text, "line": error.line}
    place = {"text": text, "line": error.line, "column": error.column}
    return _("%(text)s It stands in line %(line)s, column %(column)s.") % place


def clean_name(name: str, owner: Any) -> str:
    """Return a new bot's name as it will be shown. NameRefused if it is not one, or imitates a name in use."""
    name = " ".join(unicodedata.normalize("NFKC", name).split())
    if not NAME_MIN <= len(name) <= NAME_MAX:
        raise NameRefused(_("A bot's name has 2 to 32 characters."))
    if not re.fullmatch(r"[^\W_][\w .'’-]*", name):
        raise NameRefused(_("A bot's name starts with a letter or a digit; then spaces and - _ . ' are fine too."))
    key = name_key(name)
    if not key:
        raise NameRefused(_("A bot's name needs at least one letter or digit."))
    if key in RESERVED:
        raise NameRefused(_("This name is reserved. Please choose another."))
    if taken := Bot.objects.filter(name_key=key).first():
        if taken.owner_id == owner.pk:
            text = _("You have a bot %(name)s already. For a new version of it, choose it in place of a new bot.")
            raise NameRefused(text % {"name": taken.name})
        raise NameRefused(_("There is a bot of this name, or of one that looks like it. Please choose another."))
    if get_user_model().objects.filter(name_key=key).exists():
        raise NameRefused(_("A person goes by this name, or by one that looks like it. Please choose another."))
    return name


def playable(bot: Bot) -> BotVersion | None:
    """Return the newest version of `bot` that may be rated, or None."""
    return playable_versions([bot.pk]).get(bot.pk)


def playable_versions(bot_ids: Iterable[int]) -> dict[int, BotVersion]:
    """Return by bot id the newest version that may be rated; bots without one are left out. One query.

    A suspended person's bots have none: they play no more, and their entries wait.
    """
    of_active = Q(bot__owner=None) | Q(bot__owner__is_active=True)
    return _newest(bot_ids, of_active, state=BotVersion.State.READY)


def newest_versions(bot_ids: Iterable[int]) -> dict[int, BotVersion]:
    """Return by bot id the newest version, whatever its state. One query."""
    return _newest(bot_ids)


def _newest(bot_ids: Iterable[int], *conditions: Q, **values: Any) -> dict[int, BotVersion]:
    newest = BotVersion.objects.filter(*conditions, bot=OuterRef("bot"), **values).order_by("-number").values("pk")[:1]
    versions = BotVersion.objects.filter(bot__in=list(bot_ids), pk=Subquery(newest))
    return {version.bot_id: version for version in versions}


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


def _create_version(bot: Bot, upload: Upload, *, file_name: str, data: bytes) -> BotVersion:
    newest = bot.versions.order_by("-number").first()
    if newest is not None and newest.source_id == upload.sha256:
        raise Unchanged(newest)
    source, _created = Source.objects.get_or_create(sha256=upload.sha256, defaults={"data": data})
    return bot.versions.create(
        number=newest.number + 1 if newest else 1,
        source=source,
        file_name=shown_file_name(file_name),
        size=upload.size,
    )
