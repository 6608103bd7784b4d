"""Entering a bot or oneself, pausing, leaving, being ready: what works, and every refusal."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.utils import timezone

from bots.models import Bot, BotVersion
from games import tables
from games.clocks import Clocks
from games.engine import Rules
from games.matches import create_match
from ladder import seasons
from ladder.fits import fit_ladder
from ladder.models import Entry, Ladder, LadderEvent
from ladder.ratings import rate
from ladder.registration import (
    NotRegistered,
    candidates,
    come_back,
    enter_house_bots,
    get_ready,
    pause,
    register,
    renew,
    resume,
    seat,
    stand_down,
    withdraw,
)
from ladder.seasons import create_next
from ladder.seed import seed_ladders
from tests.ladder.rows import CLASSIC, end, lay_pairing, make_bot, make_ladder, make_user
from tests.live import until

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_user("ada")


def test_register_enters_a_bot_at_the_ladders_first_rating(owner) -> None:
    ladder = make_ladder(initial_rating=1200.0)
    entry = register(owner, make_bot(owner), ladder)
    entry.refresh_from_db()
    assert (entry.state, entry.rating, entry.pairings) == ("active", 1200.0, 0)


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        pytest.param(None, "has no version yet; upload one first", id="none"),
        pytest.param(BotVersion.State.TRIAL, "is still to play its trial match", id="trial"),
        pytest.param(BotVersion.State.FAILED, "did not pass its trial", id="failed"),
        pytest.param(BotVersion.State.SET_ASIDE, "was set aside", id="set-aside"),
    ],
)
def test_register_refuses_a_bot_that_may_not_play_and_says_why(owner, state, sentence: str) -> None:
    with pytest.raises(NotRegistered, match=sentence):
        register(owner, make_bot(owner, state=state), make_ladder())
    assert not Entry.objects.exists()


def test_register_refuses_a_closed_ladder(owner) -> None:
    with pytest.raises(NotRegistered, match="is closed"):
        register(owner, make_bot(owner), make_ladder(state="closed"))


def test_register_refuses_a_second_entry(owner) -> None:
    ladder, bot = make_ladder(), make_bot(owner)
    register(owner, bot, ladder)
    with pytest.raises(NotRegistered, match="already"):
        register(owner, bot, ladder)
    assert Entry.objects.count() == 1


def test_register_does_not_resume_a_paused_entry(owner) -> None:
    ladder, bot = make_ladder(), make_bot(owner)
    entry = register(owner, bot, ladder)
    pause(owner, entry)
    with pytest.raises(NotRegistered, match="already"):
        register(owner, bot, ladder)


@pytest.mark.parametrize("who", ["stranger", "anonymous"])
@pytest.mark.parametrize("whose", ["somebody's", "the house's"])
def test_register_refuses_all_but_the_owner(owner, who: str, whose: str) -> None:
    user = make_user() if who == "stranger" else AnonymousUser()
    with pytest.raises(PermissionDenied):
        register(user, make_bot(owner if whose == "somebody's" else None), make_ladder())
    assert not Entry.objects.exists()


def test_withdrawn_entry_comes_back_with_its_rating_and_history(owner) -> None:
    ladder, bot = make_ladder(), make_bot(owner)
    entry = register(owner, bot, ladder)
    Entry.objects.filter(pk=entry.pk).update(rating=1777.25, pairings=12)
    withdraw(owner, entry)
    assert Entry.objects.get().state == "withdrawn"
    again = register(owner, bot, ladder)
    assert (again.pk, again.rating, again.pairings) == (entry.pk, 1777.25, 12)
    assert Entry.objects.get().state == "active"


def test_pause_and_resume(owner) -> None:
    entry = register(owner, make_bot(owner), make_ladder())
    pause(owner, entry)
    assert Entry.objects.get().state == "paused"
    resume(owner, entry)
    assert Entry.objects.get().state == "active"


@pytest.mark.parametrize(
    ("state", "change"),
    [
        pytest.param("paused", pause, id="pause-paused"),
        pytest.param("withdrawn", pause, id="pause-withdrawn"),
        pytest.param("active", resume, id="resume-active"),
        pytest.param("withdrawn", resume, id="resume-withdrawn"),
        pytest.param("withdrawn", withdraw, id="withdraw-withdrawn"),
    ],
)
def test_change_refuses_a_state_that_does_not_fit_and_names_it(owner, state: str, change) -> None:
    entry = register(owner, make_bot(owner), make_ladder())
    Entry.objects.update(state=state)
    with pytest.raises(NotRegistered, match=f"is {state} in"):
        change(owner, entry)
    assert Entry.objects.get().state == state


@pytest.mark.parametrize(
    ("state", "change"),
    [
        pytest.param("active", pause, id="pause"),
        pytest.param("paused", resume, id="resume"),
        pytest.param("active", withdraw, id="withdraw"),
    ],
)
def test_nobody_leaves_the_final_standings_of_a_closed_ladder(owner, state: str, change) -> None:
    entry = register(owner, make_bot(owner), make_ladder())
    Entry.objects.update(state=state)
    Ladder.objects.update(state="closed")
    with pytest.raises(NotRegistered, match="its standings are final"):
        change(owner, entry)
    assert Entry.objects.get().state == state


@pytest.mark.parametrize("change", [pause, resume, withdraw])
def test_change_refuses_a_stranger(owner, change) -> None:
    entry = register(owner, make_bot(owner), make_ladder())
    with pytest.raises(PermissionDenied):
        change(make_user(), entry)
    assert Entry.objects.get().state == "active"


def test_change_by_a_person_who_looked_before_another_change_is_told_the_present_state(owner) -> None:
    entry = register(owner, make_bot(owner), make_ladder())
    stale = Entry.objects.get()
    withdraw(owner, entry)
    with pytest.raises(NotRegistered, match="is withdrawn"):
        pause(owner, stale)


# Who may enter, and what he is told


def days(count):
    return timezone.now() + timedelta(days=count)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        pytest.param({"state": "announced"}, "is announced; nobody can enter yet", id="announced"),
        pytest.param({"state": "frozen"}, "is frozen", id="frozen"),
        pytest.param({"state": "closed"}, "is closed", id="closed"),
        pytest.param({"registration_from": days(3)}, "opens on", id="too-early"),
        pytest.param({"registration_until": days(-3)}, "ended on", id="too-late"),
        pytest.param({"entrants": "people"}, "is for people", id="people-only"),
    ],
)
def test_candidate_is_told_before_he_tries_what_he_is_told_when_he_does(owner, fields, sentence: str) -> None:
    ladder, bot = make_ladder(**fields), make_bot(owner)
    told = [one.why_not for one in candidates(owner, ladder) if one.entrant == bot]
    with pytest.raises(NotRegistered, match=sentence) as refusal:
        register(owner, bot, ladder)
    assert told == [str(refusal.value)]


@pytest.mark.parametrize("fields", [{"state": "open"}, {"registration_from": days(-1), "registration_until": days(1)}])
def test_registration_is_open_before_the_first_round_and_within_its_window(owner, fields) -> None:
    assert register(owner, make_bot(owner), make_ladder(**fields)).state == "active"


def test_person_enters_and_plays_under_his_name(owner) -> None:
    ladder = make_ladder(entrants="both")
    entry = register(owner, owner, ladder)
    assert (entry.name, entry.owner_id, entry.bot_id) == ("ada", owner.pk, None)
    assert [(one.is_person, one.entry) for one in candidates(owner, ladder)] == [(True, entry)]


def test_person_does_not_enter_a_ladder_of_bots_nor_another_person(owner) -> None:
    with pytest.raises(NotRegistered, match="is for bots"):
        register(owner, owner, make_ladder())
    with pytest.raises(PermissionDenied):
        register(owner, make_user(), make_ladder(entrants="people"))
    assert candidates(owner, make_ladder()) == []


def test_owner_enters_no_more_than_the_ladder_allows_himself_included(owner) -> None:
    ladder = make_ladder(entrants="both", entries_per_owner=2)
    first, _ = register(owner, make_bot(owner), ladder), register(owner, owner, ladder)
    third = make_bot(owner)
    with pytest.raises(NotRegistered, match="You have 2 entries in .* as many as it allows"):
        register(owner, third, ladder)
    withdraw(owner, first)
    register(owner, third, ladder)
    with pytest.raises(NotRegistered, match="as many as it allows"):
        come_back(owner, first)


def test_owner_enters_any_number_where_the_ladder_does_not_limit_it(owner) -> None:
    ladder = make_ladder(entries_per_owner=None)
    for _ in range(5):
        register(owner, make_bot(owner), ladder)
    assert ladder.entries.count() == 5


def test_disqualified_entry_does_not_come_back_and_its_owner_is_told_why(owner) -> None:
    ladder, bot = make_ladder(), make_bot(owner)
    entry = register(owner, bot, ladder)
    Entry.objects.update(state="disqualified")
    with pytest.raises(NotRegistered, match="was disqualified .* and cannot come back"):
        register(owner, bot, ladder)
    LadderEvent.objects.create(
        ladder=ladder, what="disqualified", subject="x", reason="It asked a friend.", effect={"entry": entry.pk}
    )
    with pytest.raises(NotRegistered, match="It asked a friend"):
        come_back(owner, Entry.objects.get())


def test_address_is_confirmed_first_where_the_site_sends_mail(owner, settings) -> None:
    settings.MAIL = {"EMAIL_HOST": "localhost"}
    ladder, bot = make_ladder(), make_bot(owner)
    with pytest.raises(NotRegistered, match="confirm your e-mail address"):
        register(owner, bot, ladder)
    EmailAddress.objects.create(user=owner, email=owner.email, verified=True)
    assert register(owner, bot, ladder).state == "active"


# People who are ready


@pytest.fixture
def entry(owner) -> Entry:
    """A person's entry in a ladder that holds rounds."""
    return register(owner, owner, make_ladder(entrants="people"))


