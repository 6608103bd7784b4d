"""Who plays next, what becomes of attempts, and what the sweep puts right. No bot runs here."""

import os
import random
import signal
from collections import Counter
from datetime import timedelta
from itertools import islice

import pytest
from django.utils import timezone

from bots.models import BotVersion
from games import broker, dispatch, finish, sandbox_tasks, tasks
from games.engine import Rules
from games.keys import pause_key
from games.models import Finding, Match, Share, Worker

pytestmark = pytest.mark.django_db(transaction=True)
RULES = Rules.preset("classic").to_json()


def create(house, *, share="ladder:1", kind="ranked", versions=None, **options):
    versions = versions or [house["careful"], house["random"]]
    return dispatch.create_match(
        kind=kind, rules=RULES, entrants=[{"version": version} for version in versions], share=share, **options
    )


def age(match, **seconds):
    now = timezone.now()
    Match.objects.filter(pk=match.pk).update(**{name: now - timedelta(seconds=s) for name, s in seconds.items()})


def state_of(match):
    match.refresh_from_db()
    return match.state, match.attempt, match.lost_attempts


def test_no_more_than_two_attempts_a_slot_are_in_the_broker(house, worker, office):
    for _ in range(7):
        create(house)
    assert dispatch.dispatch() == 2 * worker.slots
    assert dispatch.dispatch() == 0
    jobs = office.take("sandbox.play_match")
    assert len(jobs) == 4
    assert Match.objects.filter(state="waiting").count() == 3


@pytest.mark.parametrize(
    "change",
    [
        {"is_ok": False},
        {"is_paused": True},
        {"slots": 0},
        {"queues": "tables"},
        {"seen_at": timezone.now() - timedelta(1)},
    ],
    ids=["without-jail", "paused", "no-slot", "other-queues", "silent"],
)
def test_worker_that_cannot_play_gets_nothing(house, worker, office, change):
    create(house)
    Worker.objects.update(**change)
    assert dispatch.dispatch() == 0


def test_trials_go_first_and_shares_take_turns(house, worker, office):
    for _ in range(4):
        create(house, share="ladder:1")
    second = create(house, share="ladder:2")
    trial = create(house, share="owner:1", kind="trial")
    dispatch.dispatch()
    sent = [job["match"] for (job,) in office.take("sandbox.play_match")]
    assert sent[0] == trial.code
    assert second.code in sent[1:3]


def test_trials_of_who_took_long_in_them_wait_for_all_others(house, worker, office):
    for _ in range(2):
        slow = create(house, share="owner:1", kind="trial")
        age(slow, started_at=290, finished_at=100)
        Match.objects.filter(pk=slow.pk).update(state="finished")
    late = create(house, share="owner:1", kind="trial")
    rated, early = create(house), create(house, share="owner:2", kind="trial")
    assert [dispatch.place_in_queue(match) for match in (early, rated, late)] == [1, 2, 3]
    assert dispatch.choose(3) == [early, rated, late]
    age(slow, finished_at=3601)
    assert dispatch.choose(1) == [late], "after an hour it is forgotten"


def test_shares_with_few_matches_are_not_starved_by_one_with_many():
    turns = dispatch.take_turns({"many": 1000, "b": 3, "c": 3}, {}, {})
    assert Counter(islice(turns, 9)) == {"many": 3, "b": 3, "c": 3}


def test_share_that_was_served_longest_ago_comes_first():
    now = timezone.now()
    served = {"a": now, "b": now - timedelta(hours=1), "c": now - timedelta(minutes=1)}
    assert list(islice(dispatch.take_turns({"a": 2, "b": 2, "c": 2}, {}, served), 3)) == ["b", "c", "a"]


def test_share_with_least_in_flight_comes_first():
    assert next(dispatch.take_turns({"a": 1, "b": 1}, {"a": 2, "b": 1}, {})) == "b"


def test_one_slot_is_shared_in_turn_over_time(house, worker, office):
    Worker.objects.update(slots=1)
    for share in ("a", "a", "a", "a", "b", "c"):
        create(house, share=share)
    served = []
    for _ in range(4):
        dispatch.dispatch()
        for (job,) in office.take("sandbox.play_match"):
            served.append(Match.objects.get(code=job["match"]).share)
        first = Match.objects.filter(state="queued").order_by("sent_at").first()
        finish.void_match(first.pk, "operator")
    assert set(served[:3]) == {"a", "b", "c"}


