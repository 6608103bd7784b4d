"""Which public names people may take, and what they are told if not. The only database access is `is_taken`."""

import unicodedata

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from bots.models import Bot
from bots.names import RESERVED, has_unseen, name_key

__all__ = ["RESERVED", "check_public_name", "is_taken", "name_key"]

MIN_LENGTH, MAX_LENGTH = 2, 24
SEPARATORS = "._-"


def check_public_name(name: str) -> None:
    """Raise ValidationError with a sentence for the user unless `name` has the form of a public name."""
    if not MIN_LENGTH <= len(name) <= MAX_LENGTH:
        raise ValidationError(
            _("A public name has %(least)d to %(most)d characters.") % {"least": MIN_LENGTH, "most": MAX_LENGTH}
        )
    if name != unicodedata.normalize("NFC", name) or not all(_is_allowed(char) for char in name):
        raise ValidationError(_("A public name is made of letters, digits, dots, hyphens and underscores."))
    if name[0] in SEPARATORS or name[-1] in SEPARATORS or any(a + b in name for a in SEPARATORS for b in SEPARATORS):
        raise ValidationError(_("In a public name a dot, hyphen or underscore stands between letters or digits."))
    if len(name_key(name)) < MIN_LENGTH:
        raise ValidationError(_("A public name needs at least two letters or digits that can be told apart."))


def check_free(name: str) -> None:
    """Raise ValidationError with a sentence for the user if `name` is reserved or looks like one in use."""
    if name_key(name) in RESERVED:
        raise ValidationError(_("This name is reserved. Please choose another one."))
    check_unlike(name)


def check_unlike(name: str, *, but: int | None = None) -> None:
    """Raise ValidationError if `name` looks like one in use; the person with the key `but` is left out of account."""
    if is_taken(name, but=but):
        raise ValidationError(
            _("This name is taken, or looks too much like the name of a player or bot. Please choose another one.")
        )


def is_taken(name: str, *, but: int | None = None) -> bool:
    """Tell whether a bot, or a person other than the one with the key `but`, has `name` or one that looks like it."""
    from soureh_site.accounts.models import User  # the model itself needs `name_key`

    key = name_key(name)
    people = User.objects.filter(name_key=key)
    if but is not None:
        people = people.exclude(pk=but)
    return people.exists() or Bot.objects.filter(name_key=key).exists()


def _is_allowed(char: str) -> bool:
    """Tell whether `char` may stand in a public name: letters, digits, the marks of their scripts, separators."""
    if has_unseen(char):
        return False
    return char in SEPARATORS or unicodedata.category(char) in {"Lu", "Ll", "Lt", "Lm", "Lo", "Mc", "Mn", "Nd"}
