"""Pages of the games room: who may see them, what they do, and that without JavaScript a person can play."""

import re
from collections import deque

import pytest
from django.urls import reverse
from django.utils import timezone

from games import dispatch, finish, tables
from games.engine import Rules
from games.models import Match, Worker
from tests.people import person, uploaded

pytestmark = pytest.mark.django_db(transaction=True)
SHORT = Rules.preset("classic", target=1)


@pytest.fixture
def mine(client, ada):
    """A browser in which ada is logged in."""
    client.force_login(ada)
    return client


def open_by_form(mine, **changes):
    form = {"opponent_1": "careful", "opponent_2": "", "opponent_3": "", "preset": "classic", "target": "1"}
    return mine.post(reverse("table_new"), form | changes)


def test_table_is_opened_dealt_and_played_to_the_end_without_javascript(mine, house, office):
    response = open_by_form(mine)
    match = Match.objects.get()
    assert response.url == reverse("table", args=[match.code])
    page = mine.get(response.url)
    assert match.commitment in page.content.decode()
    mine.post(reverse("table_deal", args=[match.code]), {"player_seed": "mine"})
    for _ in range(100):
        office.deliver()
        page = mine.get(reverse("table", args=[match.code]))
        if page.status_code == 302:
            break
        html = page.content.decode()
        number = re.search(r'name="id" value="(\d+)"', html)[1]
        move = re.search(r'name="move" value="([^"]+)"', html)[1]
        mine.post(reverse("table_move", args=[match.code]), {"id": number, "move": move})
    assert page.url == reverse("match", args=[match.code])
    match.refresh_from_db()
    assert (match.state, match.player_seeds) == ("finished", ["mine", ""])
    assert mine.get(page.url).status_code == 200


@pytest.mark.parametrize("id", ["10000001", "9" * 30, "-1", "0", "x", "1.5"])
def test_table_is_not_made_void_by_what_its_player_sends(mine, house, office, id):
    open_by_form(mine)
    match = Match.objects.get()
    mine.post(reverse("table_deal", args=[match.code]))
    office.deliver()
    for _ in range(finish.MAX_LOST):
        mine.post(reverse("table_move", args=[match.code]), {"id": id, "move": "k0"})
        office.deliver()
    match.refresh_from_db()
    assert (match.state, match.lost_attempts) == ("playing", 0)


def test_seed_that_is_none_is_refused_in_words(mine, house, office):
    open_by_form(mine)
    match = Match.objects.get()
    page = mine.post(reverse("table_deal", args=[match.code]), {"player_seed": "x" * 65}, follow=True)
    assert "at most 64 characters" in page.content.decode()
    match.refresh_from_db()
    assert (match.state, match.awaits, office.waiting) == ("open", "", deque())


@pytest.mark.parametrize(
    "changes",
    [{"opponent_1": ""}, {"opponent_1": "nobody"}, {"preset": "poker"}, {"target": "0"}, {"target": "x"}],
)
def test_table_that_cannot_be_is_refused_in_place(mine, house, changes):
    response = open_by_form(mine, **changes)
    assert response.status_code == 422
    assert b'role="alert"' in response.content or b"error" in response.content
    assert not Match.objects.exists()


def test_second_table_is_refused_with_the_way_to_the_first(mine, house, office):
    open_by_form(mine)
    response = open_by_form(mine)
    assert response.status_code == 422
    assert reverse("table", args=[Match.objects.get().code]) in response.content.decode()


def test_stranger_sees_a_table_but_neither_deals_moves_nor_resigns(mine, house, office, client, make_user):
    open_by_form(mine)
    match = Match.objects.get()
    client.force_login(make_user("tom"))
    assert client.get(reverse("table", args=[match.code])).status_code == 200
    for name in ("table_deal", "table_move", "table_resign"):
        assert client.post(reverse(name, args=[match.code])).status_code == 404
    client.logout()
    assert client.get(reverse("table", args=[match.code])).status_code == 200
    assert client.post(reverse("table_move", args=[match.code])).status_code == 302


def test_dealt_table_shows_a_stranger_no_hidden_card(mine, house, office, ada):
    open_by_form(mine)
    match = Match.objects.get()
    tables.deal(match)
    office.deliver()
    own = mine.get(reverse("table", args=[match.code])).content.decode()
    mine.logout()
    public = mine.get(reverse("table", args=[match.code])).content.decode()
    assert "is-private" in own
    assert "is-private" not in public


def test_table_can_be_closed_before_the_first_card(mine, house, office):
    open_by_form(mine)
    match = Match.objects.get()
    assert mine.post(reverse("table_resign", args=[match.code])).url == reverse("table_new")
    match.refresh_from_db()
    assert (match.state, match.how) == ("void", "given_up")
    assert mine.get(reverse("table", args=[match.code])).status_code == 200


def test_version_page_tells_its_owner_alone_how_the_trial_went(mine, house, worker, office, ada, make_user):
    version = uploaded(ada, source=b"import sys\nprint('<b>my log</b>', file=sys.stderr)\nsys.exit(3)\n")
    url = reverse("version", args=[version.bot.slug, 1])
    assert "data-follow" in mine.get(url).content.decode()
    office.deliver()
    page = mine.get(url).content.decode()
    assert "&lt;b&gt;my log&lt;/b&gt;" in page
    assert "data-follow" not in page
    mine.force_login(make_user("tom"))
    assert mine.get(url).status_code == 404
    mine.logout()
    assert mine.get(url).status_code == 302


