"""Fold public names so that two that look alike share one key, and find what cannot be seen. No database.

Names of people and of bots share this one way of folding. The twins come from Unicode's table of confusable
characters, looked up one step only: following it from twin to twin would end up at `n` being `v`.
"""

import unicodedata
from functools import cache

from confusable_homoglyphs import confusables

# What Latin itself confuses in common fonts; l, I and 1 become i, so that case need not be known.
PAIRS = (("rn", "m"), ("vv", "w"))
SINGLES = str.maketrans("1l|0", "iiio")
SMALL_CAPITAL = "LATIN LETTER SMALL CAPITAL "
# Letters, by Unicode, that leave no mark: fillers of Hangul.
BLANK = frozenset("\u115f\u1160\u3164\uffa0")
# Controls, formats such as the overrides of the writing direction, halves of characters, line and paragraph separators;
# but not the two joiners, which are part of words and of emoji.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
JOINERS = "\u200c\u200d"


def name_key(name: str) -> str:
    """Return the key under which `name` is unique: compatibility forms, case, marks and look-alikes folded.

    Separators and everything else that is no letter or digit fall away, so the key of `._` is empty.
    """
    # Before they are decomposed too: a sigma that looks like c becomes one that does not.
    text = _without_marks("".join(_latin_twin(char) for char in name))
    text = "".join(_latin_twin(char) for char in text)
    text = _without_marks(text.casefold()).translate(SINGLES)
    text = "".join(char for char in text if char.isalnum() and char not in BLANK)
    for pair, single in PAIRS:
        text = text.replace(pair, single)
    return text


def has_unseen(text: str) -> bool:
    """Tell whether something in `text` cannot be seen, or acts on how the rest is shown instead of being seen."""
    return any(char in BLANK or (unicodedata.category(char) in UNSEEN and char not in JOINERS) for char in text)


def _without_marks(text: str) -> str:
    """Return `text` decomposed to its compatibility forms, less accents and other marks."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(char for char in decomposed if not unicodedata.category(char).startswith("M"))


@cache
def _latin_twin(char: str) -> str:
    """Return the ASCII letters or digits that `char` can be mistaken for, or `char` itself.

    A character without a twin of its own gets that of its other case: т itself has none, Т looks like T.
    """
    if char.isascii():
        return char
    for shape in (char, char.upper(), char.lower()):
        for found in confusables.confusables_data.get(shape, ()):
            twin = _without_marks(found["c"])
            if twin.isascii() and twin.isalnum():
                return twin
    described = unicodedata.name(char, "")
    capital = described.removeprefix(SMALL_CAPITAL)
    return capital if capital != described and len(capital) == 1 else char


# Names that would speak for the site, or that mean nobody.
RESERVED = {
    name_key(name)
    for name in (
        *("admin", "administrator", "root", "system", "soureh", "official", "moderator", "mod", "staff", "support"),
        *("help", "security", "operator", "owner", "house", "bot", "bots", "sandbox", "referee", "dealer"),
        *("anonymous", "nobody", "everyone", "guest", "deleted", "none", "null", "undefined", "you", "me"),
    )
}
