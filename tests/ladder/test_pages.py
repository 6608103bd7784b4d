"""The pages: what they show, to whom, and that they cost the same however long the history is."""

import base64
import itertools
import re
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from bots.models import Bot, BotVersion, Switch
from games.models import Match, SeatLog
from ladder.models import Entry, Ladder, Pairing
from ladder.ratings import rate
from ladder.registration import register
from ladder.scheduling import hold_round
from tests.ladder.play import finish_all, finish_one
from tests.ladder.rows import (
    CLASSIC,
    end,
    make_bot,
    make_entries,
    make_history,
    make_ladder,
    make_pairing,
    make_user,
    make_version,
    play,
    void,
)

pytestmark = pytest.mark.django_db
MOST_QUERIES = 12


def text(client: Client, url: str, status: int = 200, **headers) -> str:
    response = client.get(url, **headers)
    assert response.status_code == status, url
    return response.content.decode()


def count(client: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        text(client, url)
    return len(queries)


def headings(page: str) -> list[int]:
    return [int(level) for level in re.findall(r"<h([1-6])[ >]", page)]


def assert_no_level_is_left_out(page: str) -> None:
    levels = headings(page)
    assert levels[0] == 1
    assert all(below - above <= 1 for above, below in itertools.pairwise(levels)), levels


# Empty states: every list says what to do next.


@pytest.mark.parametrize(
    ("path", "words"),
    [
        pytest.param("/", "No ladder is open", id="home-ladders"),
        pytest.param("/", "No match has ended yet", id="home-latest"),
        pytest.param("/ladders/", "There is no ladder yet", id="ladders"),
        pytest.param("/bots/", "Be the first", id="bots"),
        pytest.param("/bots/?q=nobody", "See all bots", id="bots-searched"),
        pytest.param("/matches/", "See the ladders", id="matches"),
        pytest.param("/matches/?before=1", "past the end of the list", id="matches-past-the-end"),
    ],
)
def test_an_empty_list_says_what_to_do(client: Client, path: str, words: str) -> None:
    page = text(client, path)
    assert words in page
    assert_no_level_is_left_out(page)


@pytest.mark.parametrize("path", ["/", "/ladders/"])
def test_ladder_cards_stand_below_the_heading_above_them(client: Client, path: str) -> None:
    make_ladder(name="The one")
    page = text(client, path)
    assert "The one</a></h" in page
    assert_no_level_is_left_out(page)


def test_an_empty_ladder_asks_for_bots_and_says_how_many_are_missing(client: Client) -> None:
    page = text(client, make_ladder(seats=4).get_absolute_url())
    assert (
        "Nobody is entered yet" in page and "A round needs 4 more entries that can play, each of another owner." in page
    )


def test_a_bot_without_matches_and_ladders_says_so(client: Client) -> None:
    page = text(client, reverse("bot", args=[make_bot().slug]))
    assert "Not in any ladder" in page and "No match yet" in page


# Ladders


def test_ladder_shows_standings_matches_rules_and_the_next_round(client: Client) -> None:
    ladder = make_ladder(name="Evening ladder", next_round_at=timezone.now())
    first, second = make_entries(ladder, 2)
    pairing, match = make_pairing(ladder, [first, second])
    end(match, [2, 1])
    rate(pairing.pk)
    page = text(client, ladder.get_absolute_url())
    assert page.index(f"{second.name}</a>") < page.index(f"{first.name}</a>")  # best first
    assert "1520" in page and "1480" in page and "0–0–1" in page and "1–0–0" in page
    assert reverse("match", args=[match.code]) in page
    assert "data-countdown=" in page and "The rating starts at 1500." in page
    assert "replaced by a ten only" in page and 'href="/rules/#rule-4.6"' in page


def test_ladder_marks_the_readers_own_row_and_no_others(by_ada: Client, ada) -> None:
    ladder = make_ladder()
    make_entries(ladder, 2, owner=make_user())
    register(ada, make_bot(ada, name="Mim"), ladder)
    page = text(by_ada, ladder.get_absolute_url())
    assert page.count('class="own"') == 1
    assert 'class="own"' not in text(Client(), ladder.get_absolute_url())


def test_ladder_shows_the_first_hundred_and_below_them_the_readers_own(by_ada: Client, ada) -> None:
    ladder = make_ladder()
    for i in range(101):
        Entry.objects.create(ladder=ladder, bot=make_bot(state=None), rating=2000.0 - i)
    Entry.objects.create(ladder=ladder, bot=make_bot(ada, name="Mim"), rating=1000.0)
    page = text(by_ada, ladder.get_absolute_url())
    assert page.count('<td class="rank">') == 101
    assert '<td class="rank">102</td>' in page
    assert text(Client(), ladder.get_absolute_url()).count('<td class="rank">') == 100


def test_ladders_pages_hold_everybody_once(client: Client) -> None:
    ladder = make_ladder()
    # Equal ratings stand across the end of the page.
    for i in range(205):
        Entry.objects.create(ladder=ladder, bot=make_bot(state=None), rating=2000.0 - i // 10)
    pages = [text(client, f"{ladder.get_absolute_url()}?page={number}") for number in (1, 2, 3)]
    shown = [re.findall(r'id="entry-([0-9]+)"', page) for page in pages]
    assert [len(part) for part in shown] == [100, 100, 5]
    assert {int(pk) for part in shown for pk in part} == set(ladder.entries.values_list("pk", flat=True))
    assert '<a class="button" rel="next" href="?page=2">' in pages[0] and 'rel="prev"' not in pages[0]
    assert "Page 3 of 3" in pages[2] and 'rel="next"' not in pages[2]
    assert '<td class="rank">101</td>' in pages[1]
    for beyond in ("4", "0", "x", "9" * 30):
        assert client.get(ladder.get_absolute_url(), {"page": beyond}).status_code == 200


def test_ladder_waits_for_nobody_on_any_page(client: Client) -> None:
    ladder = make_ladder(seats=4)
    make_entries(ladder, 4, rating=2100.0)
    for i in range(97):
        Entry.objects.create(ladder=ladder, bot=make_bot(state=None), rating=2000.0 - i)
    assert "A round needs" not in text(client, ladder.get_absolute_url() + "?page=2")


def test_ladder_tells_owners_apart_when_it_says_that_too_few_can_play(client: Client) -> None:
    ladder = make_ladder(seats=3)
    for owner in (make_user(), make_user()):
        make_entries(ladder, 2, owner=owner)
    assert "A round needs 1 more entry that can play, of another owner." in text(client, ladder.get_absolute_url())
    make_entries(ladder, 1)
    assert "A round needs" not in text(client, ladder.get_absolute_url())


def test_standings_leave_out_the_withdrawn_and_share_ranks(client: Client) -> None:
    ladder = make_ladder()
    out, *_ = make_entries(ladder, 3)
    Entry.objects.filter(pk=out.pk).update(state="withdrawn", rating=3000)
    page = text(client, ladder.get_absolute_url())
    assert out.name not in page
    assert page.count('<td class="rank">1</td>') == 2


def test_ladder_change_is_over_the_last_ten_matches() -> None:
    ladder = make_ladder(k_new=20.0)
    one, other = make_entries(ladder, 2)
    for _ in range(12):
        play(ladder, [one, other], [1, 2])
    best = Entry.objects.get(pk=one.pk)
    before = list(one.changes.order_by("nth").values_list("before", flat=True))
    assert best.recent_change == pytest.approx(best.rating - before[2])


def test_trend_is_over_the_last_twenty_matches() -> None:
    ladder = make_ladder()
    one, other = make_entries(ladder, 2)
    assert one.recent_ratings == [] and one.recent_change is None
    play(ladder, [one, other], [1, 2])
    assert Entry.objects.get(pk=one.pk).recent_ratings == [1500.0, one.changes.get().after]
    for turn in range(24):
        play(ladder, [one, other], [1, 2] if turn % 3 else [2, 1])
    after = list(one.changes.order_by("number").values_list("after", flat=True))
    assert Entry.objects.get(pk=one.pk).recent_ratings == after[-21:]


def test_trend_of_older_entries_is_filled_from_the_ledger() -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 3)
    for turn in range(25):
        play(ladder, entries[: 2 + (turn > 20)], [1, 2, 3][: 2 + (turn > 20)])
    kept = dict(ladder.entries.values_list("pk", "recent_ratings"))
    ladder.entries.update(recent_ratings=[])
    import_module("ladder.migrations.0006_recent_ratings").fill(apps, None)
    assert dict(ladder.entries.values_list("pk", "recent_ratings")) == kept


def test_rows_are_rendered_anew_when_what_they_show_has_changed(client: Client) -> None:
    ladder = make_ladder()
    one, other = make_entries(ladder, 2)
    assert one.name in text(client, ladder.get_absolute_url())
    play(ladder, [one, other], [1, 2])
    rating = f'<span class="rating-value">{Entry.objects.get(pk=one.pk).rating:.0f}</span>'
    assert rating in text(client, ladder.get_absolute_url())
    Bot.objects.filter(pk=one.bot_id).update(name="Another name")
    assert ">Another name</a>" in text(client, ladder.get_absolute_url())


def test_ladder_says_that_rounds_are_paused(client: Client) -> None:
    ladder = make_ladder()
    make_entries(ladder, 2)
    Switch.objects.create(name="rounds", is_paused=True, note="Back at noon.")
    assert "Back at noon." in text(client, ladder.get_absolute_url())


def test_ladder_update_is_the_parts_alone(client: Client) -> None:
    ladder = make_ladder()
    whole = text(client, ladder.get_absolute_url())
    part = text(client, ladder.get_absolute_url(), headers={"HX-Request": "true"})
    assert "<html" in whole and "<html" not in part
    assert 'id="standings" data-part' in whole and 'id="standings" data-part' in part


def test_register_form_enters_the_bot_and_says_so(by_ada: Client, ada) -> None:
    ladder, bot = make_ladder(), make_bot(ada, name="Mim")
    assert 'value="' + bot.slug in text(by_ada, ladder.get_absolute_url())
    response = by_ada.post(reverse("ladder_register", args=[ladder.slug]), {"bot": bot.slug}, follow=True)
    assert "plays in the next round" in response.content.decode()
    assert Entry.objects.get(ladder=ladder, bot=bot).state == "active"


def test_register_form_says_once_what_keeps_out_several_bots(by_ada: Client, ada) -> None:
    ladder = make_ladder(entries_per_owner=1)
    register(ada, make_bot(ada), ladder)
    for _ in range(3):
        make_bot(ada)
    assert text(by_ada, ladder.get_absolute_url()).count("which is as many as it allows") == 1


def test_register_form_says_why_not(by_ada: Client, ada) -> None:
    ladder, bot = make_ladder(), make_bot(ada, state=BotVersion.State.TRIAL)
    response = by_ada.post(reverse("ladder_register", args=[ladder.slug]), {"bot": bot.slug}, follow=True)
    assert "still to play its trial" in response.content.decode()
    assert not Entry.objects.exists()


@pytest.mark.parametrize("change", ["pause", "withdraw"])
def test_entry_forms_change_the_entry_and_return_where_they_stood(by_ada: Client, ada, change: str) -> None:
    entry = register(ada, make_bot(ada), make_ladder())
    there = reverse("bot", args=[entry.bot.slug])
    response = by_ada.post(reverse("entry_change", args=[entry.pk, change]), {"next": there})
    assert response.headers["Location"] == there
    entry.refresh_from_db()
    assert entry.state == {"pause": "paused", "withdraw": "withdrawn"}[change]


@pytest.mark.parametrize("there", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", ""])
def test_entry_forms_never_lead_off_the_site(by_ada: Client, ada, there: str) -> None:
    entry = register(ada, make_bot(ada), make_ladder())
    response = by_ada.post(reverse("entry_change", args=[entry.pk, "pause"]), {"next": there})
    assert response.headers["Location"] == entry.ladder.get_absolute_url()


def test_forms_refuse_strangers_visitors_and_get(by_ada: Client, client: Client) -> None:
    owner = make_user()
    bot, ladder = make_bot(owner), make_ladder()
    entry = register(owner, bot, ladder)
    change = reverse("entry_change", args=[entry.pk, "withdraw"])
    enter = reverse("ladder_register", args=[make_ladder().slug])
    assert by_ada.post(change).status_code == 404
    assert by_ada.post(enter, {"bot": bot.slug}).status_code == 404
    assert client.post(change).status_code == 302 and client.post(enter, {"bot": bot.slug}).status_code == 302
    assert by_ada.get(change).status_code == 405 and by_ada.get(enter).status_code == 405
    assert list(Entry.objects.values_list("state", flat=True)) == ["active"]


def test_forms_need_the_token(ada) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    entry = register(ada, make_bot(ada), make_ladder())
    assert client.post(reverse("entry_change", args=[entry.pk, "pause"])).status_code == 403


# Bots and people


def test_bot_shows_versions_chart_and_matches(client: Client, ada) -> None:
    ladder = make_ladder()
    entry = register(ada, make_bot(ada, name="Mim"), ladder)
    (other,) = make_entries(ladder, 1)
    make_version(entry.bot, number=2, state=BotVersion.State.FAILED)
    for _ in range(3):
        play(ladder, [entry, other], [1, 2])
    page = text(client, reverse("bot", args=[entry.bot.slug]))
    assert "Rating of Mim in" in page and "over 3 points" in page
    assert "Version 1" in page and "Version 2" not in page and "trial failed" not in page
    assert page.count('class="match-row"') == 3
    assert "/versions/2/" not in page  # what it leads to is the owner's


def test_version_that_has_not_passed_is_between_its_owner_and_the_site(client: Client, by_ada: Client, ada) -> None:
    bot = make_bot(ada, name="Tern")
    make_version(bot, number=7, state="failed")
    make_version(bot, number=8, state="trial")
    page, own = text(client, f"/bots/{bot.slug}/"), text(by_ada, f"/bots/{bot.slug}/")
    assert "Version 1" in page and "Version 7" not in page and "Version 8" not in page
    assert "Version 7" in own and "Version 8" in own
    assert '<td class="num wide-only">1</td>' in text(client, "/bots/?q=Tern")


@pytest.mark.parametrize(("kind", "whose"), [("ranked", "public"), ("trial", "private")])
def test_record_of_a_trial_is_kept_by_no_cache_but_its_owners(by_ada: Client, ada, kind: str, whose: str) -> None:
    ladder = make_ladder()
    _, match = make_pairing(ladder, make_entries(ladder, 2, owner=ada))
    finish_one(match)
    Match.objects.filter(pk=match.pk).update(kind=kind)
    for name in ("record.json", "replay.json", "replay.json?hand=1"):
        answer = by_ada.get(f"/matches/{match.code}/{name}")
        assert answer.status_code == 200
        assert set(answer.headers["Cache-Control"].split(", ")) == {"max-age=3600", whose}


def test_bot_shows_its_owner_forms_and_versions_to_open(by_ada: Client, ada) -> None:
    entry = register(ada, make_bot(ada, name="Mim"), make_ladder())
    make_ladder(name="Another ladder")
    page = text(by_ada, reverse("bot", args=[entry.bot.slug]))
    assert reverse("entry_change", args=[entry.pk, "pause"]) in page
    assert "Enter a ladder" in page and "Another ladder" in page
    assert reverse("version", args=[entry.bot.slug, 1]) in page
    other = text(Client(), reverse("bot", args=[entry.bot.slug]))
    assert "Enter a ladder" not in other and "/entries/" not in other


def test_bot_chart_of_a_long_history_is_thinned_and_ends_with_the_present(client: Client) -> None:
    from ladder.charts import MOST, _thinned

    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    make_history(ladder, entries, 1000)
    entry = Entry.objects.get(pk=entries[0].pk)
    points = _thinned([entry])
    assert 100 <= len(points) <= 2 * MOST
    assert points[-1][1] == entry.changes.order_by("-nth").first().after


def test_person_shows_bots_and_never_the_address(client: Client, ada) -> None:
    register(ada, make_bot(ada, name="Mim"), make_ladder(name="Evening ladder"))
    page = text(client, reverse("person", args=["ada"]))
    assert "Mim" in page and "Evening ladder" in page
    assert ada.email not in page and "example.org" not in page


def test_person_who_was_shut_out_is_not_shown(client: Client, ada) -> None:
    ada.is_active = False
    ada.save()
    text(client, reverse("person", args=["ada"]), 404)


def test_bot_list_finds_and_pages(client: Client) -> None:
    for i in range(60):
        make_bot(name=f"Bot {i:02}")
    first = text(client, "/bots/")
    assert "Bot 49" in first and "Bot 50" not in first and "after=Bot%2049" in first
    second = text(client, "/bots/?after=Bot%2049")
    assert "Bot 50" in second and "Bot 49" not in second
    found = text(client, "/bots/?q=T%2017")
    assert "Bot 17" in found and "Bot 18" not in found


@pytest.mark.parametrize("page", ["bot", "ladder", "person", "match"])
def test_what_is_not_there_is_not_found(client: Client, page: str) -> None:
    text(client, reverse(page, args=["nowhere"]), 404)


# Matches


def test_match_list_narrows_and_pages_by_key(client: Client) -> None:
    ladder, other = make_ladder(), make_ladder()
    entries = make_entries(ladder, 3)
    make_history(ladder, entries, 60)
    make_history(other, make_entries(other, 2), 5)
    codes = list(Match.objects.filter(paired__ladder=ladder).order_by("-pk").values_list("code", flat=True))

    def shown(page: str) -> list[str]:
        return [code for code in codes if f'id="match-{code}"' in page]

    first = client.get("/matches/", {"ladder": ladder.slug})
    assert shown(first.content.decode()) == codes[:25]
    older = first.context["matches"].older_url
    second = client.get("/matches/" + older)
    assert shown(second.content.decode()) == codes[25:50]
    third = client.get("/matches/" + second.context["matches"].older_url)
    assert shown(third.content.decode()) == codes[50:]
    assert third.context["matches"].older_url == ""
    back = client.get("/matches/" + third.context["matches"].newer_url)
    assert shown(back.content.decode()) == codes[25:50]
    start = client.get("/matches/" + back.context["matches"].newer_url)
    assert shown(start.content.decode()) == codes[:25] and start.context["matches"].newer_url == ""


def test_match_list_of_a_bot_holds_its_matches_alone(client: Client) -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 3)
    make_history(ladder, entries, 30)
    bot = entries[0].bot
    mine = set(Match.objects.filter(players__bot=bot).values_list("code", flat=True))
    page = client.get("/matches/", {"bot": bot.slug, "ladder": ladder.slug})
    assert {row.id for row in page.context["matches"].rows} == mine


def test_match_list_of_two_entries_holds_what_was_rated_of_both(client: Client) -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 3)
    # Of three in turn each two meet in every third.
    make_history(ladder, entries, 90)
    make_pairing(ladder, entries[:2])
    first, second = (entry.pk for entry in entries[:2])
    rated = list(Pairing.objects.filter(state="rated").order_by("-number"))
    mine = [f"pairing-{pairing.pk}" for pairing in rated[2::3]]
    query = {"ladder": ladder.slug, "entry": second, "with": first}
    newest = client.get("/matches/", query)
    assert [row.id for row in newest.context["matches"].rows] == mine[:25]
    oldest = client.get("/matches/" + newest.context["matches"].older_url)
    assert [row.id for row in oldest.context["matches"].rows] == mine[25:]
    back = client.get("/matches/" + oldest.context["matches"].newer_url)
    assert [row.id for row in back.context["matches"].rows] == mine[:25]


