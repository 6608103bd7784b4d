"""The pages of those who run a ladder: who may, what is refused and why, and what a deed leaves behind."""

from datetime import timedelta
from functools import partial

import pytest
from django.contrib.auth.models import Permission
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from bots.models import Switch
from ladder import seasons, tasks
from ladder.forms import FEW_HANDS, LADDERS_MAX, DecisionForm, LadderForm, ReasonForm
from ladder.manage_views import ROUNDS_PER_MINUTE
from ladder.models import Entry, Fit, Flag, Ladder, LadderEvent
from ladder.scheduling import try_round
from soureh_site.accounts.models import User
from tests.ladder.rows import make_bot, make_entries, make_ladder, make_user, play
from tests.racing import race

pytestmark = pytest.mark.django_db

State = Ladder.State


@pytest.fixture
def ada() -> User:
    """An organiser: she may create ladders."""
    user = make_user("ada")
    user.user_permissions.add(Permission.objects.get(codename="add_ladder"))
    return user


@pytest.fixture
def client(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def settings(**changes: object) -> dict[str, object]:
    """Return what the form sends for a sound ladder, with some fields otherwise."""
    sound: dict[str, object] = {
        "name": "Spring cup", "about": "", "entrants": "bots", "seats": 4, "rules-preset": "classic",
        "unit": "set", "ranked_by": "fit", "entries_per_owner": 2, "max_pending": 1, "has_showcase": "on", "move_s": 1,
        "bank_s": 20, "person_move_s": 60, "person_bank_s": 300, "schedule": "every", "round_s": 60, "times": "",
        "time_zone": "UTC", "carry": 0.5, "initial_rating": 1500, "k_new": 40, "k_settled": 20, "settled_after": 30,
        "daily_cap": 100,
    }  # fmt: skip
    return {**sound, **changes}


def local(moment) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M")


def test_an_organiser_creates_a_ladder_which_is_announced(client, ada):
    answer = client.post("/ladders/new/", settings())
    ladder = Ladder.objects.get()
    assert answer.headers["Location"] == f"/ladders/{ladder.slug}/manage/"
    assert (ladder.slug, ladder.owner, ladder.state, ladder.unit) == ("spring-cup", ada, State.ANNOUNCED, "set")
    assert ladder.rules["preset"] == "classic"
    assert [(event.what, event.by) for event in ladder.events.all()] == [("created", ada)]
    assert client.get(f"/ladders/{ladder.slug}/manage/").status_code == 200


def test_form_of_a_new_ladder_can_be_sent_as_it_comes_but_for_the_name(client):
    form = client.get("/ladders/new/").context["form"]
    sent = {name: "" if (value := form[name].value()) is None else value for name in form.fields}
    shown = sent.pop("rules")
    sent |= {f"rules-{name}": shown[name] for name in ("preset", "end", "hands")}
    client.post("/ladders/new/", {**sent, "name": "Spring cup"})
    ladder = Ladder.objects.get()
    assert (ladder.rules, ladder.unit, ladder.seats) == (FEW_HANDS.to_json(), "set", 2)


NOW = timezone.now()
REFUSED = [
    pytest.param({"unit": "set", "entrants": "both"}, "Duplicate sets are for bots", id="set-of-people"),
    pytest.param({"schedule": "weekly"}, "Say at which times of the week", id="weekly-without-times"),
    pytest.param({"times": "Mon 25:00", "schedule": "weekly"}, "is no time of the week", id="hour-25"),
    pytest.param({"times": "Someday 20:00"}, "is no time of the week", id="no-day"),
    pytest.param({"times": "Mon 20:\u0660\u0660"}, "is no time of the week", id="digits-of-another-script"),
    pytest.param(
        {"times": ", ".join(f"Mon {hour}:{minute:02}" for hour in range(24) for minute in range(5))},
        "At most 100 times",
        id="more-times-than-anybody-reads",
    ),
    pytest.param({"time_zone": "Mars/Olympus"}, "Mars/Olympus", id="no-zone"),
    pytest.param(
        {"starts_at": local(NOW + timedelta(days=2)), "ends_at": local(NOW + timedelta(days=1))},
        "end before its first round",
        id="ends-before-it-starts",
    ),
    pytest.param(
        {"registration_from": local(NOW + timedelta(days=2)), "registration_until": local(NOW + timedelta(days=1))},
        "Registration would end before it opens",
        id="registration-ends-first",
    ),
    pytest.param({"ends_at": local(NOW - timedelta(days=1))}, "That has passed already", id="ended"),
    pytest.param({"registration_until": "9999-12-31T23:59"}, "Choose a year from 2000 to 2200", id="year-9999"),
    pytest.param({"registration_from": "0001-01-01T00:00"}, "Choose a year from 2000 to 2200", id="year-1"),
    pytest.param({"renews_days": 30}, "only where this one ends", id="next-season-of-no-end"),
    pytest.param({"seats": 5}, "less than or equal to 4", id="five-seats"),
    pytest.param({"k_new": 500}, "less than or equal to 200", id="k"),
    pytest.param({"carry": 2}, "less than or equal to 1", id="carry"),
    pytest.param({"round_s": 1}, "greater than or equal to 5", id="round-every-second"),
    pytest.param({"rules-preset": "poker"}, "poker is not one of the available choices", id="preset"),
    pytest.param({"rules-end": "hands"}, "after how many hands the game ends", id="hands-of-no-number"),
    pytest.param({"move_s": "nan"}, "Enter a number", id="nan"),
    pytest.param({"name": "New"}, "choose another name", id="name-of-a-page"),
    pytest.param({"name": ""}, "This field is required", id="no-name"),
    pytest.param({"name": "\u200b\u200b"}, "characters that cannot be seen", id="name-of-nothing"),
    pytest.param({"name": "Cup \u202egnp"}, "turn the direction of writing", id="name-from-right-to-left"),
    pytest.param({"name": "Cup\x1b[2J"}, "characters that cannot be seen", id="name-with-an-escape"),
    pytest.param({"name": "—!"}, "with a letter or a digit", id="name-of-signs"),
]
UNSEEN = [
    pytest.param("about", "Rated\u202e", id="about-from-right-to-left"),
    pytest.param("about", "a\x07", id="about-with-a-bell"),
]


@pytest.mark.parametrize(("changes", "said"), REFUSED)
def test_a_wrong_setting_is_refused_with_a_sentence_and_nothing_is_lost(client, changes, said):
    page = client.post("/ladders/new/", settings(about="What I had typed", **changes))
    text = page.content.decode()
    assert page.status_code == 200 and said in text
    assert "What I had typed" in text
    assert not Ladder.objects.exists()


@pytest.mark.parametrize(("field", "text"), UNSEEN)
def test_what_cannot_be_seen_is_refused(client, field, text):
    assert "characters that cannot be seen" in client.post("/ladders/new/", settings(**{field: text})).content.decode()
    assert not Ladder.objects.exists()
    assert not ReasonForm({"reason": text}).is_valid() and not DecisionForm({"decision": text}).is_valid()


def test_name_and_reason_are_one_line_each(client):
    client.post("/ladders/new/", settings(name="Spring\r\ncup", about="First\r\n\tsecond"))
    ladder = Ladder.objects.get()
    assert (ladder.name, ladder.about) == ("Spring cup", "First second")
    form = ReasonForm({"reason": "Because\r\nhe cheated"})
    assert form.is_valid() and form.cleaned_data["reason"] == "Because he cheated"


def test_no_ladder_passes_for_another(client, ada):
    make_ladder(name="Open")
    for name in ("open", "\u041e\u0440\u0435n", "Op en", "Open\u3164"):
        page = client.post("/ladders/new/", settings(name=name)).content.decode()
        assert "looks like it" in page or "cannot be seen" in page, name
    own = make_ladder(name="OPEN", owner=ada)  # of before that was looked at: its other settings can be changed
    client.post(f"/ladders/{own.slug}/settings/", settings(name="OPEN", unit="match", about="Changed"))
    assert Ladder.objects.get(pk=own.pk).about == "Changed"


def test_an_organiser_has_so_many_ladders_at_once_and_no_more(client, ada):
    Ladder.objects.bulk_create(
        Ladder(name=f"Cup {n}", slug=f"cup-{n}", owner=ada, rules={}) for n in range(LADDERS_MAX)
    )
    assert "as many as you may have" in client.post("/ladders/new/", settings()).content.decode()
    assert Ladder.objects.count() == LADDERS_MAX
    Ladder.objects.filter(slug="cup-0").update(state=State.CLOSED)
    assert client.post("/ladders/new/", settings()).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_no_two_that_are_sent_at_once_are_both_the_last_ladder_that_he_may_have(client, ada):
    Ladder.objects.bulk_create(
        Ladder(name=f"Cup {n}", slug=f"cup-{n}", owner=ada, rules={}) for n in range(LADDERS_MAX - 1)
    )
    session = client.cookies["sessionid"].value

    def create(name):
        browser = Client()
        browser.cookies["sessionid"] = session
        return browser.post("/ladders/new/", settings(name=name)).status_code

    answers = race(*(partial(create, f"Spring {n}") for n in range(4)))
    assert sorted(answers) == [200, 200, 200, 302]
    assert Ladder.objects.count() == LADDERS_MAX


def test_times_of_the_week_are_read_and_shown_again():
    form = LadderForm(settings(schedule="weekly", times="sat 15:30, Mon 9:05,Mon 9:05", time_zone="Europe/Berlin"))
    assert form.is_valid(), form.errors
    assert form.cleaned_data["times"] == [[0, "09:05"], [5, "15:30"]]
    assert LadderForm(instance=form.save(commit=False))["times"].value() == "Mon 09:05, Sat 15:30"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("door", ["page", "admin"])
def test_no_round_is_held_while_settings_are_changed(client, ada, monkeypatch, door):
    if connection.vendor == "sqlite":
        pytest.skip("one writer at a time, whatever it writes")
    ladder = make_ladder(owner=ada)
    make_entries(ladder, 4)
    held, clean = [], LadderForm.clean

    def hold():
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '300ms'")
        return try_round(ladder.pk)

    def clean_meanwhile(form):
        held.extend(race(hold, refusals=(OperationalError,)))
        return clean(form)

    monkeypatch.setattr(LadderForm, "clean", clean_meanwhile)
    sent = settings(name=ladder.name, unit="match", seats=4)
    if door == "admin":
        client.force_login(User.objects.create_superuser("root1", "root1@example.org", "correct horse battery"))
        client.post(f"/admin/ladder/ladder/{ladder.pk}/change/", {**sent, "slug": ladder.slug, "owner": ada.pk})
    else:
        client.post(f"/ladders/{ladder.slug}/settings/", sent)
    ladder.refresh_from_db()
    assert [type(one) for one in held] == [OperationalError]
    assert (ladder.seats, ladder.rounds) == (4, 0)


def test_who_may_not_create_or_run_a_ladder_is_refused(client, ada):
    stranger = Client()
    assert stranger.get("/ladders/new/").status_code == 302
    stranger.force_login(make_user())
    ladder = make_ladder(owner=ada)
    assert stranger.get("/ladders/new/").status_code == 403
    for page in ("manage", "settings", "judge"):
        assert stranger.get(f"/ladders/{ladder.slug}/{page}/").status_code == 403
    for page in ("move/freeze", "hold"):
        assert stranger.post(f"/ladders/{ladder.slug}/{page}/").status_code == 403
    assert "/manage/" not in stranger.get(f"/ladders/{ladder.slug}/").content.decode()
    assert "/manage/" in client.get(f"/ladders/{ladder.slug}/").content.decode()
    assert Ladder.objects.get().state == State.RUNNING


def test_a_ladder_is_opened_started_and_frozen(client, ada):
    ladder = make_ladder(owner=ada, state=State.ANNOUNCED)
    for move, state in (("open", State.OPEN), ("start", State.RUNNING), ("freeze", State.FROZEN)):
        client.post(f"/ladders/{ladder.slug}/move/{move}/", {"reason": "because"})
        assert Ladder.objects.get().state == state
    page = client.post(f"/ladders/{ladder.slug}/move/start/", follow=True).content.decode()
    assert "Nothing was changed" in page and Ladder.objects.get().state == State.FROZEN
    history = client.get(f"/ladders/{ladder.slug}/history/").content.decode()
    assert history.count("because") == 3 and "/people/ada/" in history


@pytest.mark.parametrize("renews_days", [None, 28])
def test_an_organiser_is_told_that_freezing_starts_the_next_season(client, ada, renews_days):
    ladder = make_ladder(owner=ada, ends_at=timezone.now() + timedelta(days=9), renews_days=renews_days)
    page = client.get(f"/ladders/{ladder.slug}/manage/").content.decode()
    assert "then the standings are final." in page
    told = "The next season then starts at once" in page and "first empty “Days of the next season”" in page
    assert told == bool(renews_days)
    client.post(f"/ladders/{ladder.slug}/move/freeze/")
    seasons.advance(ladder.pk)
    assert Ladder.objects.filter(previous=ladder, starts_at__lte=timezone.now()).exists() == told


def test_an_organiser_asks_for_no_more_rounds_and_fits_than_there_can_be(client, ada, monkeypatch):
    ladder = make_ladder(owner=ada)
    sent = []
    monkeypatch.setattr(tasks.fit, "apply_async", lambda args, **_: sent.append(args))
    client.post(f"/ladders/{ladder.slug}/fit/")
    Fit.objects.create(ladder=ladder, number=0, replays=0, elapsed_ms=1)
    assert "just been fitted" in client.post(f"/ladders/{ladder.slug}/fit/", follow=True).content.decode()
    assert sent == [(ladder.pk,)]
    # A minute may end meanwhile, two do not.
    answers = {client.post(f"/ladders/{ladder.slug}/hold/").status_code for _ in range(2 * ROUNDS_PER_MINUTE + 1)}
    assert answers == {302, 429}


def test_an_organiser_holds_a_round_but_not_while_the_operators_have_paused_all(client, ada):
    ladder = make_ladder(owner=ada)
    make_entries(ladder, 2)
    switch = Switch.objects.create(name="rounds", is_paused=True, note="The disk is full.")
    page = client.post(f"/ladders/{ladder.slug}/hold/", follow=True).content.decode()
    assert "The disk is full." in page and not ladder.held_rounds.exists()
    switch.delete()
    client.post(f"/ladders/{ladder.slug}/hold/")
    assert ladder.held_rounds.count() == 1


def test_an_organiser_enters_the_house_bots_and_one_of_them_holds_the_scale(client, ada):
    ladder = make_ladder(owner=ada, initial_rating=1600.0, entries_per_owner=1, state=State.ANNOUNCED)
    make_entries(ladder, 1, owner=ada)
    for name in ("careful", "counter", "sage"):
        make_bot(name=name)
    address, page = f"/ladders/{ladder.slug}/house-bots/", f"/ladders/{ladder.slug}/manage/"
    asked = client.get(page).content.decode()
    assert f'action="{address}"' in asked and "careful, counter" in asked and "sage" not in asked
    assert "careful is held fixed at 1600, so that the scale does not drift" in asked
    assert "Entered into" in client.post(address, follow=True).content.decode()
    house = ladder.entries.filter(bot__owner=None).order_by("bot__name")
    assert list(house.values_list("bot__name", "rating", "anchor")) == [
        ("careful", 1600.0, 1600.0), ("counter", 1600.0, None),
    ]  # fmt: skip
    event = ladder.events.get()
    assert (event.what, event.by, event.subject) == ("entered", ada, "careful, held fixed at 1600, counter")
    assert event.subject in client.get(f"/ladders/{ladder.slug}/history/").content.decode()
    again = client.post(address, follow=True).content.decode()
    assert "All house bots are in" in again and f'action="{address}"' not in again
    assert "held fixed at 1600" in again and ladder.entries.count() == 3 and ladder.events.count() == 1


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        pytest.param({"entrants": "people"}, "is for people; bots cannot be entered", id="people"),
        pytest.param({"state": State.FROZEN}, "is frozen", id="frozen"),
        pytest.param({"state": State.CLOSED}, "is closed", id="closed"),
    ],
)
def test_house_bots_are_not_entered_where_they_cannot_play(client, ada, fields, said):
    ladder = make_ladder(owner=ada, **fields)
    make_bot(name="careful")
    address = f"/ladders/{ladder.slug}/house-bots/"
    assert address not in client.get(f"/ladders/{ladder.slug}/manage/").content.decode()
    assert said in client.post(address, follow=True).content.decode()
    assert not ladder.entries.exists() and not ladder.events.exists()


