"""A ladder's life: every move of its state, by the clock and by hand, its end, and the season after it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from bots.models import BotVersion
from games.models import Match
from ladder import seasons, tasks
from ladder.models import Entry, Ladder, LadderEvent, Pairing
from ladder.scheduling import NotHeld, due_ladders, hold_round, try_round
from ladder.seasons import GRACE, NotMoved, advance, create_next, due
from tests.ladder.play import finish_all, finish_one
from tests.ladder.rows import end, make_bot, make_entries, make_ladder, make_pairing, make_user
from tests.racing import race

pytestmark = pytest.mark.django_db
AGO, SOON = timedelta(minutes=-1), timedelta(minutes=1)


def make_season(state: str, **offsets) -> Ladder:
    """Make a ladder in this state whose dates lie so far from now; None stays None."""
    now = timezone.now()
    kept = {
        name: offsets.pop(name) for name in ("renews_days", "carry", "ranked_by", "season", "seats") if name in offsets
    }
    dates = {name: offset and now + offset for name, offset in offsets.items()}
    return make_ladder(state=state, has_showcase=False, **kept, **dates)


def state_of(ladder: Ladder) -> str:
    return Ladder.objects.values_list("state", flat=True).get(pk=ladder.pk)


def events_of(ladder: Ladder) -> list[str]:
    return list(ladder.events.order_by("id").values_list("what", flat=True))


def tick() -> list[int]:
    """Move on what is due, in this process instead of the worker's; return what moved."""
    return [pk for pk in due() if advance(pk)]


# By the clock


@pytest.mark.parametrize(
    ("state", "dates", "after", "events"),
    [
        pytest.param("announced", {}, "announced", [], id="no-dates-by-hand-only"),
        pytest.param("announced", {"registration_from": SOON}, "announced", [], id="not-yet"),
        pytest.param("announced", {"registration_from": AGO}, "open", ["opened"], id="registration-opens"),
        pytest.param("announced", {"starts_at": AGO}, "running", ["started"], id="starts-with-its-registration"),
        pytest.param("announced", {"registration_from": AGO, "starts_at": SOON}, "open", ["opened"], id="not-started"),
        pytest.param("open", {"starts_at": SOON}, "open", [], id="open-still"),
        pytest.param("open", {"starts_at": AGO}, "running", ["started"], id="starts"),
        pytest.param("open", {"registration_from": AGO}, "open", [], id="start-by-hand"),
        pytest.param("running", {"ends_at": SOON}, "running", [], id="runs"),
        pytest.param("running", {}, "running", [], id="runs-without-end"),
        pytest.param("running", {"ends_at": AGO}, "closed", ["frozen", "closed"], id="ends-with-nothing-left"),
        pytest.param("announced", {"starts_at": 2 * AGO, "ends_at": AGO}, "closed", ["frozen", "closed"], id="slept"),
        pytest.param("closed", {"starts_at": AGO, "ends_at": AGO}, "closed", [], id="closed-for-good"),
    ],
)
def test_ladder_moves_by_its_dates_and_says_so(state, dates, after, events) -> None:
    ladder = make_season(state, **dates)
    tick()
    tick()
    assert state_of(ladder) == after and events_of(ladder) == events
    assert not LadderEvent.objects.filter(by__isnull=False).exists()


@pytest.mark.parametrize("state", ["announced", "open", "frozen", "closed"])
def test_rounds_are_held_in_running_ladders_only(state: str) -> None:
    ladder = make_season(state)
    make_entries(ladder, 2)
    assert due_ladders() == []
    with pytest.raises(NotHeld):
        try_round(ladder.pk)


@pytest.mark.django_db(transaction=True)
def test_two_ticks_at_once_make_each_move_once() -> None:
    ladder = make_season("running", ends_at=AGO, renews_days=7)
    make_entries(ladder, 2)
    race(*[tick] * 3)
    tick()
    assert state_of(ladder) == "closed" and events_of(ladder) == ["frozen", "closed"]
    assert Ladder.objects.filter(previous=ladder).count() == 1


def test_tasks_move_what_is_due_and_one_that_breaks_stops_no_other(monkeypatch) -> None:
    broken, sound = make_season("running", ends_at=AGO), make_season("running", ends_at=AGO)
    close = seasons._close

    def failing(ladder_id: int) -> bool:
        if ladder_id == broken.pk:
            raise OSError("the disk is full")
        return close(ladder_id)

    monkeypatch.setattr(seasons, "_close", failing)
    monkeypatch.setattr(tasks.move_season, "apply_async", lambda args, **_: tasks.move_season.apply(args))
    tasks.move_seasons()
    assert (state_of(broken), state_of(sound)) == ("frozen", "closed")


