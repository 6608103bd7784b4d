"""Enter a bot into a ladder, pause it, take it out: every change of an entry's state.

Only a bot's owner may; house bots are entered by the seed. An entry is never deleted: whoever
comes back resumes the same entry and its rating. Ratings are none of this module's business.
"""

import logging
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from bots.models import Bot, BotVersion
from bots.versions import newest_versions, playable
from ladder.models import Entry, Ladder
from ladder.notices import announce

logger = logging.getLogger(__name__)


class NotRegistered(Exception):
    """The entry stays as it was; the text is a sentence that tells its owner why and what to do."""


def register(user: Any, bot: Bot, ladder: Ladder) -> Entry:
    """Enter `bot` into `ladder`, or bring a withdrawn entry back with the rating that it had.

    Raises:
        PermissionDenied: the bot is not the user's.
        NotRegistered: the ladder is closed, no version may play, or the bot is in the ladder already.
    """
    _check_owner(user, bot)
    if not ladder.is_open:
        raise NotRegistered(_("%(ladder)s is closed; no bot can be entered now.") % {"ladder": ladder})
    if playable(bot) is None:
        raise NotRegistered(_why_not_playable(bot))
    return enter(bot, ladder)


def enter(bot: Bot, ladder: Ladder) -> Entry:
    """Enter `bot` without asking whose it is. NotRegistered if it is in the ladder already."""
    try:
        with transaction.atomic():
            entry = Entry.objects.create(
                ladder=ladder, bot=bot, seed_rating=ladder.initial_rating, rating=ladder.initial_rating
            )
    except IntegrityError:
        entry = Entry.objects.get(ladder=ladder, bot=bot)
        if not _move(entry, (Entry.State.WITHDRAWN,), Entry.State.ACTIVE):
            raise NotRegistered(_("%(bot)s is in %(ladder)s already.") % {"bot": bot, "ladder": ladder}) from None
        return entry
    _announce(entry)
    logger.info("registered entry=%d ladder=%s bot=%s", entry.pk, ladder.slug, bot.slug)
    return entry


def pause(user: Any, entry: Entry) -> None:
    """Leave the entry out of rounds until it is resumed. PermissionDenied, NotRegistered."""
    _change(user, entry, (Entry.State.ACTIVE,), Entry.State.PAUSED)


def resume(user: Any, entry: Entry) -> None:
    """Bring a paused entry back into the rounds. PermissionDenied, NotRegistered."""
    _change(user, entry, (Entry.State.PAUSED,), Entry.State.ACTIVE)


def withdraw(user: Any, entry: Entry) -> None:
    """Take the entry out of the standings; its history and rating stay. PermissionDenied, NotRegistered."""
    _change(user, entry, (Entry.State.ACTIVE, Entry.State.PAUSED), Entry.State.WITHDRAWN)


def _check_owner(user: Any, bot: Bot | None) -> None:
    if bot is None or not bot.is_owned_by(user):
        raise PermissionDenied("expected a bot of the user's own")


def _change(user: Any, entry: Entry, before: tuple[Entry.State, ...], after: Entry.State) -> None:
    _check_owner(user, entry.bot)
    if not _move(entry, before, after):
        entry.refresh_from_db(fields=["state"])
        raise NotRegistered(
            _("Nothing was changed: %(bot)s is %(state)s in %(ladder)s.")
            % {"bot": entry.bot, "state": entry.get_state_display(), "ladder": entry.ladder}
        )


def _move(entry: Entry, before: tuple[Entry.State, ...], after: Entry.State) -> bool:
    """Move one entry's state if it is one of `before`; False if somebody else was first."""
    if Entry.objects.filter(pk=entry.pk, state__in=before).update(state=after) != 1:
        return False
    entry.state = after
    _announce(entry)
    logger.info("entry=%d state=%s", entry.pk, after.value)
    return True


def _announce(entry: Entry) -> None:
    transaction.on_commit(lambda: announce(entry.ladder.slug), robust=True)


def _why_not_playable(bot: Bot) -> str:
    newest = newest_versions([bot.pk]).get(bot.pk)
    if newest is None:
        return _("%(bot)s has no version yet; upload one first.") % {"bot": bot}
    name = {"bot": bot, "number": newest.number}
    if newest.state == BotVersion.State.TRIAL:
        return _("Version %(number)d of %(bot)s is still to play its trial match; try again when it has.") % name
    if newest.state == BotVersion.State.FAILED:
        return _("Version %(number)d of %(bot)s did not pass its trial; see its log and upload a new one.") % name
    return _("Version %(number)d of %(bot)s was set aside; retry it on its page, or upload a new one.") % name