def test_house_bots_are_entered_by_who_runs_the_ladder_alone(client):
    ladder = make_ladder(owner=make_user())
    make_bot(name="careful")
    assert client.post(f"/ladders/{ladder.slug}/house-bots/").status_code == 403
    assert not ladder.entries.exists()


def test_what_is_held_at_the_initial_rating_goes_with_it(client, ada):
    ladder = make_ladder(owner=ada, name="Spring cup")
    make_bot(name="careful")
    client.post(f"/ladders/{ladder.slug}/house-bots/")
    client.post(f"/ladders/{ladder.slug}/settings/", settings(unit="match", seats=2, initial_rating=1200))
    assert list(ladder.entries.values_list("rating", "anchor")) == [(1200.0, 1200.0)]


def test_settings_change_those_columns_alone_and_the_history_says_which(client, ada):
    ladder = make_ladder(owner=ada, unit="match", seats=2)
    sent = settings(name=ladder.name, unit="match", seats=2, round_s=90)
    Ladder.objects.filter(pk=ladder.pk).update(rounds=0)
    page = client.get(f"/ladders/{ladder.slug}/settings/")
    assert page.status_code == 200
    client.post(f"/ladders/{ladder.slug}/settings/", sent)
    ladder.refresh_from_db()
    assert (ladder.round_s, ladder.state) == (90, State.RUNNING)
    event = LadderEvent.objects.get(what="changed")
    assert "Seconds between rounds" in event.subject
    assert (event.effect["was"]["round_s"], event.effect["is"]["round_s"]) == (60, 90)
    assert "Seconds between rounds: 90, before 60" in client.get(f"/ladders/{ladder.slug}/history/").content.decode()