def test_person_is_ready_for_ten_minutes_and_for_ten_more_while_a_page_of_his_is_open(owner, entry) -> None:
    get_ready(owner, entry)
    owner.refresh_from_db()
    assert entry.is_ready and owner.is_ready
    assert renew(owner) == owner.ready_until
    soon = timezone.now() + timedelta(minutes=2)
    Entry.objects.update(ready_until=soon)
    owner.ready_until = soon
    assert renew(owner) - timezone.now() > timedelta(minutes=9)
    assert Entry.objects.get().ready_until > soon


@pytest.mark.parametrize("ending", ["time", "stand_down", "pause", "withdraw", "seat", "frozen"])
def test_person_is_ready_no_more(owner, entry, ending: str) -> None:
    get_ready(owner, entry)
    if ending == "time":
        Entry.objects.update(ready_until=timezone.now() - timedelta(seconds=1))
    elif ending == "frozen":
        Ladder.objects.update(state="frozen")
    elif ending == "seat":
        seat([owner.pk])
    else:
        {"stand_down": stand_down, "pause": pause, "withdraw": withdraw}[ending](owner, entry)
    owner.ready_until = None
    assert renew(owner) is None
    owner.refresh_from_db()
    assert not owner.is_ready


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("deed", ["seat", "renew", "fit", "close"])
def test_whoever_writes_many_entries_locks_them_as_ratings_do(deed: str) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("one writer at a time, whatever it writes")
    first, second = make_user(), make_user()
    ladders = [make_ladder(entrants="people", ranked_by="fit", state="running") for _ in range(2)]
    soon = timezone.now() + timedelta(minutes=2)
    # Of every order in which the table can be read, by place, by owner, none is by key.
    ahead = {"seat": [(0, second), (1, first)], "renew": [(0, first), (1, first)]}
    entries = [
        Entry.objects.create(ladder=ladders[number], user=one, rating=1500, ready_until=soon)
        for number, one in ahead.get(deed, [(0, second), (0, first)])
    ]
    if deed == "fit":
        play_out(ladders[0], entries)
    if deed == "close":
        seasons.freeze(ladders[0], by=None)
    # What an index has of the first comes to lie behind the second too.
    Entry.objects.filter(pk=entries[0].pk).update(rating=1400)
    deeds: dict[str, Callable[[], object]] = {
        "seat": lambda: seat([first.pk, second.pk]),
        "renew": lambda: renew(first),
        "fit": lambda: fit_ladder(ladders[0].pk),
        "close": lambda: seasons.advance(ladders[0].pk),
    }

    def meanwhile() -> object:
        try:
            return deeds[deed]()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            in_order = Entry.objects.order_by("pk")
            in_order.select_for_update(no_key=True).get(pk=entries[0].pk)
            other = pool.submit(meanwhile)
            until(lambda: waits_for_a_lock() or other.done(), what="somebody waits for the first entry")
            # Had he locked the second before, each would wait for the other.
            in_order.select_for_update(no_key=True, nowait=True).get(pk=entries[1].pk)
        other.result(30)
    assert [entry.is_ready for entry in Entry.objects.all()] == [deed != "seat"] * 2


