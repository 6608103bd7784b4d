"""A match from its row to its record: dispatched, played in the real sandbox, finished once."""

import pytest

from games import dispatch
from games.engine import Rules, record
from games.models import Record, SeatLog

RULES = Rules.preset("classic", target=50).to_json()


def create(house, *names, **options):
    return dispatch.create_match(
        kind="ranked", rules=RULES, entrants=[{"version": house[name]} for name in names], share="ladder:1", **options
    )


@pytest.mark.django_db(transaction=True)
def test_match_is_played_in_the_sandbox_and_recorded_once(house, worker, office):
    match = create(house, "careful", "spoiler", "random")
    office.deliver()
    match.refresh_from_db()
    assert (match.state, match.attempt, match.worker) == ("finished", 1, "test@sandbox")
    doc = record.unpack(bytes(Record.objects.get(match=match).packed))
    record.verify(doc)
    assert [seat["name"] for seat in doc["seats"]] == [player.name for player in match.players.order_by("seat")]
    assert [player.place for player in match.players.order_by("seat")] == doc["result"]["places"]
    assert match.decisions == sum(len(hand["moves"]) for hand in doc["hands"]) > 0
    assert not SeatLog.objects.exclude(fault_detail="").exists()