@pytest.mark.parametrize("query", ["ladder=nowhere", "bot=nobody"])
def test_match_list_refuses_a_filter_that_names_nothing(client: Client, query: str) -> None:
    text(client, f"/matches/?{query}", 404)


def test_match_list_refuses_what_are_not_two_entries_of_one_ladder(client: Client) -> None:
    ladder, other = make_ladder(), make_ladder()
    (one, two), (stranger,) = make_entries(ladder, 2), make_entries(other, 1)
    here = f"ladder={ladder.slug}"
    text(client, f"/matches/?{here}&entry={one.pk}&with={two.pk}")
    for query in (
        f"{here}&entry={one.pk}",
        f"{here}&with={two.pk}",
        f"{here}&entry={one.pk}&with={one.pk}",
        f"{here}&entry={one.pk}&with={stranger.pk}",
        f"{here}&entry={one.pk}&with=x",
        f"{here}&entry={one.pk}&with={'9' * 19}",
        f"{here}&entry={one.pk}&with={two.pk}&bot={one.bot.slug}",
        f"entry={one.pk}&with={two.pk}",
    ):
        text(client, f"/matches/?{query}", 404)


@pytest.mark.parametrize("query", ["before=x", "after=-1", "before=9999999999999999999999", "before=²", "before="])
def test_match_list_takes_a_senseless_key_for_none(client: Client, query: str) -> None:
    ladder = make_ladder()
    make_history(ladder, make_entries(ladder, 2), 3)
    assert text(client, f"/matches/?{query}").count('class="match-row"') == 3


