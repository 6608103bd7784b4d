"""What a newcomer does, in a real browser on the whole running site; each test is one afternoon of his."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.live import ROOT, Site, until

pytestmark = [pytest.mark.e2e, pytest.mark.browser]

LADDER = "/ladders/classic-for-two/"
PATIENCE_MS = 30_000


@pytest.fixture
def page(page: Any, live_site: Site) -> Any:
    """The browser page, slow to give up: the machine may be busy."""
    page.set_default_timeout(PATIENCE_MS)
    return page


def sign_up(page: Any, site: Site, name: str) -> None:
    page.goto(site.url + "/accounts/signup/")
    page.fill("[name=email]", f"{name}@example.org")
    page.fill("[name=username]", name)
    page.fill("[name=password1]", "correct horse battery")
    page.click("main button.button-primary")
    page.wait_for_url(site.url + "/")


def upload(page: Any, site: Site, name: str, file: Path) -> None:
    page.goto(site.url + "/bots/upload/")
    page.fill("[name=name]", name)
    page.set_input_files("[name=file]", file)
    page.click("main button.button-primary")


def readme_bot(folder: Path) -> Path:
    """Write the bot that the README shows into a file, and return it."""
    text = (ROOT / "README.md").read_text()
    shown = re.search(r"```python\n(import soureh_bot.*?)```", text, re.DOTALL)
    assert shown is not None
    path = folder / "readme_bot.py"
    path.write_text(shown[1])
    return path


def test_rated_match_appears_on_the_open_ladder_page_by_itself(page: Any, live_site: Site) -> None:
    page.goto(live_site.url + LADDER)
    page.evaluate("window.untouched = true")
    before = page.locator(".match-row .badge-rated").count()
    newest = page.locator(".match-row:has(.badge-rated) a").last.get_attribute("href") if before else ""
    page.wait_for_function(
        """([count, newest]) => {
            const rows = [...document.querySelectorAll('.match-row')].filter(row => row.querySelector('.badge-rated'));
            return rows.length > count || rows.length && ![...rows.at(-1).querySelectorAll('a')].some(
                link => link.getAttribute('href') === newest);
        }""",
        arg=[before, newest],
    )
    assert page.evaluate("window.untouched") is True
    assert page.locator("meta[http-equiv=refresh]").count() == 0


def test_newcomer_uploads_the_readme_bot_and_steps_through_its_first_match(
    page: Any, live_site: Site, tmp_path: Path
) -> None:
    sign_up(page, live_site, "newcomer")
    upload(page, live_site, "Ten lines", readme_bot(tmp_path))
    page.wait_for_selector("#trial .badge-passed")

    page.goto(live_site.url + LADDER)
    page.locator("#mine select[name=bot]").select_option(label="Ten lines")
    page.click("#mine button.button-primary")
    page.wait_for_selector("#mine .own-entry")

    page.goto(live_site.url + "/bots/ten-lines/")
    until(
        lambda: live_site.ask("RatingChange.objects.filter(entry__bot__name='Ten lines').count()"),
        within_s=90,
        every_s=1,
        what="its first match is rated",
    )
    page.reload()
    page.locator(".match-row:has(.badge-rated) a", has_text="Open").first.click()
    where = page.locator("[data-where]")
    shown = page.locator("[data-replay] [data-slot] use").evaluate_all(
        "uses => uses.map(use => use.getAttribute('href').split('#')[1])"
    )
    assert len(shown) == 16 and "back" not in shown, "every card is shown once a match has ended"
    start = where.inner_text()
    page.click("[data-step-to=next]")
    page.wait_for_function(
        "start => document.querySelector('[data-where]').textContent.trim() !== start.trim()", arg=start
    )
    page.keyboard.press("ArrowRight")
    page.click("[data-step-to=last]")
    assert "step" in where.inner_text().lower()


def test_syntax_error_is_told_with_line_and_column_where_the_reader_is(
    page: Any, live_site: Site, tmp_path: Path
) -> None:
    bot = tmp_path / "broken.py"
    bot.write_text("import soureh_bot\n\n\ndef choose(turn)\n    return 'd'\n")
    sign_up(page, live_site, "hasty")
    upload(page, live_site, "Broken", bot)
    alert = page.locator("main .message[role=alert]")
    alert.wait_for()
    assert "Syntax error in broken.py, line 4, column 17: expected ':'" in alert.inner_text()
    assert "4  def choose(turn)" in alert.inner_text()
    assert alert.evaluate("alert => alert === document.activeElement"), "a screen reader starts here"
    assert page.title().startswith("Error: ")
    described = page.locator("[name=file]").evaluate(
        "file => document.getElementById(file.getAttribute('aria-describedby')).innerText"
    )
    assert "line 4, column 17" in described
    assert page.input_value("[name=name]") == "Broken"
    assert page.input_value("[name=source]") == bot.read_text()


def test_refused_form_puts_the_reader_at_its_first_mistake(page: Any, live_site: Site) -> None:
    page.goto(live_site.url + "/accounts/signup/")
    page.fill("[name=email]", "short@example.org")
    page.fill("[name=username]", "short.")
    page.fill("[name=password1]", "123")
    page.click("main button.button-primary")
    page.wait_for_selector("[name=username][aria-invalid=true]")
    assert page.evaluate("document.activeElement.name") == "username"
    assert page.title().startswith("Error: ")


def test_person_plays_a_whole_game_by_clicking(page: Any, live_site: Site) -> None:
    sign_up(page, live_site, "clicker")
    page.goto(live_site.url + "/tables/new/")
    page.select_option("[name=opponent_1]", "careful")
    page.fill("[name=target]", "25")
    page.click("main form button.button-primary")
    page.wait_for_url("**/tables/*/")
    page.locator("main form button", has_text="Deal").first.click()
    page.wait_for_selector("[data-table][data-socket]")
    code = page.url.rstrip("/").rsplit("/", 1)[1]
    for _ in range(400):
        page.wait_for_selector("[data-actions] button:enabled, [data-after]:not([hidden])")
        if page.locator("[data-after]:not([hidden])").count():
            break
        before = page.locator("[data-prompt]").inner_text() + page.locator("[data-discards-count]").inner_text()
        page.locator("[data-actions] button:enabled").first.click()
        page.wait_for_function(
            """before => document.querySelector('[data-after]:not([hidden])')
                || document.querySelector('[data-prompt]').innerText
                   + document.querySelector('[data-discards-count]').innerText !== before""",
            arg=before,
        )
    match = live_site.ask(f"Match.objects.values('state','how','decisions').get(code='{code}')")
    assert match["state"] == "finished" and match["how"] == "target" and match["decisions"] > 4
    page.click("[data-after] a")
    page.wait_for_selector("[data-replay]")
