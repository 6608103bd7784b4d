"""Template tags of the rule book."""

import re

from django import template
from django.urls import reverse
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django_stubs_ext import StrOrPromise

from games import rulebook

register = template.Library()

_MARKS = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\b(\d{1,2}\.\d{1,2})\b")


@register.filter
def rule_text(text: StrOrPromise) -> SafeString:
    """Render a text of the rule book: `code`, **a word that is being explained**, and 4.6 as a link to that rule."""
    # Escaped before it is marked up, so that nothing else in a text can be markup.
    return mark_safe(_MARKS.sub(_marked, conditional_escape(text)))


def _marked(found: re.Match[str]) -> str:
    code, word, number = found.groups()
    if code:
        return f"<code>{code}</code>"
    if word:
        return f"<dfn>{word}</dfn>"
    return f'<a href="{rule_url(number)}">{number}</a>' if number in rulebook.numbers() else number


@register.simple_tag
def rule_url(number: str) -> str:
    """Return the address of a rule."""
    return f"{reverse('rules')}#rule-{number}"
