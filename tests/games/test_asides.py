"""A version that keeps faulting is set aside once, its owner is told why, and a retry begins anew."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from bots.models import BotVersion
from bots.versions import add_version, playable
from games import asides, dispatch, finish, trials
from games.duplicates import seat_in_set
from games.matches import create_set
from games.models import Finding, Match, SetAside
from tests.ladder.play import finish_one
from tests.ladder.rows import make_bot
from tests.people import person, uploaded

pytestmark = pytest.mark.django_db
commits = pytest.mark.django_db(transaction=True)
CLASSIC = {"preset": "classic", "target": 30}
WRITTEN = re.compile(r'UPDATE "(bots_botversion|accounts_user)" SET .* WHERE \(?"\1"\."id" = (\d+)')


@pytest.fixture
def rivals(db):
    """House bots that are good for matches which no sandbox plays."""
    return {name: make_bot(name=name).versions.get() for name in ("careful", "spoiler")}


@pytest.fixture
def mim(rivals, office, ada):
    """A version of ada's that is ready."""
    return make_bot(ada, name="Mim").versions.get()


def create(version, rivals, *, kind="ranked", **options):
    """Return a match of this version against a house bot, which waits."""
    entrants = [{"version": version}, {"version": rivals["careful"]}]
    return dispatch.create_match(kind=kind, rules=CLASSIC, entrants=entrants, share="ladder:1", **options)


def play(version, rivals, fault=None, *, kind="ranked"):
    """Play such a match; the version faults, or does not."""
    return finish_one(create(version, rivals, kind=kind), faulty={0: fault} if fault else None)


def crash_three_times(version, rivals):
    for _ in range(3):
        play(version, rivals, "crash")


def state(version):
    version.refresh_from_db()
    return version.state


def told(owner):
    owner.refresh_from_db()
    return owner.bots_aside


def test_three_faults_in_ten_rated_matches_set_a_version_aside(mim, rivals, ada):
    for fault in ("timeout", None, "crash", None):
        play(mim, rivals, fault)
    assert (state(mim), told(ada)) == ("ready", 0)
    last = play(mim, rivals, "crash")
    assert state(mim) == "set_aside" and playable(mim.bot) is None and told(ada) == 1
    assert mim.state_note == "It faulted in 3 of its last 5 rated matches: crash, crash, timeout."
    aside = SetAside.objects.get()
    assert (aside.why, aside.match, aside.is_open) == ("faults", last, True)
    assert asides.reason(aside) == mim.state_note


def test_faults_that_are_further_back_than_ten_matches_are_forgotten(mim, rivals):
    play(mim, rivals, "crash")
    for _ in range(8):
        play(mim, rivals)
    play(mim, rivals, "crash")
    assert state(mim) == "ready"
    play(mim, rivals, "crash")
    assert state(mim) == "ready", "expected the first fault to be the eleventh match back"
    play(mim, rivals, "crash")
    assert state(mim) == "set_aside"


@pytest.mark.parametrize("kind", ["trial", "table"])
def test_only_rated_matches_count(mim, rivals, kind):
    for _ in range(2):
        play(mim, rivals, "crash")
    if kind == "trial":
        play(mim, rivals, "crash", kind=kind)
    else:
        match = play(mim, rivals)
        Match.objects.filter(pk=match.pk).update(kind=kind)
        asides.review([Match.objects.get(pk=match.pk)])
    assert state(mim) == "ready"


def test_a_showcase_sets_aside_when_it_has_been_shown(mim, rivals):
    for _ in range(2):
        play(mim, rivals, "crash")
    shown = create(mim, rivals, is_showcase=True)
    finish_one(shown, faulty={0: "crash"})
    assert state(mim) == "ready"
    assert finish.finish_show(shown.pk)
    assert state(mim) == "set_aside"


