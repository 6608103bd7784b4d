"""Duplicate sets: one deal, everybody in every seat; sealed until all of it is played. No bot runs here."""

import pytest

from games import dispatch, matches
from games.duplicates import rotated, seat_in_set
from games.engine import Rules
from games.models import Match

pytestmark = pytest.mark.django_db(transaction=True)
RULES = Rules.preset("classic", target=1).to_json()


def create_set(house, *names, **options):
    entrants = [{"version": house[name]} for name in names or ("careful", "random", "spoiler")]
    return matches.create_set(rules=RULES, entrants=entrants, share="ladder:1", **options)


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_over_a_set_everybody_takes_every_seat(seats):
    tables = [rotated("abcd"[:seats], rotation) for rotation in range(seats)]
    assert ["".join(sorted(taken)) for taken in zip(*tables, strict=True)] == ["abcd"[:seats]] * seats
    for rotation, table in enumerate(tables):
        seated = [seat_in_set(entrant, rotation=rotation, seats=seats) for entrant in range(seats)]
        assert [table[seat] for seat in seated] == list("abcd"[:seats])


def test_set_is_one_deal_with_the_seats_fixed_and_rotated(house):
    played = create_set(house, is_showcase=True)
    assert len({bytes(match.server_seed) for match in played}) == len({match.commitment for match in played}) == 1
    assert {(match.seating, match.state, match.share) for match in played} == {("fixed", "waiting", "ladder:1")}
    assert len({match.duplicates for match in played}) == 1 and len(played[0].duplicates) == 16
    assert [match.is_showcase for match in played] == [True, False, False]
    seated = [[player.name for player in matches.players_of(match)] for match in played]
    assert seated == [
        ["careful", "random", "spoiler"],
        ["spoiler", "careful", "random"],
        ["random", "spoiler", "careful"],
    ]
    assert create_set(house)[0].duplicates != played[0].duplicates


def test_limits_of_a_match_go_to_its_bots_and_peoples_clocks_do_not(house, worker, office):
    create_set(house, limits={"move_s": 2.0, "memory_mb": 64, "person_move_s": 9})
    dispatch.dispatch()
    ((job,),) = office.take("sandbox.play_match")[:1]
    assert (job["limits"]["move_s"], job["limits"]["memory_mb"], job["limits"]["bank_s"]) == (2.0, 64, 20.0)
    assert job["limits"]["wall_s"] == 9.0, "it follows from move_s"
    assert "person_move_s" not in job["limits"]


def test_limit_that_is_none_makes_no_match(house):
    with pytest.raises(ValueError, match="expected a positive number as move_s"):
        create_set(house, limits={"move_s": -1})
    assert not Match.objects.exists()