def test_programs_page_through_the_matches_of_a_bot_alone(by_ada: Client, client: Client, ada) -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 3, owner=ada)
    make_history(ladder, entries, 9)
    bot = entries[0].bot
    made = {"rules": CLASSIC, "seats": 2, "server_seed": bytes(32), "commitment": "0" * 64, "player_seeds": ["", ""]}
    for kind in ("table", "trial"):
        both = Match.objects.create(kind=kind, state="finished", **made)
        for entrant in (0, 1):
            both.players.create(entrant=entrant, seat=entrant, name=bot.name, bot=bot)
    *rated, table, trial = (
        Match.objects.filter(players__bot=bot).distinct().order_by("pk").values_list("code", flat=True)
    )

    def pages(reader: Client, query: str) -> list[list[str]]:
        answer, found = reader.get(f"/api/v1/matches/?bot={bot.slug}&{query}").json(), []
        while True:
            found.append([match["code"] for match in answer["results"]])
            if answer["next"] is None:
                return found
            previous, answer = answer, reader.get(answer["next"]).json()
            assert reader.get(answer["previous"]).json()["results"] == previous["results"]

    newest_first = [table, *reversed(rated)]
    assert len(rated) == 6 and pages(client, "limit=3") == [newest_first[:3], newest_first[3:6], newest_first[6:]]
    assert pages(by_ada, "limit=9") == [[trial, *newest_first]]
    assert pages(client, f"ladder={ladder.slug}") == [newest_first[1:]]
    assert pages(client, "kind=table&state=finished") == [[table]] and pages(client, "state=void") == [[]]