def play_out(ladder: Ladder, entries: list[Entry]) -> None:
    """Have two people's match end and rate it."""
    pairing = lay_pairing(ladder, entries)
    entrants = [{"name": one.name, "user": one.user} for one in entries]
    match = create_match(kind="ranked", rules=ladder.rules, entrants=entrants, share="")
    pairing.paired_matches.create(match=match, ladder=ladder)
    end(match, [1, 2])
    assert rate(pairing.pk)


def waits_for_a_lock() -> bool:
    """Tell whether somebody waits for a lock in this database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_locks WHERE NOT granted")
        return cursor.fetchone() is not None


def test_being_ready_is_refused_with_a_reason(owner, entry) -> None:
    pause(owner, entry)
    with pytest.raises(NotRegistered, match="You are paused"):
        get_ready(owner, entry)
    resume(owner, entry)
    Ladder.objects.update(state="open")
    entry.ladder.refresh_from_db()
    with pytest.raises(NotRegistered, match="holds no rounds now"):
        get_ready(owner, entry)
    with pytest.raises(PermissionDenied):
        get_ready(make_user(), entry)
    bot_entry = register(owner, make_bot(owner), make_ladder())
    with pytest.raises(NotRegistered, match="always ready"):
        get_ready(owner, bot_entry)


def test_nobody_gets_ready_who_pauses_in_that_moment(owner, entry) -> None:
    seen_before = Entry.objects.select_related("ladder").get(pk=entry.pk)
    pause(owner, entry)
    with pytest.raises(NotRegistered, match="not active any more"):
        get_ready(owner, seen_before)
    resume(owner, entry)
    entry.refresh_from_db()
    assert not entry.is_ready


def test_nobody_enters_what_was_closed_since_he_looked(owner) -> None:
    ladder = make_ladder()
    Ladder.objects.filter(pk=ladder.pk).update(state="closed")
    with pytest.raises(NotRegistered, match="is closed"):
        register(owner, make_bot(owner), ladder)


@pytest.mark.parametrize("state", ["paused", "withdrawn", "disqualified"])
def test_nobody_begins_a_season_anew_by_sitting_out_the_end_of_the_last(owner, state) -> None:
    ladder = make_ladder(carry=0.5, renews_days=7)
    entry = register(owner, make_bot(owner), ladder)
    Entry.objects.filter(pk=entry.pk).update(state=state, rating=1300.0)
    following = create_next(ladder)
    assert not following.entries.exists()
    Ladder.objects.filter(pk=following.pk).update(state="open")
    again = register(owner, entry.bot, following)
    assert (again.seed_rating, again.rating) == (1400.0, 1400.0)
    assert register(owner, make_bot(owner), following).rating == 1500.0


def test_person_who_sits_at_a_table_is_not_ready_for_another(owner, entry) -> None:
    clocks = Clocks(60, 300)
    tables.open_ranked(entrants=[{"user": owner}, {"user": make_user()}], rules=CLASSIC, clocks=clocks)
    with pytest.raises(NotRegistered, match="still sitting at a table"):
        get_ready(owner, entry)


def test_seed_makes_both_ladders_and_enters_every_house_bot(settings) -> None:
    settings.ROUND_S = 17
    house_bots = [make_bot() for _ in range(4)]
    make_bot(make_user())
    seed_ladders()
    assert set(Ladder.objects.values_list("name", "seats", "round_s")) == {
        ("Classic for two", 2, 17),
        ("Classic for four", 4, 17),
    }
    for ladder in Ladder.objects.all():
        assert (ladder.unit, ladder.rules) == ("set", Rules.preset("classic", end="hands", hands=4).to_json())
        assert set(Bot.objects.filter(entries__ladder=ladder)) == set(house_bots)


def test_seed_enters_the_slow_house_bot_at_full_tables_only() -> None:
    make_bot(name="careful")
    make_bot(name="sage")
    seed_ladders()
    entered = {(entry.ladder.seats, entry.bot.name) for entry in Entry.objects.select_related("ladder", "bot")}
    assert entered == {(2, "careful"), (4, "careful"), (4, "sage")}


def test_seed_again_changes_nothing_and_enters_a_new_house_bot_only() -> None:
    make_bot()
    seed_ladders()
    ladder = Ladder.objects.get(slug="classic-for-two")
    Ladder.objects.filter(pk=ladder.pk).update(round_s=5, name="Our own name", state="open")
    Entry.objects.filter(ladder=ladder).update(state="paused", rating=1601.5)
    seed_ladders()
    ladder.refresh_from_db()
    assert (ladder.round_s, ladder.name, ladder.state) == (5, "Our own name", "open")
    assert list(ladder.entries.values_list("state", "rating")) == [("paused", 1601.5)]
    make_bot()
    seed_ladders()
    assert ladder.entries.count() == 2 and Ladder.objects.count() == 2
    told = ladder.events.filter(what="entered")
    assert [len(event.effect["entries"]) for event in told] == [1, 1], "the history says who came when"


def test_seed_enters_nobody_into_a_ladder_that_has_ended() -> None:
    seed_ladders()
    Ladder.objects.update(state="closed")
    make_bot()
    seed_ladders()
    assert not Entry.objects.exists()


def test_house_bot_that_comes_late_into_a_season_begins_with_what_it_had_left_of_the_one_before() -> None:
    before = make_ladder(state="closed", carry=0.5)
    Entry.objects.create(ladder=before, bot=make_bot(name="random"), rating=1300.0, state="paused")
    following = make_ladder(previous=before, initial_rating=1500.0)
    make_bot(name="careful")
    enter_house_bots(following)
    rows = following.entries.order_by("bot__name").values_list("bot__name", "rating", "seed_rating", "anchor")
    assert list(rows) == [("careful", 1500.0, 1500.0, 1500.0), ("random", 1400.0, 1400.0, None)]


def test_whoever_was_disqualified_does_not_begin_anew_under_another_name(owner) -> None:
    ladder = make_ladder(entries_per_owner=3)
    entry = register(owner, make_bot(owner), ladder)
    Entry.objects.filter(pk=entry.pk).update(state=Entry.State.DISQUALIFIED)
    with pytest.raises(NotRegistered, match="was disqualified"):
        register(owner, make_bot(owner), ladder)
    register(owner, make_bot(owner), make_ladder())
