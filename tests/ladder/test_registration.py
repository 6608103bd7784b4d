"""Entering a bot, pausing it, taking it out: what works, and every refusal."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied

from bots.models import Bot, BotVersion
from ladder.models import Entry, Ladder
from ladder.registration import NotRegistered, pause, register, resume, withdraw
from ladder.seed import seed_ladders
from tests.ladder.rows import make_bot, make_ladder, make_user

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
    Ladder.objects.filter(pk=ladder.pk).update(round_s=5, name="Our own name", state="closed")
    Entry.objects.filter(ladder=ladder).update(state="paused", rating=1601.5)
    seed_ladders()
    ladder.refresh_from_db()
    assert (ladder.round_s, ladder.name, ladder.state) == (5, "Our own name", "closed")
    assert list(ladder.entries.values_list("state", "rating")) == [("paused", 1601.5)]
    make_bot()
    seed_ladders()
    assert ladder.entries.count() == 2 and Ladder.objects.count() == 2
