"""Tables with clocks: what comes first of a person's move and the end of his time, and what becomes of the others."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from games import tables
from games.clocks import Clocks, clocks_of, took_by
from games.engine import Rules, record
from games.live import game_now
from games.models import Finding, Match
from games.replay import record as public_record

pytestmark = pytest.mark.django_db(transaction=True)
SHORT = Rules.preset("classic", target=1).to_json()
CLOCKS = Clocks(move_s=60, bank_s=300)
SLACK_S = 20  # what a slow machine may take over a test, where the test itself moves clocks by far more


@pytest.fixture(autouse=True)
def awake(db):
    """The sweep has run just now: no clock stands still."""
    tables.cache.set(tables.SWEPT_KEY, timezone.now(), timeout=None)


@pytest.fixture
def open_for(make_user, office):
    """Open a table with clocks for people of these names, dealt, and return it."""

    def open_for(*names, **options):
        entrants = [{"user": make_user(name)} for name in names]
        match = tables.open_ranked(entrants=entrants, rules=SHORT, clocks=CLOCKS, **options)
        office.deliver()
        match.refresh_from_db()
        assert (match.state, match.awaits) == ("playing", "person")
        return match

    return open_for


@pytest.fixture
def table(open_for):
    return open_for("ada", "ben")


def to_move(match):
    """Return the player for whom the table waits."""
    match.refresh_from_db()
    return match.players.select_related("user").get(seat=game_now(match).decision.seat)


def think(match, seconds):
    """Let this much time pass for the one who is to move."""
    passed = timedelta(seconds=seconds)
    Match.objects.filter(pk=match.pk).update(moved_at=F("moved_at") - passed, deadline_at=F("deadline_at") - passed)
    match.refresh_from_db()


def move(match, *, text="d"):
    """Send the pending decision of whoever is to move."""
    player = to_move(match)
    return tables.decide(match, player.seat, id=game_now(match).decision.id, move=text)


def left_s(match):
    """Return how many seconds the one who is to move has, by the row."""
    match.refresh_from_db()
    return (match.deadline_at - match.moved_at).total_seconds()


def test_ranked_table_is_dealt_at_once_and_its_people_know_of_it(table):
    assert left_s(table) == 360
    assert set(table.players.values_list("user__table", flat=True)) == {table.code}
    assert tables.running_table(to_move(table).user) == table


def test_time_beyond_what_a_move_may_take_is_taken_from_the_bank_of_its_player_alone(table, office):
    first = to_move(table)
    think(table, 90)
    move(table)
    office.deliver()
    assert to_move(table).pk != first.pk
    assert left_s(table) == 360
    think(table, 59)
    move(table)
    office.deliver()
    assert to_move(table).pk == first.pk
    assert left_s(table) == pytest.approx(330, abs=SLACK_S)
    game, ms = game_now(table), tables.elapsed_ms(table)
    assert took_by(game, first.seat, ms) == [pytest.approx(90_000, abs=1000 * SLACK_S)]


def test_bank_is_what_the_decisions_left_of_it():
    assert CLOCKS.bank_ms([]) == CLOCKS.bank_ms([60_000, 1, 59_999]) == 300_000
    assert CLOCKS.bank_ms([61_000, 70_500]) == 288_500
    assert CLOCKS.bank_ms([500_000]) == 0


def test_clocks_are_kept_with_the_bots_limits(open_for):
    match = open_for("ada", "ben", limits={"move_s": 0.5})
    assert match.limits == {"move_s": 0.5, "person_move_s": 60, "person_bank_s": 300}
    assert clocks_of(match) == CLOCKS


def test_end_of_time_is_a_fault_left_and_ends_a_game_of_two(table, office):
    loser = to_move(table)
    think(table, 361)
    assert tables.enforce_clocks() == 1
    assert tables.enforce_clocks() == 0
    office.deliver()
    table.refresh_from_db()
    loser.refresh_from_db()
    assert (table.state, table.how, loser.place, loser.fault) == ("finished", "fault", 2, "left")
    assert [fault["kind"] for fault in table.faults] == ["left"]
    record.verify(public_record(table))
    assert set(table.players.values_list("user__table", flat=True)) == {""}


def test_nobody_leaves_before_his_time(table):
    think(table, 350)
    assert tables.enforce_clocks() == 0


def test_others_play_on_without_who_left(open_for, office):
    match = open_for("ada", "ben", "eve")
    gone = to_move(match)
    think(match, 361)
    tables.enforce_clocks()
    office.deliver()
    present = to_move(match)
    assert (match.state, present.pk == gone.pk, left_s(match)) == ("playing", False, 360)
    assert tables.sitting([player.user_id for player in match.players.all()]) == {
        player.user_id for player in match.players.exclude(pk=gone.pk)
    }
    gone.user.refresh_from_db()
    present.user.refresh_from_db()
    assert (gone.user.table, present.user.table) == ("", match.code)
    for _ in range(200):
        move(match)
        office.deliver()
        match.refresh_from_db()
        if match.state != "playing":
            break
    gone.refresh_from_db()
    assert (match.state, gone.place) == ("finished", 3)
    record.verify(public_record(match))


@pytest.mark.parametrize("is_swept", [False, True], ids=["before-the-sweep", "after-the-sweep"])
def test_move_that_comes_after_the_end_of_time_is_refused(table, office, is_swept):
    think(table, 361)
    if is_swept:
        tables.enforce_clocks()
    with pytest.raises(tables.TooLate, match="time ran out"):
        move(table)
    assert not office.take("games.tasks.table_result")
    assert tables.moves_of(table) == []


def test_move_that_came_in_time_counts_though_the_engine_is_late(table, office):
    think(table, 355)
    player, game = to_move(table), game_now(table)
    assert move(table)
    think(table, 30)
    assert tables.enforce_clocks() == 0
    office.deliver()
    assert tables.moves_of(table) == ["d"]
    assert (to_move(table).pk == player.pk, left_s(table)) == (False, 360)
    assert took_by(game_now(table), player.seat, tables.elapsed_ms(table)) != []
    assert game.decision.id == 1


def test_move_that_came_in_time_and_got_lost_is_sent_again(table, office, monkeypatch):
    monkeypatch.setattr("games.broker.send", lambda *args, **options: False)
    assert move(table), "it is kept, so nothing is lost"
    monkeypatch.setattr("games.broker.send", office.send)
    tables.enforce_clocks()
    assert not office.waiting
    long_ago = timezone.now() - timedelta(seconds=tables.ASKED_AGAIN_S + 1)
    Match.objects.update(asked_at=long_ago, sent_at=long_ago)
    think(table, 400)
    assert tables.enforce_clocks() == tables.enforce_clocks() == 0
    assert len(office.waiting) == 1, "no worker has come yet, and it waits in line already"
    office.deliver()
    assert tables.moves_of(table) == ["d"]


def test_move_that_the_engine_would_refuse_stops_no_clock(table, office):
    move(table, text="show")
    other = table.players.exclude(pk=to_move(table).pk).get()
    tables.decide(table, other.seat, id=1, move="d")
    think(table, 361)
    assert tables.enforce_clocks() == 1
    office.deliver()
    table.refresh_from_db()
    assert [fault["kind"] for fault in table.faults] == ["left"]


def test_who_resigns_meanwhile_loses_no_move_and_sets_no_clock_back(open_for, office):
    match = open_for("ada", "ben", "eve")
    player = to_move(match)
    other = match.players.exclude(pk=player.pk).first()
    think(match, 90)
    before = match.deadline_at
    move(match)
    [late] = office.take("sandbox.table_move")
    tables.resign(match, other.seat)
    # The resignation is faster.
    office.deliver(until=lambda: office.waiting[0][0] == "sandbox.table_move" and bool(Match.objects.get().faults))
    match.refresh_from_db()
    assert (match.deadline_at, match.decisions) == (before, 0)
    office.run("sandbox.table_move", late)
    office.deliver()
    assert tables.moves_of(match)[0] == "d"
    assert took_by(game_now(match), player.seat, tables.elapsed_ms(match)) == [
        pytest.approx(90_000, abs=1000 * SLACK_S)
    ]


def test_a_resignation_that_a_move_overtakes_is_not_lost(open_for, office):
    match = open_for("ada", "ben", "eve")
    other = match.players.exclude(pk=to_move(match).pk).first()
    tables.resign(match, other.seat)
    [late] = office.take("sandbox.table_move")
    move(match)
    office.deliver()
    office.run("sandbox.table_move", late)
    office.deliver()
    match.refresh_from_db()
    assert [(fault["seat"], fault["kind"]) for fault in match.faults] == [(other.seat, "resigned")]


def test_worker_cannot_have_anybody_leave(table, office):
    seat = to_move(table).seat
    tables.resign(table, seat)
    [(job,)] = office.take("sandbox.table_move")
    office.run("sandbox.table_move", (job | {"action": {"do": "leave", "seat": seat, "id": 1, "move": ""}},))
    [(code, attempt, result)] = office.take("games.tasks.table_result")
    assert result["faults"][0]["kind"] == "left"
    assert tables.accept(code, attempt, result) is False
    assert Match.objects.get().faults == []


@pytest.mark.parametrize(("slept_s", "moved_by_s"), [(10, 0), (600, 600)], ids=["short", "long"])
def test_clocks_stand_still_while_the_site_is_away(table, slept_s, moved_by_s):
    before = table.deadline_at
    tables.cache.set(tables.SWEPT_KEY, timezone.now() - timedelta(seconds=slept_s), timeout=None)
    assert tables.enforce_clocks() == 0
    table.refresh_from_db()
    assert (table.deadline_at - before).total_seconds() == pytest.approx(moved_by_s, abs=SLACK_S)
    assert left_s(table) == 360
    assert Finding.objects.filter(what="asleep").exists() == bool(moved_by_s)


def test_everybody_gets_a_minute_when_it_is_not_known_how_long_the_site_was_away(table):
    think(table, 500)
    tables.cache.delete(tables.SWEPT_KEY)
    assert tables.enforce_clocks() == 0
    table.refresh_from_db()
    assert (table.deadline_at - timezone.now()).total_seconds() == pytest.approx(tables.AWOKEN_S, abs=SLACK_S)


def test_who_sits_at_a_table_is_seated_at_no_other(table, make_user):
    ada = table.players.get(name="ada").user
    with pytest.raises(tables.TableRefused, match="sit at a table already"):
        tables.open_ranked(entrants=[{"user": ada}, {"user": make_user("eve")}], rules=SHORT, clocks=CLOCKS)
    assert Match.objects.count() == 1


def test_table_with_clocks_is_never_idle_while_a_person_may_think(table):
    Match.objects.update(moved_at=timezone.now() - timedelta(hours=2))
    assert tables.sweep_tables() == {"unanswered": 0, "idle": 0}
