"""The page for everybody on why nothing moves, and the operators' page with the reason in full."""

import re
import signal
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from bots.models import Switch
from games import dispatch, tasks
from games.engine import Rules
from games.models import Match, Worker
from games.status import facts, spell
from tests.live import until
from tests.people import person
from tests.workers import read_report, sandbox_worker

pytestmark = pytest.mark.django_db
SHORT = Rules.preset("classic", target=30).to_json()
QUEUES = {"matches": "Matches of bots", "tables": "Tables of people", "answers": "Bots at tables"}
PAUSES = {"rounds": "Rounds of the ladders", "uploads": "Uploads of bots"}
REFUSED = "bots cannot run safely here: mode A: /opt/secret/bwrap does not run"


def seen(name, queue, *, ago_s=0, is_ok=True, is_paused=False, slots=2, reason="sandbox mode A"):
    Worker.objects.create(
        name=name,
        queues=queue,
        slots=slots,
        is_ok=is_ok,
        reason=reason,
        is_paused=is_paused,
        seen_at=timezone.now() - timedelta(seconds=ago_s),
    )


def part(title):
    [found] = [part for part in facts()["parts"] if part.title == title]
    return found


def page(client):
    response = client.get(reverse("status"))
    assert response.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


WORKERS = [
    pytest.param([], "silent", "Nobody is there to do this.", id="none"),
    pytest.param([{"ago_s": 180}], "silent", "has been heard of for 3\xa0minutes.", id="silent"),
    pytest.param([{"is_ok": False}], "refuses", "does not pass its test", id="refuses"),
    pytest.param([{"is_paused": True}], "paused", "What waits keeps its place.", id="paused"),
    pytest.param([{"is_paused": True, "ago_s": 60}], "silent", "for 1\xa0minute.", id="paused_and_silent"),
    pytest.param([{"is_ok": False, "is_paused": True}], "refuses", "does not pass", id="paused_and_refuses"),
    pytest.param([{"is_ok": False}, {"is_paused": True}], "paused", "keeps its place", id="one_paused_one_refuses"),
    pytest.param(
        [{}, {"is_ok": False}, {"ago_s": 99}], "working", "Up to 2 matches are played at once.", id="one_works"
    ),
    pytest.param([{}, {"slots": 3}], "working", "Up to 5 matches are played at once.", id="two_work"),
    pytest.param([{"slots": 1}], "working", "Up to 1 match is played at once.", id="one_slot"),
]


@pytest.mark.parametrize(("workers", "state", "text"), WORKERS)
def test_matches_are_as_well_as_the_best_of_their_workers(workers, state, text):
    for number, how in enumerate(workers):
        seen(f"w{number}@host", "matches", **how)
    found = part("Matches of bots")
    assert found.state == state
    assert text in found.text


@pytest.mark.parametrize("queue", QUEUES)
def test_a_worker_counts_for_its_own_queue_alone(queue):
    seen("w@host", queue)
    states = {each.title: each.state for each in facts()["parts"]}
    assert {title: states[title] for title in QUEUES.values()} == {
        title: "working" if each == queue else "silent" for each, title in QUEUES.items()
    }


def test_everything_works(client):
    seen("w@host", "matches,tables,answers")
    assert facts()["is_well"]
    assert "Everything is working." in page(client)


def test_nobody_is_shown_machines_paths_or_reasons(client):
    seen("matches@inner.host", "matches", is_ok=False, reason=REFUSED)
    seen("answers@inner.host", "answers", ago_s=500, reason=REFUSED)
    shown = page(client)
    assert "Not everything is working." in shown
    for secret in ("inner.host", "/opt", "bwrap", "mode A"):
        assert secret not in shown


def test_operators_are_shown_the_mode_or_the_whole_reason(client):
    reason = REFUSED + " because" * 200 + " \x1b[2Jend"
    seen("bad@inner.host", "matches", is_ok=False, reason=reason)
    seen("good@inner.host", "matches", reason="sandbox mode B, each bot in a cgroup of its own")
    client.force_login(person("op", is_staff=True))
    html = client.get(reverse("health")).content.decode()
    assert REFUSED + " because" * 200 + " \\x1b[2Jend" in html
    assert "sandbox mode B, each bot in a cgroup of its own" in html


@pytest.mark.parametrize("name", Switch.Name.values)
def test_a_pause_is_shown_with_the_operators_note(client, name):
    Switch.objects.update_or_create(name=name, defaults={"is_paused": True, "note": "Back at <noon>."})
    assert [each.title for each in facts()["parts"] if each.note] == [PAUSES[name]]
    assert "The operators say: Back at &lt;noon&gt;." in page(client)


