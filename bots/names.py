"""Fold public names so that two that look alike share one key. No database."""

import unicodedata

from confusable_homoglyphs import confusables


def _latin_twin(char: str) -> str:
    """Return the Latin characters that `char` can be mistaken for, or `char` itself."""
    found = confusables.is_confusable(char, preferred_aliases=["latin"])
    if not found:
        return char
    twins = [twin["c"] for twin in found[0]["homoglyphs"] if twin["c"].isascii()]
    return twins[0] if twins else char


def name_key(name: str) -> str:
    """Return the key under which `name` is unique: compatibility forms, case, marks and look-alikes folded."""
    text = unicodedata.normalize("NFKC", name)
    text = "".join(_latin_twin(char) for char in text)
    text = unicodedata.normalize("NFKD", text).casefold()
    text = "".join(char for char in text if char.isalnum())
    # What Latin itself confuses: rn/m, vv/w, l/1/I and o/0.
    return text.replace("rn", "m").replace("vv", "w").translate(str.maketrans("1l0", "iio"))