@pytest.mark.parametrize(
    ("is_ok", "is_paused", "said"),
    [
        pytest.param(True, False, None, id="working"),
        pytest.param(True, True, "Paused by the operators.", id="paused"),
        pytest.param(False, False, "Until it does no bot is run.", id="refuses"),
    ],
)
def test_waiting_trial_has_its_place_and_says_why_no_bot_is_run(mine, house, ada, is_ok, is_paused, said):
    version = uploaded(ada)
    Worker.objects.create(name="m1", queues="matches", is_ok=is_ok, is_paused=is_paused, seen_at=timezone.now())
    page = mine.get(reverse("version", args=[version.bot.slug, 1])).content.decode()
    assert "it is number 1 in the queue" in page and ">waiting<" in page and ">running<" not in page
    trial = page[page.index('id="trial"') : page.index("This version")]
    assert (said or "") in trial
    assert (reverse("status") in trial) == (said is not None)


@pytest.mark.parametrize("page", ["version", "match"])
def test_what_a_bot_wrote_is_shown_and_does_nothing(mine, house, worker, office, ada, page):
    written = "\x1b[31mred\x07 \u202edrow\u2028 \x00 </pre><script>é 👩\u200d🚀\r\nnext"
    source = f"import os, sys\nos.write(2, {written!r}.encode())\nsys.exit({written!r})\n"
    version = uploaded(ada, source=source.encode())
    office.deliver()
    args = [version.bot.slug, 1] if page == "version" else [Match.objects.get().code]
    html = mine.get(reverse(page, args=args)).content.decode()
    shown = "\\x1b[31mred\\x07 \\u202edrow\\u2028 "
    assert html.count(shown) == 2, "in the log, and in what was seen of the fault"
    assert "&lt;/pre&gt;&lt;script&gt;é 👩\u200d🚀\nnext" in html
    assert not set("\x00\x07\x1b\u202e\u2028") & set(html)


@pytest.fixture
def finished(house, worker, office):
    entrants = [{"version": house["careful"]}, {"version": house["random"]}]
    match = dispatch.create_match(kind="ranked", rules=SHORT.to_json(), entrants=entrants, share="ladder:1")
    office.deliver()
    return match


def test_record_and_frames_are_public_once_finished(client, finished):
    record = client.get(reverse("match_record", args=[finished.code])).json()
    assert record["id"] == finished.code
    frames = client.get(reverse("match_frames", args=[finished.code])).json()
    assert [len(hand) - 1 for hand in frames] == [len(hand["moves"]) for hand in record["hands"]]
    assert client.get(reverse("match_frames", args=[finished.code]), {"hand": "1"}).json() == frames[0]


@pytest.mark.parametrize("hand", ["0", "99", "-1", "x", "1" * 9, "²"])
def test_frames_of_no_hand_are_not_found(client, finished, hand):
    assert client.get(reverse("match_frames", args=[finished.code]), {"hand": hand}).status_code == 404


@pytest.mark.parametrize("state", ["waiting", "queued", "playing", "showing", "void"])
def test_nothing_of_a_match_that_has_not_finished_is_public(client, finished, state):
    Match.objects.update(state=state)
    for name in ("match_record", "match_frames"):
        assert client.get(reverse(name, args=[finished.code])).status_code == 404


def test_trial_of_another_is_not_found(client, finished, ada):
    Match.objects.update(kind="trial")
    assert client.get(reverse("match_record", args=[finished.code])).status_code == 404


def test_health_page_is_for_operators(client, finished, worker, make_user):
    url = reverse("health")
    assert client.get(url).status_code == 302
    client.force_login(make_user("tom"))
    assert client.get(url).status_code == 404
    client.force_login(person("op", is_staff=True))
    finish.void_match(
        dispatch.create_match(
            kind="ranked", rules=SHORT.to_json(), entrants=[{"user": person("a1")}, {"user": person("b1")}]
        ).pk,
        "platform",
    )
    page = client.get(url).content.decode()
    assert worker.name in page
    assert "sandbox mode A" in page
    assert Match.objects.get(state="void").code in page


def test_admin_shows_no_seed_and_pauses_workers(client, finished, worker):
    client.force_login(person("op", is_staff=True, is_superuser=True))
    for match in Match.objects.all():
        page = client.get(reverse("admin:games_match_change", args=[match.pk])).content.decode()
        assert bytes(match.server_seed).hex() not in page
        assert "server_seed" not in page
    url = reverse("admin:games_worker_changelist")
    client.post(url, {"action": "pause", "_selected_action": [worker.name]})
    worker.refresh_from_db()
    assert worker.is_paused
    client.post(url, {"action": "resume", "_selected_action": [worker.name]})
    worker.refresh_from_db()
    assert not worker.is_paused


def test_pages_take_few_queries_whatever_their_length(mine, house, office, django_assert_max_num_queries):
    open_by_form(mine)
    tables.deal(Match.objects.get())
    office.deliver()
    for url in (reverse("table_new"), reverse("table", args=[Match.objects.get().code])):
        with django_assert_max_num_queries(12):
            assert mine.get(url).status_code == 200


def test_operators_cannot_guess_at_a_seed_by_narrowing_their_list_down(client, mine, house):
    open_by_form(mine)
    code = Match.objects.get().code
    client.force_login(person("operator", is_staff=True, is_superuser=True))
    matches = reverse("admin:games_match_changelist")
    assert code in client.get(f"{matches}?state__exact=open&kind__exact=table").content.decode()
    for column in ("server_seed", "player_seeds", "asked"):
        for asked in ("regex=.", "icontains=0", "gte=AAAA", "isnull=0"):
            assert client.get(f"{matches}?{column}__{asked}").status_code == 400