WORDS = [
    pytest.param(
        {"times": "Mon 20:00", "schedule": "weekly"}, "Times of the week: Mon 20:00, before nothing", id="times"
    ),
    pytest.param({"has_showcase": ""}, "card by card: no, before yes", id="showcase"),
    pytest.param({"ranked_by": "elo"}, "Ranked by: Elo rating, before", id="choice"),
    pytest.param({"ends_at": "2199-01-02T03:04"}, "End (UTC): 2199-01-02 03:04 UTC, before nothing", id="date"),
    pytest.param({"rules-target": "90"}, "Rules: classic, but: Target: 90, before classic", id="rules"),
]


@pytest.mark.parametrize(("changes", "said"), WORDS)
def test_a_changed_setting_stands_in_the_history_in_words_from_whichever_page(client, ada, changes, said):
    sound = settings(name="Spring cup", unit="match", seats=2)
    ladder = make_ladder(name="Spring cup", owner=ada, **{"ranked_by": "fit"})
    client.post(f"/ladders/{ladder.slug}/settings/", sound | changes)
    told = client.get(f"/ladders/{ladder.slug}/history/").content.decode()
    assert said in told
    client.force_login(User.objects.create_superuser("root1", "root1@example.org", "correct horse battery"))
    admin = f"/admin/ladder/ladder/{ladder.pk}/change/"
    client.post(admin, {**sound, "slug": ladder.slug, "owner": ada.pk})
    assert LadderEvent.objects.filter(what="changed").count() == 2, "put back as it was"
    client.post(admin, {**sound, **changes, "slug": ladder.slug, "owner": ada.pk})
    assert client.get(f"/ladders/{ladder.slug}/history/").content.decode().count(said) == 2