@pytest.mark.parametrize("direction", ["", "r=1&"])
def test_a_cursor_beyond_all_keys_of_a_bots_matches_is_past_the_end(client: Client, direction: str) -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    make_history(ladder, entries, 3)
    found = {}
    for position in ("9" * 40, "-" + "9" * 40):
        cursor = base64.b64encode(f"{direction}p={position}".encode()).decode()
        answer = client.get("/api/v1/matches/", {"bot": entries[0].bot.slug, "cursor": cursor})
        assert answer.status_code == 200
        found[position[0]] = len(answer.json()["results"])
    assert sorted(found.values()) == [0, 3] and found["9"] == (0 if direction else 3)


def test_match_says_why_it_is_unrated(client: Client) -> None:
    ladder = make_ladder()
    pairing, match = make_pairing(ladder, make_entries(ladder, 2, owner=make_user()))
    finish_one(match)
    rate(pairing.pk)
    page = text(client, reverse("match", args=[match.code]))
    assert "entries of one owner played each other" in page and ">unrated<" in page
    assert "entries of one owner" in text(client, ladder.get_absolute_url())


def test_void_match_says_whose_fault_it_is_not(client: Client) -> None:
    ladder = make_ladder()
    pairing, match = make_pairing(ladder, make_entries(ladder, 2))
    void(match)
    rate(pairing.pk)
    page = text(client, reverse("match", args=[match.code]))
    assert "lost three times through our own fault" in page
    assert bytes(match.server_seed).hex() not in page