# By hand


def test_operator_moves_a_ladder_on_and_his_name_and_reason_are_kept() -> None:
    ladder, ada = make_season("announced"), make_user("ada")
    seasons.open_registration(ladder, by=ada, reason="all is ready")
    seasons.start(ladder, by=ada)
    seasons.freeze(ladder, by=ada, reason="a fault in the rules")
    assert ladder.state == "frozen" and ladder.frozen_at is not None
    kept = [(one.what, one.by, one.reason) for one in ladder.events.order_by("id")]
    assert kept == [("opened", ada, "all is ready"), ("started", ada, ""), ("frozen", ada, "a fault in the rules")]


@pytest.mark.parametrize(
    ("move", "state"),
    [
        *((seasons.open_registration, state) for state in ("open", "running", "frozen", "closed")),
        *((seasons.start, state) for state in ("running", "frozen", "closed")),
        *((seasons.freeze, state) for state in ("frozen", "closed")),
    ],
)
def test_nobody_moves_a_ladder_back(move, state: str) -> None:
    ladder = make_season(state)
    with pytest.raises(NotMoved, match=f"Nothing was changed: .* is {state}"):
        move(ladder, by=make_user())
    assert state_of(ladder) == state and events_of(ladder) == []


# The end


def running_match(ladder: Ladder, state: str = "playing", **fields) -> Match:
    match = make_pairing(ladder, make_entries(ladder, 2))[1]
    Match.objects.filter(pk=match.pk).update(state=state, **fields)
    return match


def let_grace_pass(ladder: Ladder) -> None:
    Ladder.objects.filter(pk=ladder.pk).update(frozen_at=timezone.now() - GRACE)


@pytest.mark.parametrize("state", ["waiting", "queued", "playing", "showing"])
def test_frozen_ladder_waits_for_what_is_being_played(state: str) -> None:
    ladder = make_season("running", ends_at=AGO)
    match = running_match(ladder, state)
    tick()
    tick()
    assert state_of(ladder) == "frozen"
    end(match, [1, 2])
    tick()
    assert state_of(ladder) == "closed"
    assert Pairing.objects.get().state == "rated"
    assert set(ladder.entries.values_list("final_rank", flat=True)) == {1, 2}


@pytest.mark.parametrize(("state", "kind"), [("waiting", "ranked"), ("playing", "ranked"), ("playing", "table")])
def test_what_has_not_ended_ten_minutes_later_is_void_and_counts_for_nothing(state: str, kind: str) -> None:
    ladder = make_season("running", ends_at=AGO)
    match = running_match(ladder, state, kind=kind)
    tick()
    let_grace_pass(ladder)
    tick()
    match.refresh_from_db()
    assert (match.state, match.how) == ("void", "season")
    pairing = Pairing.objects.get()
    assert (pairing.state, pairing.why_unrated) == ("unrated", "void")
    assert state_of(ladder) == "closed" and ladder.changes.count() == 0


def test_match_on_show_was_played_and_counts_when_the_time_is_up() -> None:
    ladder = make_season("running", ends_at=AGO)
    match = running_match(ladder, "waiting", is_showcase=True)
    match.refresh_from_db()
    assert finish_one(match).state == "showing"
    tick()
    let_grace_pass(ladder)
    tick()
    match.refresh_from_db()
    assert match.state == "finished" and Pairing.objects.get().state == "rated" and state_of(ladder) == "closed"


def test_set_that_is_not_played_whole_counts_for_nothing() -> None:
    ladder = make_ladder(unit="set", has_showcase=False)
    make_entries(ladder, 2)
    hold_round(ladder.pk)
    finish_one(Match.objects.order_by("pk").first())
    seasons.freeze(ladder, by=None)
    let_grace_pass(ladder)
    tick()
    assert state_of(ladder) == "closed"
    assert not Match.objects.filter(state__in=Match.UNFINISHED).exists() and Pairing.objects.get().state == "unrated"


def test_last_fit_is_of_the_whole_ledger_and_ranks() -> None:
    ladder = make_ladder(has_showcase=False)
    make_entries(ladder, 4)
    for _ in range(3):
        hold_round(ladder.pk)
        finish_all(ladder)
    seasons.freeze(ladder, by=None)
    tick()
    ladder.refresh_from_db()
    assert ladder.state == "closed" and ladder.fits.first().number == ladder.rated == 6
    assert not ladder.entries.filter(strength=None).exists()
    assert not ladder.entries.filter(final_rank=None).exists()


