"""Whether a match was dealt fairly, recomputed in a real browser on the page of the match."""

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ladder.models import Ladder
from tests.ladder.play import finish_all
from tests.ladder.rows import make_entries, make_ladder, make_pairing
from tests.ladder.test_live import elsewhere, open_page
from tests.live import ROOT, Site, until

pytestmark = [pytest.mark.e2e, pytest.mark.browser]

VECTORS = ROOT / "tests" / "fixtures" / "vectors"
VERDICT = "[data-verdict]:not([hidden])"


@pytest.fixture
def page(page: Any) -> Any:
    """The browser page, slow to give up: the machine may be busy."""
    page.set_default_timeout(30_000)
    return page


@pytest.fixture(scope="module")
def finished(live_site: Site) -> str:
    """The address of a finished match on the running site."""
    newest = "list(Match.objects.filter(state='finished', kind='ranked').values_list('code', flat=True)[:1])"
    (code,) = until(lambda: live_site.ask(newest), within_s=90, every_s=1, what="a match has been played")
    return f"{live_site.url}/matches/{code}/"


@pytest.fixture(scope="module")
def drawn(live_site: Site) -> str:
    """The address of a finished match whose seats were drawn by the cards, as they are at tables."""
    created = (
        "__import__('games.matches').matches.create_match(kind='ranked', rules={'preset': 'classic', 'target': 30}, "
        "entrants=[{'version': bot.versions.first()} for bot in Bot.objects.filter(owner=None)[:2]]).code"
    )
    code = live_site.ask(created)
    state = f"Match.objects.get(code={code!r}).state"
    until(lambda: live_site.ask(state) == "finished", within_s=90, every_s=1, what="the match has been played")
    return f"{live_site.url}/matches/{code}/"


def verdict(page: Any, url: str) -> str:
    """Have the page recompute its match, and return what it says then."""
    page.goto(url)
    page.get_by_role("button", name="Recompute it here").click()
    page.wait_for_selector(VERDICT)
    page.get_by_role("button", name="Recompute it again").wait_for()
    return str(page.inner_text(VERDICT))


def with_record(page: Any, change: Callable[[Any], Any]) -> None:
    """Change the record on its way to the page."""

    def answer(route: Any) -> None:
        response = route.fetch()
        doc = response.json()
        changed = change(doc)
        route.fulfill(response=response, body=json.dumps(doc) if changed is None else changed)

    page.route("**/record.json", answer)


def test_finished_match_was_dealt_fairly_and_every_hand_is_shown(page: Any, finished: str) -> None:
    with page.expect_response("**/record.json") as fetched:
        said = verdict(page, finished)
    doc = fetched.value.json()
    reshuffles = sum(len(hand["reshuffles"]) for hand in doc["hands"])
    assert said.startswith("This match was dealt fairly.")
    assert f"decks {len(doc['hands'])}, reshuffles {reshuffles}" in said
    page.get_by_text("What was recomputed").click()
    lines = page.locator("[data-work-steps] li").all_inner_texts()
    assert f"SHA-256 of the seed: {doc['fairness']['commitment']}" in lines[0]
    for hand in doc["hands"]:
        first = " ".join(hand["deck"][:8])
        assert any(line.startswith(f"Hand {hand['no']} (deal/{hand['no']}): {first} …") for line in lines)
    assert sum("new stock" in line for line in lines) == reshuffles
    assert page.locator(f"#fairness .facts >> text={doc['fairness']['commitment']}").count() == 1
    assert page.locator("#fairness [aria-live=polite] [data-verdict]").count() == 1


def exchange(cards: list[str], index: int) -> str:
    """Exchange a card with the next one that differs; return what is to be said of it."""
    other = next(place for place in range(index + 1, len(cards)) if cards[place] != cards[index])
    cards[index], cards[other] = cards[other], cards[index]
    return f"{cards[other]} expected, {cards[index]} found."


def test_one_card_altered_in_transit_is_named_with_its_place(page: Any, finished: str) -> None:
    told: list[str] = []

    def change(doc: Any) -> None:
        told.append(f"Hand 2, card 17 of the deck: {exchange(doc['hands'][1]['deck'], 16)}")

    with_record(page, change)
    said = verdict(page, finished)
    assert said == f"This match was not dealt fairly. {told[0]}"
    assert page.locator("[data-work-steps] li").last.inner_text() == told[0].removesuffix(".")
    assert page.locator("[data-work-steps] .is-wrong").is_visible()


LIES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "seed": (lambda doc: doc["fairness"].update(server_seed="00" * 32), "The record has another commitment: 66687aad"),
    "seed and commitment": (
        lambda doc: doc["fairness"].update(
            server_seed="00" * 32, commitment="66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"
        ),
        "This page shows another commitment: 66687aad",
    ),
    "player seed": (lambda doc: doc["fairness"]["player_seeds"].__setitem__(0, "x"), "Draw for the deal, round 1"),
    "draw": (lambda doc: doc["seating"]["rounds"][0].pop("1"), "Draw for the deal, round 1, entrant 1: "),
    "seat": (lambda doc: doc["seats"][1].update(entrant=7), "Entrant in seat 1, counted from 0: "),
    "dealer": (lambda doc: doc["hands"][1].update(dealer=0), "Hand 2, seat of the dealer, counted from 0: 1 expected"),
    "reshuffle": (lambda doc: doc["hands"][0]["reshuffles"].extend([[], [], []]), "Hand 1, "),
    "short deck": (lambda doc: doc["hands"][0]["deck"].pop(), "Hand 1, card 80 of the deck: "),
    "long deck": (lambda doc: doc["hands"][0]["deck"].append("As"), "Hand 1, cards in the deck: 80 expected, 81 found"),
    "move": (lambda doc: doc["hands"][0]["moves"].__setitem__(0, "k7"), "Hand 1, move 1: k7 is no move"),
    "own card": (lambda doc: doc["hands"][0]["moves"].__setitem__(0, "s10"), "Hand 1, move 1: s10 swaps with nobody"),
}