@pytest.mark.parametrize("state", ["waiting", "queued", "playing"])
def test_unfinished_match_keeps_its_seed_and_says_what_it_waits_for(client: Client, state: str) -> None:
    ladder = make_ladder()
    _, match = make_pairing(ladder, make_entries(ladder, 2))
    Match.objects.filter(pk=match.pk).update(state=state)
    page = text(client, reverse("match", args=[match.code]))
    assert match.commitment in page and bytes(match.server_seed).hex() not in page
    said = {"waiting": "number 1 in the queue", "queued": "has it next", "playing": "in a blink"}[state]
    assert said in page
    assert_no_level_is_left_out(page)
    assert f'data-news="/ws/ladders/{ladder.slug}/?since=' in page


def test_finished_match_shows_result_rating_seed_and_replay(client: Client) -> None:
    ladder = make_ladder(has_showcase=False)
    make_entries(ladder, 2)
    hold_round(ladder.pk)
    (match,) = finish_all(ladder)
    page = text(client, reverse("match", args=[match.code]))
    assert bytes(match.server_seed).hex() in page and reverse("match_record", args=[match.code]) in page
    assert "+20" in page and "1500 → 1520" in page
    named = re.findall(r'<section aria-labelledby="([^"]+)"', page)
    titles = [re.search(rf'id="{one}"[^>]*>([^<]+)<', page)[1] for one in named]
    regions = titles + re.findall(r'role="region" aria-label="([^"]+)"', page)
    assert "Result" in regions and len(regions) == len(set(regions))
    assert "data-replay" in page and reverse("match_frames", args=[match.code]) in page
    step = text(client, reverse("match", args=[match.code]) + "?hand=1&step=3")
    assert "Hand 1, step 3 of" in step
    assert "The preset classic, unchanged." in page and 'href="/rules/#rule-9.1"' in page