def test_final_ranks_stay_whatever_comes_after() -> None:
    ladder = make_season("running", ends_at=AGO, ranked_by="elo")
    best, two, also_two, gone = (make_entries(ladder, 1, rating=r)[0] for r in (1700.0, 1600.0, 1600.0, 1800.0))
    Entry.objects.filter(pk=gone.pk).update(state="withdrawn")
    tick()
    Entry.objects.filter(pk=best.pk).update(rating=1000.0)
    tick()
    ranks = dict(ladder.entries.values_list("pk", "final_rank"))
    assert ranks == {best.pk: 1, two.pk: 2, also_two.pk: 2, gone.pk: None}


def test_entries_of_which_too_little_is_known_stand_behind_those_that_are_ranked() -> None:
    ladder = make_season("running", ends_at=AGO, ranked_by="fit")
    first, second, unknown = make_entries(ladder, 3)
    for entry, strength, band in ((first, 1600.0, 1), (second, 1500.0, 2), (unknown, 1900.0, None)):
        Entry.objects.filter(pk=entry.pk).update(strength=strength, band=band, is_provisional=band is None)
    tick()
    ranks = dict(ladder.entries.values_list("pk", "final_rank"))
    assert ranks == {first.pk: 1, second.pk: 2, unknown.pk: 3}


@pytest.mark.parametrize("ranked_by", ["fit", "elo"])
def test_closed_ladder_shows_its_final_ranks_everywhere_whatever_comes_after(ranked_by: str) -> None:
    ladder = make_season("running", ends_at=AGO, ranked_by=ranked_by)
    best, two, also_two, unknown = make_entries(ladder, 4)
    ends = ((best, 1700.0, 1), (two, 1600.0, 2), (also_two, 1600.0, 2), (unknown, 1500.0, None))
    for entry, figure, band in ends:
        figures = {"rating": figure, "strength": figure, "band": band, "is_provisional": band is None, "pairings": 9}
        Entry.objects.filter(pk=entry.pk).update(**figures)
    tick()
    # Another fit and a replay may give other figures, and an operator may take somebody out.
    Entry.objects.filter(pk=best.pk).update(rating=1400.0, strength=1400.0, band=4)
    Entry.objects.filter(pk=also_two.pk).update(rating=1900.0, strength=1900.0, band=1)
    Entry.objects.filter(pk=unknown.pk).update(rating=1950.0, strength=1950.0, band=1)
    Entry.objects.filter(pk=two.pk).update(state="withdrawn")
    final = {best.name: 1, also_two.name: 2, unknown.name: 4}
    page = Client().get(f"/ladders/{ladder.slug}/")
    assert {row.name: row.rank for row in page.context["rows"]} == final
    assert [row.name for row in page.context["rows"]] == list(final)
    standings = Client().get(f"/api/v1/ladders/{ladder.slug}/standings/").json()["results"]
    assert [(row["name"], row["rank"], row["final_rank"]) for row in standings] == [
        (*one, one[1]) for one in final.items()
    ]
    # They are alike in that, and then come by what they are rated now.
    sorted_rows = Client().get(f"/ladders/{ladder.slug}/?sort=pairings").context["rows"]
    assert [(row.name, row.rank) for row in sorted_rows] == [(unknown.name, 4), (also_two.name, 2), (best.name, 1)]
    [card] = Client().get("/ladders/").context["ladders"]
    assert [(one.name, one.place) for one in card["leaders"]] == [(best.name, 1), (also_two.name, 2)]


def test_ladder_that_was_closed_before_final_ranks_were_kept_is_ranked_by_its_figures() -> None:
    ladder = make_season("closed", ranked_by="elo")
    lower, higher = (make_entries(ladder, 1, rating=rating)[0] for rating in (1500.0, 1600.0))
    rows = Client().get(f"/ladders/{ladder.slug}/").context["rows"]
    assert [(row.name, row.rank) for row in rows] == [(higher.name, 1), (lower.name, 2)]


@pytest.mark.parametrize("step", ["_all_rated", "final_ranks", "create_next", "_carry_over"])
def test_tick_that_is_killed_half_way_is_made_good_by_the_next(monkeypatch, step: str) -> None:
    ladder = make_season("running", ends_at=AGO, renews_days=7)
    match = make_pairing(ladder, make_entries(ladder, 2))[1]
    end(match, [1, 2])
    with monkeypatch.context() as patch:
        patch.setattr(seasons, step, killed)
        with pytest.raises(KeyboardInterrupt):
            tick()
    assert state_of(ladder) == "frozen" and Ladder.objects.count() == 1
    assert not ladder.entries.exclude(final_rank=None).exists()
    tick()
    assert state_of(ladder) == "closed" and events_of(ladder) == ["frozen", "closed"]
    assert set(ladder.entries.values_list("final_rank", flat=True)) == {1, 2}
    assert Ladder.objects.get(previous=ladder).entries.count() == 2