def test_a_page_that_was_opened_before_writes_nothing_over(client, ada):
    ladder = make_ladder(name="Spring cup", owner=ada)
    address = f"/ladders/{ladder.slug}/settings/"
    sound = settings(name="Spring cup", unit="match", seats=2)
    client.post(address, sound)
    as_of = client.get(address).context["form"].as_of
    assert f'name="as_of" value="{as_of}"' in client.get(address).content.decode()
    eve = User.objects.create_superuser("eve", "eve@example.org", "correct horse battery")
    other = Client()
    other.force_login(eve)
    other.post(address, sound | {"round_s": 300, "move_s": 2, "as_of": as_of})
    page = client.post(address, sound | {"bank_s": 30, "as_of": as_of})
    text = page.content.decode()
    assert "eve changed this to: 300 –" in text and "eve changed this to: 2" in text
    ladder.refresh_from_db()
    assert (ladder.round_s, ladder.move_s, ladder.bank_s) == (300, 2, 20), "nothing of it is stored"
    assert page.context["form"]["bank_s"].value() == "30"
    # Whoever has seen it may still want it otherwise.
    client.post(address, sound | {"bank_s": 30, "move_s": 2, "as_of": page.context["form"].as_of})
    ladder.refresh_from_db()
    assert (ladder.round_s, ladder.move_s, ladder.bank_s) == (60, 2, 30)