OF_A_DRAW = ("player seed", "draw", "seat")


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_in_the_record_is_named(lie: str, page: Any, request: pytest.FixtureRequest) -> None:
    change, where = LIES[lie]
    with_record(page, lambda doc: change(doc) and None)
    said = verdict(page, request.getfixturevalue("drawn" if lie in OF_A_DRAW else "finished"))
    assert said.startswith(f"This match was not dealt fairly. {where}"), said


JUNK = {"text": "hello", "nothing": "", "null": "null", "list": "[]", "object": "{}", "deep": "[" * 50_000}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_junk_instead_of_a_record_is_called_that(junk: str, page: Any, finished: str) -> None:
    with_record(page, lambda doc: junk)
    assert "What came is no record" in verdict(page, finished)


def test_a_record_that_cannot_be_fetched_may_be_tried_again(page: Any, finished: str) -> None:
    page.route("**/record.json", lambda route: route.abort())
    assert "Nothing is lost" in verdict(page, finished)
    page.unroute("**/record.json")
    page.get_by_role("button", name="Recompute it again").click()
    page.get_by_text("This match was dealt fairly.").wait_for()
    assert len(page.problems) == 1 and "ERR_FAILED" in page.problems[0]
    page.problems.clear()


def test_a_browser_that_may_not_hash_says_so_and_points_to_the_script(page: Any, finished: str) -> None:
    page.add_init_script("Object.defineProperty(Crypto.prototype, 'subtle', { get: () => undefined })")
    page.goto(finished)
    assert "only on pages that come over https" in page.inner_text(VERDICT)
    assert not page.locator("[data-recompute]").is_visible()
    assert page.get_by_role("link", name="Download the script").is_visible()


def test_without_javascript_the_page_tells_how_to_check_it(browser: Any, finished: str, tmp_path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(finished)
    assert not page.locator("[data-recompute]").is_visible()
    command = page.inner_text("#fairness pre")
    for name in ("record", "script"):
        with page.expect_download() as download:
            page.get_by_role("link", name=f"Download the {name}").click()
        download.value.save_as(tmp_path / download.value.suggested_filename)
    commitment = page.locator("#fairness .facts .hex").first.inner_text()
    context.close()
    program, *arguments = command.split()
    assert program == "python3"
    done = subprocess.run([sys.executable, *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert commitment in done.stdout and "dealt fairly" in done.stdout


def vectors(name: str) -> list[Any]:
    return [json.loads(line) for line in (VECTORS / name).read_text(encoding="utf-8").splitlines()]


def lies_by_card(doc: Any) -> list[Any]:
    """Return records with one altered deck, or new stock, each."""
    found = []
    for number, hand in enumerate(doc["hands"]):
        for index in range(1 + len(hand["reshuffles"])):
            lie = copy.deepcopy(doc)
            decks = [lie["hands"][number]["deck"], *lie["hands"][number]["reshuffles"]]
            exchange(decks[index], 7 * number % 40)
            found.append(lie)
    return found


def test_browser_and_script_judge_every_vector_alike(page: Any, finished: str, tmp_path: Path) -> None:
    records = vectors("records.jsonl")
    docs = [*records, *(case["record"] for case in vectors("refused.jsonl"))]
    docs += lies_by_card(records[6]) + lies_by_card(records[18])
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="utf-8")
    script = [sys.executable, str(ROOT / "docs" / "verify_shuffles.py"), str(path)]
    printed = subprocess.run(script, capture_output=True, text=True).stdout.splitlines()
    by_script = [line.startswith("  dealt fairly") for line in printed if "dealt fairly" in line.lower()]
    page.goto(finished)
    page.get_by_role("button", name="Recompute it here").wait_for()
    by_browser = page.evaluate(
        """async (docs) => {
            const { recompute, Unfair } = await import(
                performance.getEntriesByType("resource").find(({ name }) => /recompute.*\\.js$/.test(name)).name);
            const found = [];
            for (const doc of docs) {
                try {
                    await recompute(doc, doc.fairness.commitment, () => {});
                    found.push(true);
                } catch (error) {
                    if (!(error instanceof Unfair)) throw error;
                    found.push(false);
                }
            }
            return found;
        }""",
        docs,
    )
    assert by_browser == by_script
    assert all(by_browser[: len(records)]) and by_browser.count(False) > 40


def test_page_of_a_waiting_match_shows_the_commitment_that_its_end_is_measured_by(site: str, page: Any) -> None:
    ladder: Ladder = make_ladder(has_showcase=False)
    _, match = make_pairing(ladder, make_entries(ladder, 2))
    open_page(page, f"{site}/matches/{match.code}/", f"/ws/ladders/{ladder.slug}/")
    before = page.locator("#fairness .facts .hex").all_inner_texts()
    assert before == [match.commitment] and page.locator("[data-recompute]").count() == 0
    elsewhere(finish_all, ladder)
    # The page has turned into the finished match by itself, and its button works.
    page.get_by_role("button", name="Recompute it here").click()
    page.get_by_text("This match was dealt fairly.").wait_for()
    after = page.locator("#fairness .facts .hex").all_inner_texts()
    assert after == [match.commitment, bytes(match.server_seed).hex()]
    assert page.evaluate("window.stillTheSamePage") is True
