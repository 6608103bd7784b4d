"""A person at a table in a real browser: a whole game and its replay by keyboard alone, one table in two pages."""

from typing import Any

import pytest

from tests.e2e.test_newcomer import PATIENCE_MS, sign_up
from tests.live import Site, until

pytestmark = [pytest.mark.e2e, pytest.mark.browser]
# Tab is pressed at most so often to come to a control from the start of a page.
TABS = 60
CHOICES = ".target:enabled, [data-actions] button:enabled"
OVER = "[data-after]:not([hidden])"
PLACES = "[data-hand], [data-last], [data-discards-count]"
DECISION = f"[...document.querySelectorAll('{PLACES}')].map(place => place.innerText).join()"
IS_PLAYED = f"""before => document.querySelector('{OVER}')
    || {DECISION} !== before && !document.querySelector('[aria-busy]')"""


@pytest.fixture
def page(page: Any, live_site: Site) -> Any:
    page.set_default_timeout(PATIENCE_MS)
    return page


def tab_to(page: Any, wanted: str) -> None:
    """Press Tab until what has the focus matches the selector."""
    for _ in range(TABS):
        if is_focused(page, wanted):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"expected to reach {wanted} with {TABS} tabs")


def is_focused(page: Any, wanted: str) -> bool:
    return bool(page.evaluate("wanted => document.activeElement.matches(wanted)", wanted))


def test_person_plays_a_whole_game_and_steps_its_replay_by_keyboard(page: Any, live_site: Site) -> None:
    sign_up(page, live_site, "typist")
    page.goto(live_site.url + "/tables/new/")
    tab_to(page, "[name=target]")
    page.keyboard.type("20")
    page.keyboard.press("Enter")
    page.wait_for_selector("form[action$='/deal/']")
    tab_to(page, "form[action$='/deal/'] button")
    page.keyboard.press("Space")
    page.wait_for_selector("[data-table][data-socket]")
    code = page.url.rstrip("/").rsplit("/", 1)[1]

    decisions = 0
    while True:
        page.wait_for_selector(f"{CHOICES}, {OVER}")
        if page.locator(OVER).count():
            break
        if decisions:
            assert is_focused(page, CHOICES), "the focus comes back with the turn"
        tab_to(page, CHOICES)
        before = page.evaluate(DECISION)
        page.keyboard.press("Enter" if decisions % 2 else "Space")
        page.wait_for_function(IS_PLAYED, arg=before)
        decisions += 1
        assert decisions < 400
    match = live_site.ask(f"Match.objects.values('state','how').get(code='{code}')")
    assert match == {"state": "finished", "how": "target"}

    assert is_focused(page, f"{OVER} a"), "the way on has the focus when the game is over"
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-replay] [data-slider]:visible")
    steps = page.locator("[data-slider]").get_attribute("max")
    for key, expected in [
        ("Home", f"Hand 1, step 0 of {steps}"),
        ("ArrowRight", f"Hand 1, step 1 of {steps}"),
        ("ArrowRight", f"Hand 1, step 2 of {steps}"),
        ("ArrowLeft", f"Hand 1, step 1 of {steps}"),
        ("End", f"Hand 1, step {steps} of {steps}"),
    ]:
        page.keyboard.press(key)
        page.wait_for_function(
            "expected => document.querySelector('[data-where]').innerText === expected", arg=expected
        )
    hands = page.locator("[data-hand-no]").count()
    page.keyboard.press("ArrowRight")
    after = "Hand 2, step 0 of" if hands > 1 else f"Hand 1, step {steps}"
    page.wait_for_function("after => document.querySelector('[data-where]').innerText.startsWith(after)", arg=after)


# What is told goes away with the next turn, which may come at once.
LISTEN_FOR_TROUBLE = """() => {
  window.told = [];
  const box = document.querySelector("[data-trouble]");
  const note = () => { if (!box.hidden) window.told.push(box.innerText); };
  new MutationObserver(note).observe(box, { attributes: true, childList: true, characterData: true, subtree: true });
}"""


def test_of_two_pages_at_one_table_only_the_late_one_is_told_that_its_move_was_not_taken(
    page: Any, live_site: Site
) -> None:
    sign_up(page, live_site, "twofold")
    page.goto(live_site.url + "/tables/new/")
    page.click("main form button.button-primary")
    page.click("form[action$='/deal/'] button")
    page.wait_for_selector("[data-table][data-socket]")
    other = page.context.new_page()
    other.goto(page.url)
    for each in (page, other):
        each.wait_for_selector(".target:enabled[data-move^=k]")
    before = page.evaluate(DECISION)
    for each in (page, other):
        each.evaluate(LISTEN_FOR_TROUBLE)
    page.evaluate("new BroadcastChannel('go').onmessage = () => document.querySelector('[data-move=k0]').click()")
    # At once: no answer to the one click can reach the other page before its own.
    other.evaluate("new BroadcastChannel('go').postMessage(1); document.querySelector('[data-move=k1]').click()")
    for each in (page, other):
        each.wait_for_function(IS_PLAYED, arg=before)
        each.wait_for_selector(CHOICES)
    refused = "window.told.some(text => text.includes('That move was not taken'))"
    told = until(lambda: [each for each in (page, other) if each.evaluate(refused)], what="one page is told")
    assert len(told) == 1
    assert page.evaluate(DECISION) == other.evaluate(DECISION)
