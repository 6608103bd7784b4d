"""How much time a countdown says is left, in a browser."""

from typing import Any

import pytest
from django.conf import settings

pytestmark = pytest.mark.browser
MINUTE, HOUR = 60, 3600
SHOWN = {
    "en": {
        121 * HOUR + 27 * MINUTE + 26: "5 days, 1 hour",
        48 * HOUR + 30 * MINUTE: "2 days",
        24 * HOUR: "1 day",
        24 * HOUR - 1: "23:59:59",
        HOUR - 1: "59:59",
        65: "1:05",
    },
    "de": {50 * HOUR + MINUTE: "2 Tage, 2 Stunden", 65: "1:05"},
}


@pytest.mark.parametrize("language", SHOWN)
def test_countdown_counts_days_where_there_are_any(page: Any, language: str) -> None:
    page.clock.install(time="2026-11-30T12:00:00Z")
    page.clock.pause_at("2026-11-30T12:00:10Z")
    script = (settings.BASE_DIR / "soureh_site/static/soureh_site/site.js").read_text()
    page.set_content(f"<!doctype html><html lang={language}>{'<time></time>' * len(SHOWN[language])}</html>")
    page.evaluate(
        """(left) => document.querySelectorAll("time").forEach((time, i) => {
            time.dataset.countdown = new Date(Date.now() + 1000 * left[i]).toISOString();
        })""",
        list(SHOWN[language]),
    )
    page.add_script_tag(content=script, type="module")
    page.wait_for_function("[...document.querySelectorAll('time')].every((time) => time.textContent)")
    assert page.locator("time").all_text_contents() == list(SHOWN[language].values())