@pytest.mark.parametrize("is_showcase", [False, True], ids=["at once", "after its show"])
def test_two_sets_that_end_at_once_lock_versions_and_then_owners_in_one_order(rivals, ada, is_showcase):
    bob = person("bob")
    versions = [make_bot(owner).versions.get() for owner in (bob, ada)]
    assert versions[0].pk < versions[1].pk and ada.pk < bob.pk
    entrants = [{"version": version} for version in (versions[1], versions[0], rivals["careful"])]
    played = create_set(rules=CLASSIC, entrants=entrants, is_showcase=is_showcase)
    with CaptureQueriesContext(connection) as queries:
        for rotation, match in enumerate(played):
            finish_one(match, faulty={seat_in_set(one, rotation=rotation, seats=3): "crash" for one in (0, 1)})
        assert not is_showcase or finish.finish_show(played[0].pk)
    written = [WRITTEN.match(query["sql"]) for query in queries]
    assert [(found[1], int(found[2])) for found in written if found] == [
        *(("bots_botversion", version.pk) for version in versions),
        *(("accounts_user", owner.pk) for owner in (ada, bob)),
    ]


def test_the_older_version_plays_in_place_of_one_that_is_set_aside(mim, rivals, ada):
    newer = mim.bot.versions.create(number=2, source=mim.source, file_name="bot.py", size=1, state="ready")
    assert playable(mim.bot) == newer
    for _ in range(3):
        play(newer, rivals, "timeout")
    assert playable(mim.bot) == mim


@commits
def test_a_fault_in_the_trial_sets_aside_and_a_retry_plays_another(house, worker, office, ada):
    version = uploaded(ada, source=b"raise ValueError('oops')\n")
    office.deliver()
    assert state(version) == "failed" and told(ada) == 1
    assert version.state_note == "It faulted in its trial match: crash, exited with status 1."
    assert trials.retry(version) is True
    assert trials.retry(version) is False
    assert (state(version), version.state_note, told(ada)) == ("trial", "", 0)
    assert Match.objects.filter(kind="trial").count() == 2
    # The first trial's verdict is not given a second time, whatever the sweep finds.
    BotVersion.objects.update(uploaded_at=timezone.now() - timedelta(hours=1))
    assert trials.sweep_trials() == 0
    office.deliver()
    assert state(version) == "failed" and told(ada) == 1


def test_the_count_begins_anew_after_a_retry(mim, rivals, worker, office):
    crash_three_times(mim, rivals)
    waiting = create(mim, rivals)
    mim.refresh_from_db()
    assert trials.retry(mim)
    trial = Match.objects.get(kind="trial")
    finish_one(trial)
    assert state(mim) == "ready"
    finish_one(waiting, faulty={0: "crash"})
    for _ in range(2):
        play(mim, rivals, "crash")
    assert state(mim) == "ready", "expected the match from before the retry not to count"
    play(mim, rivals, "crash")
    assert state(mim) == "set_aside"
    assert mim.state_note == "It faulted in 3 of its last 3 rated matches: crash, crash, crash."


def test_house_bots_play_on_and_the_operators_are_told_once(mim, rivals):
    for _ in range(4):
        finish_one(create(mim, rivals), faulty={1: "crash"})
    assert state(rivals["careful"]) == "ready"
    assert Finding.objects.filter(what="house_fault").count() == 1
    assert not SetAside.objects.exists()


def test_a_version_that_took_workers_along_is_not_its_owners_to_retry(client, mim, ada):
    assert asides.set_aside(mim, SetAside.Why.WORKERS, match=None, of_last=2, before="ready")
    assert (state(mim), told(ada)) == ("set_aside", 1)
    client.force_login(ada)
    assert "A version of one of your bots is set aside. <a" in client.get("/rules/").content.decode(), "no fault of its"
    assert trials.retry(mim) is False
    assert state(mim) == "set_aside"
    assert trials.retry(mim, by_operator=True) is True
    assert (state(mim), told(ada)) == ("trial", 0)