@pytest.mark.parametrize("query", ["hand=99&step=99999", "hand=0&step=-4", "hand=x&step=²", "hand=&step="])
def test_replay_takes_a_senseless_step_for_the_nearest(client: Client, query: str) -> None:
    ladder = make_ladder(has_showcase=False)
    make_entries(ladder, 2)
    hold_round(ladder.pk)
    (match,) = finish_all(ladder)
    assert "data-replay" in text(client, reverse("match", args=[match.code]) + f"?{query}")


def test_showing_match_has_a_live_table_and_gives_nothing_away(by_ada: Client, ada) -> None:
    ladder = make_ladder()
    own = register(ada, make_bot(ada, name="Mim"), ladder)
    make_entries(ladder, 3)
    hold_round(ladder.pk)
    shown = Match.objects.get(is_showcase=True)
    finish_all(ladder, log="a card that only Mim saw")
    shown.refresh_from_db()
    assert shown.state == "showing"
    page = text(by_ada, reverse("match", args=[shown.code]))
    assert f'data-socket="/ws/tables/{shown.code}/"' in page
    assert bytes(shown.server_seed).hex() not in page and "a card that only Mim saw" not in page
    assert "data-replay" not in page and 'class="place' not in page
    home = text(by_ada, "/")
    assert f'data-key="{shown.code}"' in home and f'data-socket="/ws/tables/{shown.code}/"' in home
    assert own.bot.name in home


def played_by(owner, *, log: str = "thoughts of Mim") -> Match:
    ladder = make_ladder(has_showcase=False)
    register(owner, make_bot(owner, name="Mim"), ladder)
    make_entries(ladder, 1, owner=make_user("tom"))
    hold_round(ladder.pk)
    (match,) = finish_all(ladder, log=log)
    seat = match.players.get(bot__name="Mim")
    SeatLog.objects.filter(seat=seat).update(fault_detail="exit status 3")
    return match


def test_match_shows_the_log_of_a_seat_to_its_owner_alone(by_ada: Client, ada) -> None:
    match = played_by(ada)
    rival = match.players.exclude(bot__name="Mim").get()
    SeatLog.objects.filter(seat=rival).update(stderr="thoughts of the rival")
    url = reverse("match", args=[match.code])
    page = text(by_ada, url)
    assert "thoughts of Mim" in page and "exit status 3" in page and "thoughts of the rival" not in page
    tom = Client()
    tom.force_login(rival.bot.owner)
    opponents = text(tom, url)
    assert "thoughts of Mim" not in opponents and "exit status 3" not in opponents
    assert "thoughts of the rival" in opponents
    visitors = text(Client(), url)
    assert "thoughts" not in visitors and "exit status 3" not in visitors


def test_trial_match_is_there_for_the_bots_owner_alone(by_ada: Client, client: Client, ada) -> None:
    match = played_by(ada)
    Match.objects.filter(pk=match.pk).update(kind="trial")
    match.paired.delete()
    url = reverse("match", args=[match.code])
    assert "only you see it" in text(by_ada, url)
    text(client, url, 404)
    bot_url = reverse("bot", args=[Bot.objects.get(name="Mim").slug])
    assert match.code in text(by_ada, bot_url)
    for page in (
        bot_url,
        "/matches/",
        "/",
        reverse("bot", args=[match.players.exclude(bot__name="Mim").get().bot.slug]),
    ):
        assert match.code not in text(client, page)


def test_match_at_a_table_leads_to_the_table(client: Client, ada) -> None:
    match = Match.objects.create(
        kind="table", state="playing", rules=CLASSIC, seats=2, server_seed=bytes(32), commitment="0" * 64
    )
    match.players.create(entrant=0, seat=0, name="ada", user=ada)
    match.players.create(entrant=1, seat=1, name="careful", bot=make_bot())
    page = text(client, reverse("match", args=[match.code]))
    assert reverse("table", args=[match.code]) in page