def test_what_another_changed_is_told_also_beside_what_is_wrong(client, ada):
    ladder = make_ladder(name="Spring cup", owner=ada)
    address = f"/ladders/{ladder.slug}/settings/"
    sound = settings(name="Spring cup", unit="match", seats=2, round_s=300)
    client.post(address, sound)
    # The page from which this comes was opened before.
    page = client.post(address, sound | {"round_s": "1", "rules-preset": "poker", "as_of": 0})
    errors = page.context["form"].errors
    assert any("ada changed this to: 300" in error for error in errors["round_s"]) and len(errors["round_s"]) == 2


def test_a_page_of_settings_is_as_of_no_later_than_what_it_shows(client, ada):
    ladder = make_ladder(name="Spring cup", owner=ada, unit="match")
    changes = iter([90])

    def change_before(execute, sql, *rest):
        """Let somebody else change the settings between the two things that are read."""
        if "ladder_ladderevent" in sql and (round_s := next(changes, None)):
            Ladder.objects.filter(pk=ladder.pk).update(round_s=round_s)
            LadderEvent.objects.create(ladder=ladder, what="changed", effect={"is": {"round_s": round_s}})
        return execute(sql, *rest)

    with connection.execute_wrapper(change_before):
        form = client.get(f"/ladders/{ladder.slug}/settings/").context["form"]
    changed = LadderEvent.objects.get()
    assert form["round_s"].value() == 90 or form.as_of < changed.pk


