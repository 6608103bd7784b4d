"""People's tables: opened, dealt, played by compare-and-set, resigned, swept."""

from datetime import timedelta

import pytest
from django.utils import timezone

from games import tables, tasks
from games.engine import Rules, record
from games.live import game_now
from games.models import Match, Move, Record
from games.replay import NotFinished
from games.replay import record as public_record

pytestmark = pytest.mark.django_db(transaction=True)
SHORT = Rules.preset("classic", target=1)


@pytest.fixture
def dealt(ada, house, office):
    """A table of ada and `careful`, dealt, with ada to move."""
    match = tables.open_table(ada, opponents=[house["careful"]], rules=SHORT)
    tables.deal(match)
    office.deliver()
    match.refresh_from_db()
    assert (match.state, match.awaits) == ("playing", "person")
    return match


def click(match, ada, office, move=None):
    """Play ada's pending decision, deliver all that follows, and return the move."""
    match.refresh_from_db()
    game = game_now(match)
    move = move or game.legal()[0]
    tables.decide(match, tables.seat_of(match, ada), id=game.decision.id, move=move)
    office.deliver()
    match.refresh_from_db()
    return move


def test_person_plays_a_whole_game_against_sandboxed_bots(dealt, ada, office):
    for _ in range(200):
        click(dealt, ada, office)
        if dealt.state != "playing":
            break
    assert dealt.state == "finished"
    doc = public_record(dealt)
    record.verify(doc)
    assert sorted(seat["kind"] for seat in doc["seats"]) == ["bot", "human"]
    assert {seat["name"] for seat in doc["seats"]} == {"ada", "careful"}
    assert not Move.objects.exists()
    assert dealt.players.get(user=ada).place in (1, 2)
    assert not any("server_seed" in shown or doc["fairness"]["server_seed"] in shown for shown in office.shown)


def test_player_seed_goes_into_the_shuffle_and_is_refused_once_the_seats_are_drawn(ada, house, office):
    match = tables.open_table(ada, opponents=[house["careful"]], rules=SHORT)
    tables.set_player_seed(match, ada, "my own")
    tables.deal(match)
    office.deliver()
    match.refresh_from_db()
    assert match.player_seeds == ["my own", ""]
    with pytest.raises(tables.TableRefused):
        tables.set_player_seed(match, ada, "too late")


@pytest.mark.parametrize("seed", ["x" * 65, "é", "a\nb"])
def test_player_seed_that_is_none_is_refused(ada, house, seed):
    match = tables.open_table(ada, opponents=[house["careful"]], rules=SHORT)
    with pytest.raises(tables.TableRefused):
        tables.set_player_seed(match, ada, seed)


def test_one_table_a_person_at_a_time(dealt, ada, house):
    with pytest.raises(tables.TableRefused):
        tables.open_table(ada, opponents=[house["random"]], rules=SHORT)


def test_of_two_racing_batches_one_is_accepted_whole_and_the_other_dropped_whole(dealt, ada, office):
    seat, game = tables.seat_of(dealt, ada), game_now(dealt)
    first, second = game.legal()[:2]
    for move in (first, second):
        tables.decide(dealt, seat, id=game.decision.id, move=move)
    office.deliver()
    played = tables.moves_of(dealt)
    assert played[game.decisions_made] == first
    assert second not in played[game.decisions_made : game.decisions_made + 1]
    assert list(dealt.moves.values_list("number", flat=True)) == list(range(1, len(played) + 1))


def test_same_batch_twice_changes_nothing(dealt, ada, office):
    seat, game = tables.seat_of(dealt, ada), game_now(dealt)
    tables.decide(dealt, seat, id=game.decision.id, move="d")
    office.deliver()
    before = (tables.moves_of(dealt), Match.objects.get(pk=dealt.pk).attempt)
    tables.decide(dealt, seat, id=game.decision.id, move="d")
    office.deliver()
    assert (tables.moves_of(dealt), Match.objects.get(pk=dealt.pk).attempt) == before


@pytest.fixture
def notices(monkeypatch):
    heard = []
    monkeypatch.setattr(
        "games.broker.notify_table", lambda code, kind="table.changed", **content: heard.append(content)
    )
    return heard


@pytest.mark.parametrize(
    ("change", "reason"),
    [({"move": "show"}, "illegal"), ({"id": 99}, "stale"), ({"seat": "other"}, "not_your_turn")],
    ids=["illegal", "stale", "not-your-turn"],
)
def test_refused_move_changes_nothing_and_is_told_to_its_seat_alone(dealt, ada, office, notices, change, reason):
    seat, game = tables.seat_of(dealt, ada), game_now(dealt)
    wish = {"seat": seat, "id": game.decision.id, "move": "d"} | change
    wish["seat"] = 1 - seat if wish["seat"] == "other" else seat
    before = tables.moves_of(dealt)
    tables.decide(dealt, wish.pop("seat"), **wish)
    office.deliver()
    assert [(notice["reason"], "detail" in notice) for notice in notices] == [(reason, True)]
    assert tables.moves_of(dealt) == before


def test_move_after_the_end_is_refused_as_finished(dealt, ada, office, notices):
    seat, game = tables.seat_of(dealt, ada), game_now(dealt)
    job_of_then = Match.objects.get(pk=dealt.pk)
    tables.resign(dealt, seat)
    office.deliver()
    tables.decide(job_of_then, seat, id=game.decision.id, move="d")
    office.deliver()
    assert [notice["reason"] for notice in notices if notice] == ["finished"]