# Names are text


HOSTILE = "<script>alert(1)</script>"


def test_hostile_names_are_shown_as_text(client: Client) -> None:
    ladder = make_ladder(name=HOSTILE, about=HOSTILE)
    bot = make_bot(name="x")
    Bot.objects.filter(pk=bot.pk).update(name=HOSTILE[:32], about=HOSTILE)
    Entry.objects.create(ladder=ladder, bot=Bot.objects.get(pk=bot.pk), rating=1500)
    make_entries(ladder, 1)
    hold_round(ladder.pk)
    (match,) = finish_all(ladder)
    pages = ["/", "/ladders/", "/bots/", "/matches/", ladder.get_absolute_url(), reverse("bot", args=[bot.slug])]
    for page in [*pages, reverse("match", args=[match.code])]:
        shown = text(client, page)
        assert "<script>alert" not in shown, page
        assert "&lt;script&gt;alert" in shown, page


# What pages cost


def test_match_pages_cost_few_queries_in_every_state(by_ada: Client, ada) -> None:
    ladder = make_ladder()
    register(ada, make_bot(ada, name="Mim"), ladder)
    make_entries(ladder, 3)
    hold_round(ladder.pk)
    finish_all(ladder)
    hold_round(ladder.pk)
    for match in Match.objects.all():
        assert count(by_ada, reverse("match", args=[match.code])) <= MOST_QUERIES, match.state
    assert {"finished", "showing", "waiting"} <= set(Match.objects.values_list("state", flat=True))
    assert count(by_ada, "/") <= MOST_QUERIES


# The operators' pages


@pytest.fixture
def operator(db) -> Client:
    boss = make_user("boss")
    boss.is_staff = boss.is_superuser = True
    boss.save()
    client = Client()
    client.force_login(boss)
    return client


def test_admin_holds_a_round_now_and_says_when_it_cannot(operator: Client) -> None:
    ladder, empty = make_ladder(), make_ladder(name="Empty one")
    make_entries(ladder, 2)
    data = {"action": "hold_rounds", "_selected_action": [ladder.pk, empty.pk]}
    page = operator.post("/admin/ladder/ladder/", data, follow=True).content.decode()
    assert "round 1 is held" in page and "Empty one: Too few entries can play now" in page
    assert Pairing.objects.get().ladder == ladder


NEW_LADDER = {
    "name": "Odd", "slug": "odd", "entrants": "bots", "seats": 2, "rules-preset": "classic", "unit": "set",
    "ranked_by": "fit", "max_pending": 1, "move_s": 1, "bank_s": 20, "person_move_s": 60, "person_bank_s": 300,
    "schedule": "every", "round_s": 60, "time_zone": "UTC", "carry": 0.5, "initial_rating": 1500,
    "k_new": 40, "k_settled": 20, "settled_after": 30,
}  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        pytest.param({"aces": "wild"}, "expected one of either, front: “wild”", id="value"),
        pytest.param({"target": "10001"}, "expected a number, 1 to 10,000", id="range"),
        pytest.param({"target": "9" * 5000}, "expected a number, 1 to 10,000", id="endless-number"),
        pytest.param({"preset": "poker"}, "poker is not one of the available choices", id="preset"),
        pytest.param({"preset": ""}, "These rules cannot be played", id="no-preset"),
    ],
)
def test_admin_refuses_rules_that_the_engine_does_not_know(operator: Client, rules: dict[str, str], said: str) -> None:
    sent = NEW_LADDER | {f"rules-{name}": value for name, value in rules.items()}
    response = operator.post("/admin/ladder/ladder/add/", sent)
    assert response.status_code == 200
    assert said in response.content.decode() and not Ladder.objects.exists()


def test_admin_takes_of_an_address_all_but_rules(operator: Client) -> None:
    page = operator.get("/admin/ladder/ladder/add/?rules=poker&name=Cup")
    assert page.status_code == 200 and 'value="Cup"' in page.content.decode()


def test_admin_takes_a_preset_with_overrides(operator: Client) -> None:
    sent = NEW_LADDER | {"rules-target": "100"}
    operator.post("/admin/ladder/ladder/add/", sent)
    ladder = Ladder.objects.get()
    assert ladder.rules == {**CLASSIC, "target": 100}
    operator.post(f"/admin/ladder/ladder/{ladder.pk}/change/", sent | {"ends_at": "2100-01-02T03:04"})
    ladder.refresh_from_db()
    assert ladder.ends_at is not None and ladder.ends_at.isoformat() == "2100-01-02T03:04:00+00:00"


def test_admin_keeps_what_the_log_is_replayed_with_once_it_has_begun(operator: Client) -> None:
    ladder = make_ladder()
    make_entries(ladder, 2)
    hold_round(ladder.pk)
    page = operator.get(f"/admin/ladder/ladder/{ladder.pk}/change/").content.decode()
    assert 'name="round_s"' in page and 'name="k_new"' not in page and 'name="rules-' not in page