def test_a_page_that_was_opened_before_the_first_round_says_what_stays_from_then_on(client, ada):
    ladder = make_ladder(name="Spring cup", owner=ada)
    address = f"/ladders/{ladder.slug}/settings/"
    sound = settings(name="Spring cup", unit="match", seats=2)
    client.post(address, sound)
    Ladder.objects.filter(pk=ladder.pk).update(rounds=1)
    page = client.post(address, sound | {"rules-target": 90, "k_new": 60, "round_s": 90})
    assert "this stays as it is: Rules, K of a new entry." in page.content.decode()
    ladder.refresh_from_db()
    assert (ladder.round_s, ladder.rules["target"]) == (60, 250)
    assert "rules-preset" not in page.content.decode(), "what stays is not offered again"
    client.post(address, sound | {"round_s": 90})
    ladder.refresh_from_db()
    assert ladder.round_s == 90


def test_nobody_begins_higher_because_the_initial_rating_was_another_when_he_entered(client, ada):
    ladder = make_ladder(owner=ada)
    address, sent = f"/ladders/{ladder.slug}/settings/", settings(name=ladder.name, unit="match", seats=2)
    client.post(address, sent | {"initial_rating": 4000})
    ladder.refresh_from_db()
    make_entries(ladder, 1)
    make_entries(ladder, 1, rating=1700.0)  # from the season before
    client.post(address, sent)
    assert list(ladder.entries.order_by("pk").values_list("seed_rating", "rating")) == [(1500.0,) * 2, (1700.0,) * 2]


