"""Where a refused form puts its reader, in a browser, whatever the mistake is marked on."""

from typing import Any

import pytest
from django.conf import settings
from django.template.loader import render_to_string

from games.forms import RulesField
from ladder.forms import KForm

pytestmark = pytest.mark.browser


class RulesForm(KForm):
    """Rules before other fields."""

    rules = RulesField()
    field_order = ("rules",)


SENT = {"rules-preset": "classic", "k_new": 40, "k_settled": 20, "settled_after": 3}
MISTAKES = [
    pytest.param({}, "rules", "id_rules_error", id="of-a-group-as-a-whole"),
    pytest.param({"rules-end": "hands"}, "k_settled", "id_rules-hands", id="in-a-group"),
    pytest.param({}, "k_new", "id_k_new", id="in-a-field"),
]


@pytest.mark.parametrize(("changes", "wrong", "focused"), MISTAKES)
def test_reader_is_put_at_the_first_mistake(page: Any, changes: dict[str, Any], wrong: str, focused: str) -> None:
    form = RulesForm({**SENT, **changes})
    form.add_error(wrong, "Somebody else changed it.")
    script = (settings.BASE_DIR / "soureh_site/static/soureh_site/site.js").read_text()
    body = render_to_string("_form.html", {"form": form})
    page.set_content(f"<!doctype html><main><form>{body}</form></main><script type=module>{script}</script>")
    page.wait_for_function("document.activeElement !== document.body")
    assert page.evaluate("document.activeElement.id") == focused
