"""Several processes at once: threads with connections of their own race for the same rows, and one wins."""

import pytest

from games import dispatch, finish, tables
from games.engine import Rules, replay
from games.live import game_now
from games.models import Match, Record
from games.signals import match_finished
from tests.racing import race

pytestmark = pytest.mark.django_db(transaction=True)
RULES = Rules.preset("classic", target=1)
RACERS = 6


def create(house):
    entrants = [{"version": house["careful"]}, {"version": house["random"]}]
    return dispatch.create_match(kind="ranked", rules=RULES.to_json(), entrants=entrants, share="ladder:1")


def test_match_is_finished_once_however_many_report(house, worker, office):
    match = create(house)
    dispatch.dispatch()
    game = replay(RULES, 2, bytes(match.server_seed), ["", ""], [], [])
    moves = []
    while game.decision is not None:
        moves.append(game.legal()[len(moves) % len(game.legal())])
        game.play(moves[-1])
    outcome = {"moves": moves, "ms": [1] * len(moves), "faults": [], "logs": []}
    heard = []

    def listen(*, state, **_signal):
        heard.append(state)

    match_finished.connect(listen)
    try:
        callers = [lambda: finish.finish_match(match.pk, 1, outcome)] * (RACERS - 1)
        answers = race(*callers, lambda: finish.void_match(match.pk, "operator"))
    finally:
        match_finished.disconnect(listen)
    match.refresh_from_db()
    assert answers.count(True) == 1
    assert heard == [match.state]
    assert Record.objects.count() == (match.state == "finished")


def test_dispatchers_at_once_send_each_match_once_and_keep_to_the_room(house, worker, office):
    for _ in range(10):
        create(house)
    assert sum(race(*[dispatch.dispatch] * RACERS)) == 2 * worker.slots
    jobs = [job["match"] for (job,) in office.take("sandbox.play_match")]
    assert len(jobs) == len(set(jobs)) == 2 * worker.slots
    assert set(Match.objects.filter(state="queued").values_list("attempt", flat=True)) == {1}


def test_lost_attempt_is_counted_once(house, worker, office):
    match = create(house)
    dispatch.dispatch()
    dispatch.hear(match.code, 1, worker.name)
    lose = [lambda: finish.lose_attempt(match.pk, 1, what="lost", detail="silent")] * RACERS
    assert race(*lose).count(True) == 1
    match.refresh_from_db()
    assert (match.state, match.lost_attempts) == ("waiting", 1)


def test_table_takes_one_of_the_batches_that_come_at_once(ada, make_user, office):
    entrants = [{"user": ada}, {"user": make_user("ben")}]
    match = dispatch.create_match(kind="table", rules=RULES.to_json(), entrants=entrants, seating="fixed")
    tables.deal(match)
    office.deliver()
    match.refresh_from_db()
    game = game_now(match)
    for move in game.legal()[:RACERS]:
        tables.decide(match, game.decision.seat, id=1, move=move)
    for args in office.take("sandbox.table_move"):
        office.run("sandbox.table_move", args)
    results = office.take("games.tasks.table_result")
    answers = race(*[lambda args=args: tables.accept(*args) for args in results])
    assert answers.count(True) == 1
    assert tables.moves_of(match) == [results[answers.index(True)][2]["moves"][0]]


def test_person_opens_one_table_however_often_he_asks_at_once(ada, house, office):
    def ask():
        return tables.open_table(ada, opponents=[house["careful"]], rules=RULES)

    answers = race(*[ask] * RACERS, refusals=(tables.TableRefused,))
    assert sum(isinstance(answer, Match) for answer in answers) == 1
    assert Match.objects.count() == 1