def test_the_history_names_people_and_no_setting_that_stayed(client, ada):
    ladder = make_ladder(name="Spring cup", owner=ada, **{"ranked_by": "fit"})
    root = User.objects.create_superuser("root1", "root1@example.org", "correct horse battery")
    client.force_login(root)
    sent = settings(name="Spring cup", unit="match", seats=2, slug=ladder.slug, owner=root.pk)
    client.post(f"/admin/ladder/ladder/{ladder.pk}/change/", sent)
    LadderEvent.objects.create(
        ladder=ladder, what="changed", subject="K",
        effect={"was": {"k_new": 40.0, "k_settled": 20.0}, "is": {"k_new": 60.0, "k_settled": 20.0}},
    )  # fmt: skip
    told = client.get(f"/ladders/{ladder.slug}/history/").content.decode()
    assert "owner: root1, before ada" in told
    assert "K of a new entry: 60" in told and "K later" not in told
    assert "entries_per_owner" in ladder.events.last().subject and "entries_per_owner" not in told, (
        "settings go by the names that they have on pages"
    )


def test_what_the_history_was_played_under_stays(client, ada):
    ladder = make_ladder(owner=ada, seats=2, rounds=1)
    client.post(f"/ladders/{ladder.slug}/settings/", settings(name=ladder.name, seats=4, k_new=100))
    ladder.refresh_from_db()
    assert (ladder.seats, ladder.k_new, ladder.unit) == (2, 40.0, "match")


def test_nobody_is_left_in_a_ladder_that_is_none_for_him_any_more(client, ada):
    ladder = make_ladder(owner=ada, entrants="both")
    entry = Entry.objects.create(ladder=ladder, user=make_user(), rating=1500.0)
    address, sent = f"/ladders/{ladder.slug}/settings/", settings(name=ladder.name, seats=2, unit="set")
    assert "could not play any more" in client.post(address, sent).content.decode()
    assert Ladder.objects.get().entrants == "both"
    Entry.objects.filter(pk=entry.pk).update(state="withdrawn")
    client.post(address, sent)
    assert Ladder.objects.get().entrants == "bots"


def played(ada: User) -> tuple[Ladder, list[Entry]]:
    ladder = make_ladder(owner=ada)
    entries = make_entries(ladder, 3)
    for pair in ((0, 1), (1, 2), (0, 2)):
        play(ladder, [entries[i] for i in pair], [1, 2])
    return ladder, entries


def test_a_disqualification_is_shown_first_and_done_with_a_reason(client, ada):
    ladder, entries = played(ada)
    before = list(ladder.entries.order_by("pk").values_list("rating", flat=True))
    address = f"/ladders/{ladder.slug}/judge/"
    page = client.get(address, {"deed": "disqualify", "entry": entries[0].pk}).content.decode()
    assert "ratings would change" in page
    assert list(ladder.entries.order_by("pk").values_list("rating", flat=True)) == before
    sent = {"deed": "disqualify", "entry": entries[0].pk}
    assert "This field is required" in client.post(address, sent).content.decode()
    assert Entry.objects.get(pk=entries[0].pk).state == "active"
    client.post(address, sent | {"reason": "two accounts"})
    assert Entry.objects.get(pk=entries[0].pk).state == "disqualified"
    event = LadderEvent.objects.get(what="disqualified")
    assert (event.by, event.reason) == (ada, "two accounts")
    client.post(address, {"deed": "reinstate", "entry": entries[0].pk, "reason": "a mistake"})
    assert list(ladder.entries.order_by("pk").values_list("rating", flat=True)) == before


