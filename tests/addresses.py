"""Every address of the site, for tests that go through all of them."""

import itertools
import re
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

# What fills the gaps that are no test's own: a new gap of the URLconf is named here, or by every test that asks.
USUAL: dict[str, list[Any]] = {
    "number": [1],
    "seat": [0],
    "change": ["pause"],
    "to": ["open"],
    "flag": [1],
    "judgement": [1],
    "content_type_id": [1],
    "app_label": ["games"],
    "url": ["nowhere"],
    "key": ["abc"],
    "uidb36": ["1"],
}


def addresses(own: dict[str, list[Any]]) -> list[str]:
    """Return every address of the URLconf, its gaps filled in all ways that `own` knows, the others as USUAL."""
    fill = USUAL | own
    found: list[str] = []
    for pattern in patterns(get_resolver().url_patterns):
        gaps = re.findall(r"<(?:\w+:)?(\w+)>|\(\?P<(\w+)>", pattern)
        names = [one or other for one, other in gaps]
        missing = [name for name in names if name not in fill]
        assert not missing, f"expected to know what to fill in for {missing} of {pattern}"
        for values in itertools.product(*(fill[name] for name in names)):
            found.append("/" + filled(pattern, dict(zip(names, values, strict=True))))
    return sorted(set(found))


def patterns(entries: Any, before: str = "") -> list[str]:
    """Return the patterns of a URLconf, those of included ones with what stands before them."""
    found: list[str] = []
    for entry in entries:
        if isinstance(entry, URLResolver):
            found += patterns(entry.url_patterns, before + str(entry.pattern))
        elif isinstance(entry, URLPattern):
            found.append(before + str(entry.pattern))
    return found


def filled(pattern: str, values: dict[str, Any]) -> str:
    """Return an address that matches a path or a regular expression of a URLconf."""
    text = re.sub(r"<(?:\w+:)?(\w+)>", lambda gap: str(values[gap[1]]), re.sub(r"\(\?P<(\w+)>", r"(?P=\1)(", pattern))
    text = re.sub(r"\(\?P=(\w+)\)\((?:[^()]|\([^()]*\))*\)", lambda gap: str(values[gap[1]]), text)
    return re.sub(r"\(\?!(?:[^()]|\([^()]*\))*\)", "", text).replace("^", "").replace("$", "").replace("\\", "")