def test_place_in_the_queue_counts_trials_and_fair_turns(house, office):
    first = [create(house, share="a") for _ in range(3)]
    other = create(house, share="b")
    assert [dispatch.place_in_queue(match) for match in (*first, other)] == [1, 3, 4, 2]
    create(house, share="owner:1", kind="trial")
    assert dispatch.place_in_queue(other) == 3


@pytest.mark.parametrize("seed", range(3))
def test_place_in_the_queue_is_the_one_in_which_it_is_played(house, office, seed):
    dice = random.Random(seed)
    for _ in range(24):
        create(house, share=dice.choice(["a", "b", "owner:1", "owner:2"]), kind=dice.choice(["ranked", "trial"]))
    playing = dice.sample(list(Match.objects.values_list("pk", flat=True)), 4)
    Match.objects.filter(pk__in=playing).update(state="playing")
    Share.objects.create(name="a", served_at=timezone.now())
    waiting = Match.objects.filter(state="waiting")
    places = {match.pk: dispatch.place_in_queue(match) for match in waiting}
    assert [places[match.pk] for match in dispatch.choose(24)] == list(range(1, 21))
    first_ranked = min(place for pk, place in places.items() if waiting.get(pk=pk).kind == "ranked")
    assert first_ranked == waiting.filter(kind="trial").count() + 1


def test_task_carries_neither_seed_nor_source_where_it_is_printed(house, worker, office):
    match = create(house)
    dispatch.dispatch()
    assert office.shown[-1] == f"({match.code!r}, 1)"
    [(job,)] = office.take("sandbox.play_match")
    assert job["server_seed"] == bytes(match.server_seed).hex()
    source = bytes(house["careful"].source.data)
    assert broker.client().get(f"source:{house['careful'].source_id}") == source
    assert source.decode()[:200] not in str(job)


def test_worker_drops_an_attempt_that_is_not_the_present_one(house, worker, office):
    match = create(house)
    dispatch.dispatch()
    old = office.take("sandbox.play_match")[0]
    age(match, sent_at=31)
    dispatch.sweep()
    dispatch.dispatch()
    office.run("sandbox.play_match", old)
    assert not office.take("games.tasks.match_started")
    assert state_of(match) == ("queued", 2, 0)


def test_paused_worker_gives_the_match_back_unharmed(house, worker, office):
    match = create(house)
    dispatch.dispatch()
    dispatch.pause_worker(worker.name, True)
    office.run(*("sandbox.play_match", office.take("sandbox.play_match")[0]))
    office.deliver()
    assert state_of(match) == ("waiting", 1, 0)
    dispatch.pause_worker(worker.name, False)
    assert broker.client().get(pause_key(worker.name)) is None


def test_interrupted_match_is_handed_back_unharmed_and_played_again(house, worker, office, monkeypatch):
    match = create(house)
    dispatch.dispatch()
    (job,) = office.take("sandbox.play_match")

    def interrupt(*_args, **_options):
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("expected the signal to end the match")

    with monkeypatch.context() as patch:
        patch.setattr(sandbox_tasks, "play_match", interrupt)
        office.run("sandbox.play_match", job)
    told = [name for name, _args in office.waiting if "match" in name]
    assert told == ["games.tasks.match_started", "games.tasks.match_handed_back"]
    office.deliver(until=lambda: state_of(match)[0] == "waiting")
    assert state_of(match) == ("waiting", 1, 0)
    assert not Finding.objects.exists()
    tasks.match_handed_back(match.code, 1)
    office.waiting.clear()
    assert dispatch.dispatch() == 1
    assert state_of(match) == ("queued", 2, 0)
    tasks.match_handed_back(match.code, 1)
    assert state_of(match) == ("queued", 2, 0)


def test_redis_that_lost_everything_costs_no_match(house, worker, office):
    match = create(house)
    dispatch.dispatch()
    office.take("sandbox.play_match")
    broker.client().flushall()
    assert dispatch.sweep()["unstarted"] == 0
    age(match, sent_at=31)
    assert dispatch.sweep()["unstarted"] == 1
    assert dispatch.dispatch() == 1
    assert state_of(match) == ("queued", 2, 0)
    assert broker.client().get(f"attempt:{match.code}") == b"2"
    assert broker.client().exists(f"source:{house['careful'].source_id}")