def test_a_match_is_voided_and_k_changed(client, ada):
    ladder, _entries = played(ada)
    address = f"/ladders/{ladder.slug}/judge/"
    code = ladder.paired_matches.first().match.code
    client.post(address, {"deed": "void", "match": code, "reason": "cards were seen"})
    assert ladder.pairings.filter(state="unrated", why_unrated="void").count() == 1
    assert 'name="k_new"' in client.get(address, {"deed": "k"}).content.decode()
    asked = {"deed": "k", "k_new": 30, "k_settled": 10, "settled_after": 5}
    assert "would change" in client.get(address, asked).content.decode()
    client.post(address, asked | {"reason": "calmer"})
    ladder.refresh_from_db()
    assert (ladder.k_new, ladder.replays) == (30.0, 2)
    assert 'name="daily_cap"' in client.get(address, {"deed": "cap"}).content.decode()
    client.post(address, {"deed": "cap", "daily_cap": "", "reason": "no bound"})
    ladder.refresh_from_db()
    assert (ladder.daily_cap, ladder.replays) == (None, 3)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        pytest.param({}, 404, id="nothing"),
        pytest.param({"deed": "flog"}, 404, id="unknown"),
        pytest.param({"deed": "disqualify", "entry": "x"}, 404, id="no-entry"),
        pytest.param({"deed": "disqualify", "entry": "9" * 30}, 404, id="large"),
        pytest.param({"deed": "void", "match": "nothing"}, 302, id="no-match"),
        pytest.param({"deed": "k", "k_new": "many"}, 200, id="k-is-no-number"),
    ],
)
def test_what_is_no_deed_is_refused(client, ada, asked, status):
    ladder, _ = played(ada)
    assert client.get(f"/ladders/{ladder.slug}/judge/", asked).status_code == status
    assert not LadderEvent.objects.exists()


def test_a_code_with_a_nul_is_no_match(client, ada):
    ladder, _ = played(ada)
    page = client.post(f"/ladders/{ladder.slug}/judge/", {"deed": "void", "match": "a\0b"}, follow=True)
    assert "There is no match" in page.content.decode()


def test_other_times_for_rounds_forget_when_the_next_one_was_due(client, ada):
    due = timezone.now() + timedelta(days=3)
    ladder = make_ladder(owner=ada, next_round_at=due)
    client.post(f"/ladders/{ladder.slug}/settings/", settings(name=ladder.name, about="Another word."))
    ladder.refresh_from_db()
    assert (ladder.about, ladder.next_round_at) == ("Another word.", due)
    client.post(f"/ladders/{ladder.slug}/settings/", settings(name=ladder.name, round_s=90))
    ladder.refresh_from_db()
    assert (ladder.round_s, ladder.next_round_at) == (90, None)


def test_a_report_is_decided_once(client, ada):
    ladder, entries = played(ada)
    evidence = {"meetings": 40, "gap": 0.2, "z": 4.2, "limit": 3.1, "third": ""}
    flag = Flag.objects.create(
        ladder=ladder, kind="losses", entry=entries[0], other=entries[1], evidence=evidence, seen_at=timezone.now()
    )
    page = client.get(f"/ladders/{ladder.slug}/manage/").content.decode()
    assert f"In 40 meetings {entries[0].name} lost 20 points in a hundred more" in page and "z = 4.2" in page
    address = f"/ladders/{ladder.slug}/flags/{flag.pk}/"
    client.post(address, {"decision": ""})
    assert Flag.objects.get().is_open
    client.post(address, {"decision": "two friends at practice"})
    client.post(address, {"decision": "again"})
    flag.refresh_from_db()
    assert (flag.is_open, flag.decided_by, flag.decision) == (False, ada, "two friends at practice")
    history = client.get(f"/ladders/{ladder.slug}/history/").content.decode()
    assert entries[0].name not in history and "practice" not in history