def killed(*_args: object) -> None:
    raise KeyboardInterrupt


# The next season


def test_next_season_has_the_settings_and_dates_of_its_own() -> None:
    ladder = make_ladder(
        name="Open", slug="open", state="running", season=3, renews_days=10, seats=3, k_new=33.0, about="for all",
        schedule="weekly", times=[[2, "19:00"]], time_zone="Europe/Berlin", carry=0.25, rounds=7,
        owner=make_user(),
        starts_at=timezone.now() - timedelta(days=10), ends_at=timezone.now() + AGO,
        registration_from=timezone.now() - timedelta(days=12), registration_until=timezone.now() - timedelta(days=9),
    )  # fmt: skip
    tick()
    new = Ladder.objects.get(previous=ladder)
    assert (new.name, new.slug, new.season, new.state) == ("Open, season 4", "open-season-4", 4, "announced")
    for name in ("rules", "seats", "k_new", "about", "schedule", "times", "time_zone", "carry", "renews_days", "owner"):
        assert getattr(new, name) == getattr(ladder, name), name
    assert (new.rounds, new.rated, new.next_round_at, new.frozen_at) == (0, 0, None, None)
    assert (new.starts_at, new.ends_at) == (ladder.ends_at, ladder.ends_at + timedelta(days=10))
    for name in ("registration_from", "registration_until"):
        assert getattr(new, name) - new.starts_at == getattr(ladder, name) - ladder.starts_at, name
    assert events_of(new) == ["created"]
    tick()
    assert state_of(new) == "running"


def test_seasons_follow_each_other_by_number() -> None:
    ladder = make_ladder(name="Open", slug="open", state="closed", renews_days=7)
    make_ladder(name="Open, season 3", slug="of-somebody-else")
    second = create_next(ladder)
    third = create_next(second)
    fourth = create_next(third)
    ladder.refresh_from_db()
    assert [one.season for one in (ladder, second, third, fourth)] == [1, 2, 3, 4]
    assert [(one.name, one.slug) for one in (second, third, fourth)] == [
        ("Open, season 2", "open-season-2"),
        ("Open, season 3-2", "open-season-3-2"),
        ("Open, season 4", "open-season-4"),
    ]


def test_long_names_keep_their_number() -> None:
    new = create_next(make_ladder(name="N" * 60, slug="s" * 60, renews_days=7))
    assert len(new.name) == len(new.slug) == 60 and new.name.endswith(", season 2") and new.slug.endswith("-season-2")


def test_next_season_starts_now_where_the_site_slept_through_it() -> None:
    ladder = make_ladder(state="frozen", renews_days=7, ends_at=timezone.now() - timedelta(days=30))
    tick()
    new = Ladder.objects.get(previous=ladder)
    assert abs(new.starts_at - timezone.now()) < timedelta(minutes=1)


def test_no_season_follows_where_none_is_wanted() -> None:
    ladder = make_season("running", ends_at=AGO)
    tick()
    assert state_of(ladder) == "closed" and Ladder.objects.count() == 1


def test_next_season_takes_on_who_can_play_at_part_of_the_distance() -> None:
    ladder = make_season("running", ends_at=AGO, renews_days=7, carry=0.5)
    good, bad = make_entries(ladder, 1, rating=1700.0)[0], make_entries(ladder, 1, rating=1400.0)[0]
    person = Entry.objects.create(ladder=ladder, user=make_user(), rating=1600.0)
    suspended = Entry.objects.create(ladder=ladder, user=make_user(), rating=1600.0)
    type(suspended.user).objects.filter(pk=suspended.user_id).update(is_active=False)
    for state in ("paused", "withdrawn", "disqualified"):
        make_entries(ladder, 1, state=state)
    Entry.objects.create(ladder=ladder, bot=make_bot(state=BotVersion.State.FAILED), rating=1500.0)
    tick()
    new = Ladder.objects.get(previous=ladder)
    found = {(one.bot, one.user): (one.rating, one.seed_rating) for one in new.entries.all()}
    assert found == {
        (good.bot, None): (1600.0, 1600.0),
        (bad.bot, None): (1450.0, 1450.0),
        (None, person.user): (1550.0, 1550.0),
    }
    assert all((one.pairings, one.byes, one.seats_taken) == (0, None, []) for one in new.entries.all())


def test_what_people_play_may_take_longer_than_one_of_them_can_sit_idle() -> None:
    slow = make_ladder(entrants="people", person_move_s=900, person_bank_s=300)
    assert seasons.grace(slow).total_seconds() > 900 + 300
    assert seasons.grace(make_ladder()) == seasons.GRACE
