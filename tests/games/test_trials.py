"""Every new version plays a trial in the real sandbox before it may be rated."""

from datetime import timedelta

import pytest
from django.utils import timezone

from bots.models import BotVersion
from games import finish, trials
from games.models import Match, SeatLog
from games.seed import seed_house_bots
from tests.people import uploaded

pytestmark = pytest.mark.django_db(transaction=True)


def test_sound_upload_is_ready_after_its_trial(house, worker, office, ada):
    version = uploaded(ada)
    match = Match.objects.get(kind="trial")
    assert [player.name for player in match.players.order_by("entrant")] == ["Mim", "careful", "spoiler"]
    assert match.share == f"owner:{ada.pk}"
    office.deliver()
    version.refresh_from_db()
    assert (version.state, version.state_note) == ("ready", "")


def test_faulty_upload_fails_and_its_owner_can_see_why(house, worker, office, ada):
    version = uploaded(ada, source=b"import sys\nprint('about to end', file=sys.stderr)\nraise ValueError('oops')\n")
    office.deliver()
    version.refresh_from_db()
    assert version.state == "failed"
    assert version.state_note
    log = SeatLog.objects.get(seat__version=version)
    assert "about to end" in log.stderr
    assert "oops" in log.stderr
    assert log.fault_detail
    house["careful"].refresh_from_db()
    assert house["careful"].state == "ready"
    assert not Match.objects.get().players.filter(bot__owner=None).exclude(fault="").exists()


def test_missed_trial_is_found_by_the_sweep_and_created_once(house, worker, office, ada, monkeypatch):
    monkeypatch.setattr(trials, "start_trial", lambda version_id: None)
    version = uploaded(ada)
    monkeypatch.undo()
    assert not Match.objects.exists()
    assert trials.sweep_trials() == 0
    BotVersion.objects.update(uploaded_at=timezone.now() - timedelta(seconds=10))
    assert (trials.sweep_trials(), trials.sweep_trials()) == (1, 0)
    assert trials.start_trial(version.pk) is None
    assert Match.objects.count() == 1


def test_trial_that_was_void_by_our_fault_is_played_again_later(house, worker, office, ada):
    version = uploaded(ada)
    finish.void_match(Match.objects.get().pk, "platform")
    BotVersion.objects.update(uploaded_at=timezone.now() - timedelta(hours=1))
    assert trials.sweep_trials() == 0
    Match.objects.update(finished_at=timezone.now() - timedelta(minutes=11))
    assert trials.sweep_trials() == 1
    version.refresh_from_db()
    assert version.state == "trial"


def test_seeding_twice_changes_nothing_and_a_changed_file_is_a_new_version(db, tmp_path, monkeypatch):
    first = seed_house_bots()
    assert (
        [bot.name for bot in seed_house_bots()]
        == [bot.name for bot in first]
        == ["random", "careful", "spoiler", "counter", "sage"]
    )
    assert BotVersion.objects.filter(state="ready", bot__owner=None).count() == 5
    for bot in first:
        (tmp_path / f"{bot.name}.py").write_bytes(b"# changed " + bot.name.encode())
    monkeypatch.setattr("games.seed.HOUSE", tmp_path)
    seed_house_bots()
    assert BotVersion.objects.filter(number=2, state="ready").count() == 5