def test_what_was_missed_is_found_by_the_sweep_once(mim, rivals, ada, monkeypatch):
    monkeypatch.setattr(asides, "review", lambda match: None)
    crash_three_times(mim, rivals)
    assert state(mim) == "ready"
    assert (asides.sweep_asides(), asides.sweep_asides()) == (1, 0)
    assert (state(mim), told(ada)) == ("set_aside", 1)
    assert Finding.objects.get().what == "set_aside"


def test_the_sweep_mends_a_count_that_went_astray(mim, rivals, ada):
    crash_three_times(mim, rivals)
    assert told(ada) == 1
    Match.objects.all().delete()
    mim.delete()
    assert told(ada) == 1
    asides.sweep_asides()
    assert told(ada) == 0


@commits
def test_the_next_upload_deals_with_what_was_told(mim, rivals, ada):
    crash_three_times(mim, rivals)
    add_version(ada, bot=mim.bot, file_name="bot.py", data=b"# another\n")
    assert told(ada) == 0
    assert state(mim) == "set_aside"


# On pages


@pytest.fixture
def put_aside(mim, rivals):
    crash_three_times(mim, rivals)
    mim.refresh_from_db()
    return mim


def test_the_owner_is_told_on_every_page_and_others_are_not(client, put_aside, ada, make_user):
    notice = "A version of one of your bots is set aside"
    assert notice not in client.get("/rules/").content.decode()
    client.force_login(make_user("ben"))
    assert notice not in client.get("/rules/").content.decode()
    client.force_login(ada)
    for address in ("/rules/", "/my/bots/", "/"):
        page = client.get(address).content.decode()
        assert notice in page and reverse("bots_aside") in page, address
    page = client.get(reverse("bots_aside")).content.decode()
    assert "or in 3 of its last 10 rated matches, is not paired" in page
    assert "It faulted in 3 of its last 3 rated matches: crash, crash, crash." in page and notice not in page
    for address in (
        "/my/bots/",
        reverse("version", args=[put_aside.bot.slug, 1]),
        reverse("bot", args=[put_aside.bot.slug]),
    ):
        assert "It faulted in 3 of its last 3 rated matches" in client.get(address).content.decode(), address


def test_the_notice_costs_no_query(client, put_aside, ada, make_user, django_assert_num_queries):
    client.force_login(ada)
    with django_assert_num_queries(2):  # the session and the account
        assert "is set aside" in client.get("/rules/").content.decode()
    client.force_login(make_user("ben"))
    with django_assert_num_queries(2):
        client.get("/rules/")


def test_one_click_retries_and_one_leaves_it(client, put_aside, ada):
    client.force_login(ada)
    assert client.get(reverse("version_retry", args=[put_aside.bot.slug, 1])).status_code == 405
    assert client.post(reverse("version_leave", args=[put_aside.bot.slug, 1])).status_code == 302
    assert (state(put_aside), told(ada)) == ("set_aside", 0)
    answer = client.post(reverse("version_retry", args=[put_aside.bot.slug, 1]), follow=True)
    assert "plays a new trial" in answer.content.decode()
    assert state(put_aside) == "trial" and Match.objects.filter(kind="trial").count() == 1
    again = client.post(reverse("version_retry", args=[put_aside.bot.slug, 1]), follow=True)
    assert "was not retried" in again.content.decode()
    assert Match.objects.filter(kind="trial").count() == 1


@pytest.mark.parametrize("name", ["version_retry", "version_leave"])
def test_nobody_else_retries_or_leaves_it(client, put_aside, make_user, name):
    address = reverse(name, args=[put_aside.bot.slug, 1])
    assert client.post(address).status_code == 302  # to log in
    for other in (make_user("ben"), person("operator", is_staff=True, is_superuser=True)):
        client.force_login(other)
        assert client.post(address).status_code == 404
    assert state(put_aside) == "set_aside" and SetAside.objects.get(version=put_aside).is_open
