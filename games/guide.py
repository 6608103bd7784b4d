"""Turn the documents for bot authors into pages: the files of `docs/`, their headings linked, their code coloured."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from django.urls import reverse
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

DOCS = Path(__file__).resolve().parent.parent / "docs"
# What the documents link to, by the name of its page on a site; the rule book's page has anchors of its own.
PAGES = {"guide.md": "guide", "bots.md": "reference", "api.md": "api_docs"}
RULE_BOOK, EXAMPLE = "../games/engine/README.md", "example_bot.py"
LEXERS = {"python": "python", "console": "console"}


class Page(NamedTuple):
    """A document as HTML, its title apart; `contents` are the ids and titles of its sections."""

    title: str
    contents: list[tuple[str, str]]
    html: str


@cache
def read_page(name: str) -> Page:
    """Return the document of that name in `docs/`. Read once a process."""
    markdown = MarkdownIt("commonmark", {"html": False}, renderer_cls=Writer).enable("table")
    tokens = markdown.parse((DOCS / f"{name}.md").read_text(encoding="utf-8"))
    title, tokens = tokens[1].content, tokens[3:]
    contents = _mark_headings(tokens)
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                child.attrs["href"] = _address(str(child.attrs["href"]))
    return Page(title, contents, str(markdown.renderer.render(tokens, markdown.options, {})))


def _mark_headings(tokens: Sequence[Token]) -> list[tuple[str, str]]:
    """Give each heading an id, and return those of the second level with their titles."""
    contents = []
    for opening, inline in zip(tokens, tokens[1:], strict=False):
        if opening.type == "heading_open":
            anchor = slug(inline.content)
            opening.attrs["id"] = anchor
            if opening.tag == "h2":
                contents.append((anchor, inline.content.replace("`", "")))
    return contents


def slug(title: str) -> str:
    """Return the id of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _address(href: str) -> str:
    path, mark, anchor = href.partition("#")
    if path == RULE_BOOK:
        return reverse("rules")
    if path == EXAMPLE:
        return reverse("guide") + "#ten-lines-that-play"
    return reverse(PAGES[path]) + mark + anchor if path in PAGES else href


Env = MutableMapping[str, Any]


class Writer(RendererHTML):
    """Writes headings with a link to themselves, tables that scroll, and code in colours, its blocks numbered."""

    blocks = tables = 0

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Env) -> str:
        anchor = tokens[idx - 2].attrs["id"]
        return f' <a class="anchor" href="#{anchor}" aria-labelledby="{anchor}">#</a></{tokens[idx].tag}>\n'

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Env) -> str:
        self.blocks += 1
        return _code(tokens[idx].content, LEXERS.get(tokens[idx].info.strip(), "text"), f"code-{self.blocks}")

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Env) -> str:
        self.tables += 1
        frame = f'<div class="figures-scroll" tabindex="0" role="region" aria-label="Table {self.tables}">'
        return f'{frame}<table class="figures">\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: Env) -> str:
        return "</table></div>\n"


def _code(source: str, lexer: str, anchor: str) -> str:
    """Return a block of code, which can be copied if it is a program."""
    coloured = highlight(source, get_lexer_by_name(lexer), HtmlFormatter(nowrap=True))
    block = f'<pre class="code" tabindex="0" id="{anchor}"><code>{coloured}</code></pre>'
    if lexer != "python":
        return f"{block}\n"
    button = (
        f'<button class="button button-small copy-code" type="button" data-copy="#{anchor}" data-copied="✓" hidden>'
        "Copy</button>"
    )
    return f'<div class="program">{block}{button}</div>\n'