def test_move_sent_again_after_the_end_is_not_refused(dealt, ada, office, notices):
    seat, game = tables.seat_of(dealt, ada), game_now(dealt)
    job_of_then = Match.objects.get(pk=dealt.pk)
    move = click(dealt, ada, office)
    tables.resign(dealt, seat)
    office.deliver()
    for again in (move, "k9"):
        tables.decide(job_of_then, seat, id=game.decision.id, move=again)
        office.deliver()
        assert [notice["reason"] for notice in notices if notice] == ([] if again == move else ["finished"])


def test_resigning_ends_a_game_of_two_with_the_resigned_last(dealt, ada, office):
    tables.resign(dealt, tables.seat_of(dealt, ada))
    office.deliver()
    dealt.refresh_from_db()
    seat = dealt.players.get(user=ada)
    assert (dealt.state, dealt.how, seat.place, seat.fault) == ("finished", "fault", 2, "resigned")
    record.verify(public_record(dealt))


def test_resigning_at_a_table_of_three_lets_the_bots_play_on(ada, house, office):
    match = tables.open_table(ada, opponents=[house["careful"], house["random"]], rules=SHORT)
    tables.deal(match)
    office.deliver()
    tables.resign(Match.objects.get(pk=match.pk), tables.seat_of(match, ada))
    office.deliver()
    match.refresh_from_db()
    assert (match.state, match.how) == ("finished", "target")
    assert match.players.get(user=ada).place == 3


@pytest.mark.parametrize(
    "lie",
    [
        lambda result, seat: result | {"action": None},
        lambda result, seat: result | {"action": {"do": "move", "seat": 1 - seat, "id": 1, "move": "d"}},
        lambda result, seat: result | {"moves": ["k9"]},
        lambda result, seat: result | {"moves": result["moves"] * 3, "ms": [0] * 3},
        lambda result, seat: result | {"faults": [{"seat": seat, "kind": "crash", "turn": 1}]},
        lambda result, seat: result | {"faults": [{"seat": 1 - seat, "kind": "resigned", "turn": 1}]},
        lambda result, seat: result | {"ms": []},
        lambda result, seat: {"moves": 7},
        lambda result, seat: None,
    ],
    ids=[
        "a-bot-for-a-person",
        "another-seat",
        "no-move",
        "more-moves",
        "a-bots-fault",
        "resigned-bot",
        "times",
        "type",
        "null",
    ],
)
def test_worker_that_lies_about_a_table_changes_nothing(dealt, ada, office, lie):
    seat, game = tables.seat_of(dealt, ada), game_now(dealt)
    tables.decide(dealt, seat, id=game.decision.id, move="d")
    [(job,)] = office.take("sandbox.table_move")
    office.run("sandbox.table_move", (job,))
    [(code, attempt, result)] = office.take("games.tasks.table_result")
    before = tables.moves_of(dealt)
    assert tables.accept(code, attempt, lie(result, seat)) is False
    assert tables.moves_of(dealt) == before
    assert tables.accept(code, attempt, result) is True


def test_interrupted_answers_are_asked_for_again_at_once(dealt, office):
    tables.Match.objects.filter(pk=dealt.pk).update(awaits="bots")
    tasks.match_handed_back(dealt.code, dealt.attempt + 1)
    assert not office.take("sandbox.bot_answers")
    tasks.match_handed_back(dealt.code, dealt.attempt)
    ((job,),) = office.take("sandbox.bot_answers")
    assert (job["match"], job["attempt"]) == (dealt.code, dealt.attempt)
    dealt.refresh_from_db()
    assert dealt.lost_attempts == 0


def test_lost_answers_are_asked_for_again(dealt, ada, office):
    seat, game = tables.seat_of(dealt, ada), game_now(dealt)
    tables.decide(dealt, seat, id=game.decision.id, move="d")
    office.deliver(until=lambda: Match.objects.get(pk=dealt.pk).awaits == "bots")
    assert office.take("sandbox.bot_answers")
    assert tables.sweep_tables()["unanswered"] == 0
    Match.objects.filter(pk=dealt.pk).update(sent_at=timezone.now() - timedelta(seconds=30))
    assert tables.sweep_tables()["unanswered"] == 1
    office.deliver()
    dealt.refresh_from_db()
    assert dealt.awaits == "person"


def test_failure_of_ours_three_times_in_a_row_voids_a_table_and_blames_nobody(dealt):
    for _ in range(2):
        tables.note_failure(dealt.code, dealt.attempt, "sandbox failed")
    dealt.refresh_from_db()
    assert dealt.state == "playing"
    tables.note_failure(dealt.code, dealt.attempt, "sandbox failed")
    dealt.refresh_from_db()
    assert (dealt.state, dealt.how) == ("void", "platform")
    assert not dealt.players.exclude(fault="").exists()
    with pytest.raises(NotFinished):
        public_record(dealt)


def test_table_of_a_deleted_bot_is_void(dealt, ada, house, office):
    house["careful"].bot.delete()
    for _ in range(200):
        click(dealt, ada, office)
        if dealt.state != "playing":
            break
    assert (dealt.state, dealt.how) == ("void", "gone")
    assert not Record.objects.exists(), "no record may call a bot a person"
    assert not dealt.players.exclude(fault="").exists()


def test_idle_table_is_void(dealt):
    Match.objects.filter(pk=dealt.pk).update(moved_at=timezone.now() - timedelta(minutes=31))
    assert tables.sweep_tables()["idle"] == 1
    dealt.refresh_from_db()
    assert (dealt.state, dealt.how, dealt.moves.count()) == ("void", "idle", 0)
    assert not Record.objects.exists()