def test_admin_does_not_write_over_a_rating_made_meanwhile(operator: Client) -> None:
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    operator.get(f"/admin/ladder/entry/{entries[0].pk}/change/")
    pairing, match = make_pairing(ladder, entries)
    end(match, [1, 2])
    rate(pairing.pk)
    operator.post(f"/admin/ladder/entry/{entries[0].pk}/change/", {"state": "paused", "rating": "9999"})
    entry = Entry.objects.get(pk=entries[0].pk)
    assert (entry.state, entry.rating) == ("paused", 1520.0)


def test_admin_leaves_a_line_in_the_history_of_what_it_did_to_an_entry(operator: Client) -> None:
    entry = make_entries(make_ladder(), 1)[0]
    address, history = f"/admin/ladder/entry/{entry.pk}/change/", f"/ladders/{entry.ladder.slug}/history/"
    operator.post(address, {"state": "active", "anchor": ""})
    assert not entry.ladder.events.exists(), "nothing was changed"
    operator.post(address, {"state": "paused", "anchor": "1600"})
    event = entry.ladder.events.get()
    assert (event.what, event.by.username, event.subject) == ("entry", "boss", entry.name)
    assert event.effect["was"] == {"state": "active", "anchor": None}
    assert event.effect["is"] == {"state": "paused", "anchor": 1600.0}
    told = operator.get(history).content.decode()
    assert entry.name in told and "state: paused, before active" in told and "anchor: 1600.0, before nothing" in told
    bot = make_bot(name="pim")
    operator.post("/admin/ladder/entry/add/", {"ladder": entry.ladder_id, "bot": bot.pk, "state": "active",
                                               "anchor": "1500"})  # fmt: skip
    assert "pim, held fixed at 1500" in operator.get(history).content.decode()


@pytest.mark.parametrize(("state", "asked"), [("active", "disqualified"), ("disqualified", "active")])
def test_admin_neither_disqualifies_nor_takes_it_back_behind_the_ledgers_back(
    operator: Client, state: str, asked: str
) -> None:
    entry = make_entries(make_ladder(), 1, state=state)[0]
    operator.post(f"/admin/ladder/entry/{entry.pk}/change/", {"state": asked, "anchor": "1600"})
    assert Entry.objects.get(pk=entry.pk).state == state


@pytest.mark.parametrize("model", ["pairing", "round", "ratingchange"])
def test_admin_shows_the_ledger_and_changes_nothing_of_it(operator: Client, model: str) -> None:
    ladder = make_ladder()
    pairing, match = make_pairing(ladder, make_entries(ladder, 2))
    end(match, [1, 2])
    rate(pairing.pk)
    pk = {"pairing": pairing.pk, "round": pairing.round_id, "ratingchange": pairing.changes.first().pk}[model]
    assert operator.get(f"/admin/ladder/{model}/").status_code == 200
    assert operator.get(f"/admin/ladder/{model}/{pk}/change/").status_code == 200
    assert operator.post(f"/admin/ladder/{model}/{pk}/change/", {"number": 7}).status_code == 403
    assert operator.post(f"/admin/ladder/{model}/{pk}/delete/", {"post": "yes"}).status_code == 403
    assert operator.get(f"/admin/ladder/{model}/add/").status_code == 403


def test_a_page_that_has_not_changed_is_not_sent_again(client: Client) -> None:
    first = client.get("/matches/")
    assert first.headers["ETag"]
    again = client.get("/matches/", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_code == 304 and not again.content
    ladder = make_ladder()
    make_history(ladder, make_entries(ladder, 2), 1)
    assert client.get("/matches/", headers={"If-None-Match": first.headers["ETag"]}).status_code == 200


def test_bot_list_does_not_put_small_letters_last(client: Client) -> None:
    for name in ("zed", "Ada", "mim"):
        make_bot(name=name)
    page = text(client, "/bots/")
    assert page.index("Ada</a>") < page.index("mim</a>") < page.index("zed</a>")
    assert "zed" in text(client, "/bots/?after=Mim") and "mim</a>" not in text(client, "/bots/?after=Mim")


def test_home_shows_a_table_of_people_when_nothing_is_on_show(client: Client, ada) -> None:
    match = Match.objects.create(
        kind="table", state="playing", rules=CLASSIC, seats=2, server_seed=bytes(32), commitment="0" * 64,
        player_seeds=["", ""], seating="fixed", moved_at=timezone.now(),
    )  # fmt: skip
    match.players.create(entrant=0, seat=0, name="ada", user=ada)
    match.players.create(entrant=1, seat=1, name="careful", bot=make_bot())
    page = text(client, "/")
    assert f'data-socket="/ws/tables/{match.code}/"' in page and reverse("table", args=[match.code]) in page
    assert bytes(match.server_seed).hex() not in page
    ladder = make_ladder()
    make_entries(ladder, 4)
    hold_round(ladder.pk)
    finish_all(ladder)
    assert f'data-key="{Match.objects.get(state="showing").code}"' in text(client, "/")