def test_queued_match_is_left_alone_while_every_slot_is_busy(house, worker, office):
    Worker.objects.update(slots=1)
    running, queued = create(house), create(house)
    dispatch.dispatch()
    dispatch.hear(running.code, 1, worker.name)
    age(queued, sent_at=60)
    assert dispatch.sweep()["unstarted"] == 0


def test_silent_attempt_is_lost_and_played_again_from_the_same_seed(house, worker, office):
    match = create(house)
    dispatch.dispatch()
    dispatch.hear(match.code, 1, worker.name)
    seed = bytes(match.server_seed)
    age(match, heard_at=19)
    assert dispatch.sweep()["lost"] == 0
    age(match, heard_at=21)
    assert dispatch.sweep()["lost"] == 1
    assert state_of(match) == ("waiting", 1, 1)
    dispatch.dispatch()
    [(job,)] = [args for args in office.take("sandbox.play_match") if args[0]["attempt"] == 2]
    assert bytes.fromhex(job["server_seed"]) == seed
    assert not dispatch.hear(match.code, 1)


def lose_three_times(match, worker):
    for attempt in (1, 2, 3):
        assert dispatch.dispatch() == 1
        dispatch.hear(match.code, attempt, worker.name)
        age(match, heard_at=21)
        dispatch.sweep()


def test_three_lost_attempts_void_the_match_and_blame_nobody(house, worker, office):
    match = create(house)
    lose_three_times(match, worker)
    assert state_of(match) == ("void", 3, 3)
    assert match.how == "platform"
    assert not match.players.exclude(fault="").exists()
    assert set(Finding.objects.values_list("what", flat=True)) == {"lost", "void"}


def test_version_in_two_matches_that_killed_their_workers_is_set_aside_and_the_house_is_not(house, worker, office, ada):
    from bots.models import Bot

    bot = Bot.objects.create(owner=ada, name="Killer", name_key="killer", slug="killer")
    version = BotVersion.objects.create(
        bot=bot, number=1, source=house["random"].source, file_name="k.py", size=1, state="ready"
    )
    for expected in ("ready", "set_aside"):
        lose_three_times(create(house, versions=[version, house["careful"]]), worker)
        version.refresh_from_db()
        assert version.state == expected
    house["careful"].refresh_from_db()
    assert house["careful"].state == "ready"


def test_failure_reported_by_the_worker_costs_the_attempt_and_waits_before_the_next(house, worker, office):
    match = create(house)
    dispatch.dispatch()
    tasks.match_failed(match.code, 1, "no jail")
    assert state_of(match) == ("waiting", 1, 1)
    assert dispatch.dispatch() == 0
    Match.objects.update(wait_until=timezone.now())
    assert dispatch.dispatch() == 1
    tasks.match_failed(match.code, 1, "late")
    assert state_of(match) == ("queued", 2, 1)


def test_source_that_is_missing_or_forged_is_our_failure(house, worker, office):
    match = create(house)
    dispatch.dispatch()
    broker.client().set(f"source:{house['careful'].source_id}", b"print('another')")
    office.deliver()
    assert state_of(match) == ("waiting", 1, 1)
    assert not match.players.exclude(fault="").exists()


def test_match_whose_version_was_deleted_is_void(house, worker, office):
    match = create(house)
    match.players.filter(entrant=0).update(version=None, bot=None)
    dispatch.dispatch()
    assert state_of(match)[0] == "void"
    assert match.how == "gone"


def test_worker_announces_itself_and_keeps_its_pause(worker):
    dispatch.pause_worker(worker.name, True)
    broker.client().flushall()
    tasks.worker_alive(worker.name, "matches", 3, True, "sandbox mode A")
    worker.refresh_from_db()
    assert (worker.slots, worker.is_paused) == (3, True)
    assert broker.client().exists(pause_key(worker.name))


def test_create_match_refuses_what_is_no_match(house):
    with pytest.raises(ValueError, match="2 to 4 entrants"):
        create(house, versions=[house["random"]])
    with pytest.raises(ValueError, match="draw or fixed"):
        create(house, seating="standing")
    assert not Match.objects.exists()