def make_match(kind, state, *, waited_s=0, took_s=None):
    now = timezone.now()
    match = Match.objects.create(
        kind=kind, state=state, rules=SHORT, seats=2, server_seed=bytes(32), commitment="0" * 64, player_seeds=["", ""]
    )
    created = now - timedelta(seconds=waited_s)
    started = None if took_s is None else created + timedelta(seconds=took_s)
    Match.objects.filter(pk=match.pk).update(created_at=created, started_at=started)


def test_what_waits_is_counted_and_for_how_long(client):
    for kind, state in [("ranked", "waiting"), ("ranked", "queued"), ("ranked", "playing"), ("trial", "playing")]:
        make_match(kind, state)
    make_match("trial", "waiting", waited_s=190)
    make_match("trial", "queued", waited_s=20)
    make_match("table", "playing")
    make_match("table", "open")
    for took_s in (2, 4, 900):
        make_match("trial", "finished", waited_s=5000, took_s=took_s)
    make_match("trial", "finished", waited_s=5000)
    found = facts()
    assert (found["waiting"], found["playing"], found["trials"], found["tables"]) == (4, 2, 2, 1)
    shown = page(client)
    assert "Of the last trials half began within 4 seconds." in shown
    assert "waited longest now has waited 3 minutes." in shown


def test_without_trials_no_wait_is_made_up(client):
    shown = page(client)
    assert "No trial has been played yet." in shown
    assert "waited longest" not in shown


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-3, "0 seconds"), (0.6, "1 second"), (59, "59 seconds"), (60, "1\xa0minute"), (7300, "2\xa0hours")],
)
def test_times_are_spelt_out(seconds, said):
    assert spell(timedelta(seconds=seconds)) == said


def test_every_page_leads_to_the_status(client):
    assert f'<a href="{reverse("status")}">' in client.get(reverse("rules")).content.decode()


# A real worker whose probe fails, and passes later. It asks and announces more often than it does on a site.
HASTY = """
import sys
from soureh_site import sandbox_worker
sandbox_worker.PROBE_AGAIN_S = sandbox_worker.ANNOUNCE_S = 0.3
from celery.__main__ import main
main()
"""


@pytest.fixture
def broken_python(tmp_path):
    """Where the bots' interpreter is looked for, with nothing there yet."""
    return tmp_path / "broken-python3"


@pytest.fixture
def refusing(redis_url, broken_python, tmp_path):
    """Start a worker of matches that has no interpreter to run bots on."""
    log, program = tmp_path / "stderr", ("-c", HASTY)
    with sandbox_worker(
        "matches@inner.host", "matches", log, program=program, BOT_PYTHON=str(broken_python)
    ) as process:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.django_db(transaction=True)
def test_matches_wait_while_the_sandbox_fails_and_go_on_when_it_passes(
    client, house, site_redis, refusing, broken_python, tmp_path
):
    entrants = [{"version": house["careful"]}, {"version": house["random"]}]
    match = dispatch.create_match(kind="ranked", rules=SHORT, entrants=entrants, share="ladder:1")
    operator = person("op", is_staff=True)
    until(lambda: deliver(site_redis) and Worker.objects.filter(is_ok=False).exists(), what="the worker refuses")
    assert dispatch.dispatch() == 0
    assert Match.objects.get().state == "waiting"
    shown = page(client)
    assert "The sandbox, which keeps a bot from doing harm, does not pass its test where bots would run." in shown
    assert broken_python.name not in shown and "inner.host" not in shown
    client.force_login(operator)
    health = client.get(reverse("health")).content.decode()
    assert "bots cannot run safely here: BOT_PYTHON: " in health and str(broken_python) in health
    assert "sandbox refused" in (tmp_path / "stderr").read_text()

    broken_python.symlink_to("/usr/bin/python3")
    until(lambda: deliver(site_redis) and Worker.objects.filter(is_ok=True).exists(), what="the worker works")
    dispatch.dispatch()
    until(lambda: deliver(site_redis) and Match.objects.get().is_over, what="the match is played")
    match.refresh_from_db()
    assert (match.state, match.attempt) == ("finished", 1)
    assert "Up to 1 match is played at once." in page(client)
    assert "sandbox mode " in client.get(reverse("health")).content.decode()


def deliver(broker):
    """Do what the trusted worker would with all that was reported; True."""
    while message := broker.rpop("results"):
        task, args = read_report(message)
        getattr(tasks, task)(*args)
    return True
