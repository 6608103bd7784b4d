"""What every terminal state of a match counts, each reached through the door that the site has for it."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from games import broker, tables
from games.clocks import Clocks
from games.finish import finish_match, lose_attempt, void_match
from games.live import game_now
from games.models import Match
from ladder import judging, registration
from ladder.history import why_unrated
from ladder.models import Entry, Ladder, PairedMatch, Pairing
from ladder.ratings import rate
from ladder.replay import rerate
from tests.games.conftest import Office
from tests.ladder.play import finish_one
from tests.ladder.rows import lay_pairing, make_entries, make_ladder, make_pairing, make_set, make_user

pytestmark = pytest.mark.django_db


def begin(count: int = 2, **fields) -> tuple[Ladder, list[Entry], Pairing, Match]:
    """A ladder with a pairing of bots of different owners, waiting to be played."""
    ladder = short_ladder(seats=count, **fields)
    entries = [make_entries(ladder, 1, owner=make_user())[0] for _ in range(count)]
    return ladder, entries, *make_pairing(ladder, entries)


def short_ladder(**fields) -> Ladder:
    ladder = make_ladder(**fields)
    ladder.rules = ladder.rules | {"end": "hands", "hands": 1}
    ladder.save()
    return ladder


def rated(pairing: Pairing) -> dict[int, tuple[int, float]]:
    """Rate a pairing, check that it counts, and return place and change by entry."""
    assert rate(pairing.pk)
    pairing.refresh_from_db()
    assert (pairing.state, pairing.why_unrated) == ("rated", "")
    assert rerate(pairing.ladder, check=True).first == []
    return {change.entry_id: (change.place, change.after - change.before) for change in pairing.changes.all()}


def unrated(pairing: Pairing) -> str:
    """Rate a pairing, check that it counts for nothing, and return why."""
    rate(pairing.pk)
    pairing.refresh_from_db()
    assert pairing.state == "unrated" and not pairing.changes.exists()
    assert {entry.rating for entry in pairing.ladder.entries.all()} == {1500.0}
    assert rerate(pairing.ladder, check=True).first == []
    return pairing.why_unrated


def test_finished_is_rated_by_places() -> None:
    _, entries, pairing, match = begin(4)
    finish_one(match)
    places = [match.players.get(entrant=entrant).place for entrant in range(4)]
    counted = rated(pairing)
    assert [counted[entry.pk][0] for entry in entries] == places
    assert len(set(places)) > 1
    by_place = sorted(counted.values())
    assert [change for _, change in by_place] == sorted((change for _, change in by_place), reverse=True)


def test_fault_is_last_and_rated() -> None:
    _, entries, pairing, match = begin(3)
    finish_one(match, faulty={1: "crash"})
    counted = rated(pairing)
    assert counted[entries[1].pk][0] == 3 and counted[entries[1].pk][1] < 0


@pytest.fixture
def office(monkeypatch: pytest.MonkeyPatch) -> Office:
    office = Office()
    monkeypatch.setattr(broker, "send", office.send)
    return office


@pytest.fixture
def at_table(transactional_db: None, office: Office) -> Callable[[], tuple[list[Entry], Pairing, Match]]:
    """Have three people meet at a ladder's table, its first hand dealt."""

    def at_table() -> tuple[list[Entry], Pairing, Match]:
        # Through its module: pytest looks at what a test module imports, which would connect a cache too early.
        tables.cache.set(tables.SWEPT_KEY, timezone.now(), timeout=None)
        ladder = short_ladder(seats=3, entrants="people")
        people = [make_user() for _ in range(3)]
        entries = [Entry.objects.create(ladder=ladder, user=one, rating=1500.0) for one in people]
        pairing = lay_pairing(ladder, entries)
        match = tables.open_ranked(
            entrants=[{"user": one} for one in people], rules=ladder.rules, clocks=Clocks(move_s=60, bank_s=300)
        )
        PairedMatch.objects.create(pairing=pairing, match=match, ladder=ladder)
        office.deliver()
        match.refresh_from_db()
        assert match.state == "playing"
        return entries, pairing, match

    return at_table


def play_on(match: Match, office: Office) -> None:
    """Have those who still play take what comes, until the table has ended."""
    for _ in range(400):
        match.refresh_from_db()
        if match.state != "playing":
            return
        game = game_now(match)
        legal = game.legal()
        move = next((move for move in legal if move.endswith("!") or move == "show"), legal[0])
        assert tables.decide(match, game.decision.seat, id=game.decision.id, move=move)
        office.deliver()
    raise AssertionError("expected the table to end within 400 decisions")


def entry_at(match: Match, seat: int) -> int:
    return Entry.objects.get(user=match.players.get(seat=seat).user_id).pk


def test_resigned_is_last_and_rated(at_table, office: Office) -> None:
    _, pairing, match = at_table()
    seat = game_now(match).decision.seat
    tables.resign(match, seat)
    office.deliver()
    play_on(match, office)
    counted = rated(pairing)
    assert counted[entry_at(match, seat)][0] == 3 and counted[entry_at(match, seat)][1] < 0


def test_whose_time_is_over_has_left_is_last_and_rated(at_table, office: Office) -> None:
    _, pairing, match = at_table()
    seat = game_now(match).decision.seat
    passed = timedelta(seconds=400)
    Match.objects.filter(pk=match.pk).update(moved_at=F("moved_at") - passed, deadline_at=F("deadline_at") - passed)
    assert tables.enforce_clocks() == 1
    office.deliver()
    play_on(match, office)
    assert match.players.get(seat=seat).fault == "left"
    counted = rated(pairing)
    assert counted[entry_at(match, seat)][0] == 3 and counted[entry_at(match, seat)][1] < 0


def test_who_never_came_has_left_like_one_who_went(at_table, office: Office) -> None:
    """Two of three never move: what is left is rated as soon as one alone plays on."""
    _, pairing, match = at_table()
    for _ in range(2):
        passed = timedelta(seconds=400)
        Match.objects.filter(pk=match.pk).update(moved_at=F("moved_at") - passed, deadline_at=F("deadline_at") - passed)
        assert tables.enforce_clocks() == 1
        office.deliver()
    play_on(match, office)
    counted = rated(pairing)
    [stayed] = [player for player in match.players.all() if not player.fault]
    assert counted[entry_at(match, stayed.seat)][0] == 1
    assert sorted(place for place, _ in counted.values())[0] == 1


def lose_it(match: Match) -> None:
    for _ in range(3):
        Match.objects.filter(pk=match.pk).update(state="playing", attempt=F("attempt") + 1)
        match.refresh_from_db()
        assert lose_attempt(match.pk, match.attempt, what="failed", detail="our worker broke")


def void_it(match: Match) -> None:
    assert void_match(match.pk, "operator")


def delete_a_version(match: Match) -> None:
    """What finish does when a bot that should have played is gone."""
    Match.objects.filter(pk=match.pk).update(state="playing", attempt=1)
    match.players.filter(entrant=0).update(version=None)
    assert not finish_match(match.pk, 1, {})


@pytest.mark.parametrize(
    ("abort", "sentence"),
    [
        pytest.param(lose_it, "lost through our fault", id="lost-by-us"),
        pytest.param(void_it, "an organiser declared", id="by-an-operator"),
        pytest.param(delete_a_version, "was deleted", id="bot-gone"),
    ],
)
def test_void_counts_for_nothing_and_the_page_says_why(client, abort, sentence: str) -> None:
    _, _, pairing, match = begin()
    abort(match)
    match.refresh_from_db()
    assert match.state == "void"
    assert unrated(pairing) == "void"
    assert sentence in client.get(f"/matches/{match.code}/").content.decode()


def test_set_of_which_one_match_is_void_counts_for_nothing() -> None:
    ladder = short_ladder(unit="set")
    entries = [make_entries(ladder, 1, owner=make_user())[0] for _ in range(2)]
    pairing, matches = make_set(ladder, entries)
    finish_one(matches[0])
    assert not rate(pairing.pk)
    void_it(matches[1])
    assert unrated(pairing) == "void"


def test_finished_match_that_is_voided_later_counts_for_nothing(client) -> None:
    ladder, _, pairing, match = begin()
    finish_one(match)
    rated(pairing)
    judging.apply(ladder, judging.VoidMatch(match), None, "the wrong rules")
    assert unrated(pairing) == "void"
    page = client.get(f"/matches/{match.code}/").content.decode()
    assert "an organiser declared the match void" in page and "An organiser declared it void" in page
    assert "The reason given: the wrong rules" in page
    # Whoever voids on the operators' own pages gives none.
    ladder.events.all().delete()
    page = client.get(f"/matches/{match.code}/").content.decode()
    assert "An organiser declared it void" in page and "The reason given" not in page


@pytest.mark.parametrize(("detail", "shown"), [("", "in hand 1</span>"), ("too slow", "in hand 1: too slow</span>")])
def test_fault_without_a_detail_ends_without_a_colon(client, detail: str, shown: str) -> None:
    match = begin()[3]
    finish_one(match)
    fault = {"seat": 0, "kind": "resigned", "hand": 1, "turn": 3, "detail": detail}
    Match.objects.filter(pk=match.pk).update(faults=[fault])
    assert shown in client.get(f"/matches/{match.code}/").content.decode()


def test_organiser_goes_from_a_match_to_what_it_would_change_if_it_were_void(client) -> None:
    ladder, entries, _, match = begin(owner=make_user())
    finish_one(match)
    where, there = f"/matches/{match.code}/", f"/ladders/{ladder.slug}/judge/?deed=void&amp;match={match.code}"
    assert there not in client.get(where).content.decode()
    client.force_login(entries[0].bot.owner)
    assert there not in client.get(where).content.decode()
    client.force_login(ladder.owner)
    assert there in client.get(where).content.decode()
    judging.apply(ladder, judging.VoidMatch(match), ladder.owner, "the wrong rules")
    assert there not in client.get(where).content.decode()


def test_who_withdraws_in_the_middle_is_rated_when_it_ends() -> None:
    _, entries, pairing, match = begin()
    registration.withdraw(entries[0].bot.owner, entries[0])
    finish_one(match)
    assert set(rated(pairing)) == {entry.pk for entry in entries}
    assert Entry.objects.get(pk=entries[0].pk).state == "withdrawn"


def test_who_is_disqualified_later_counts_for_nothing_and_may_count_again(client) -> None:
    ladder, entries, pairing, match = begin(3)
    finish_one(match)
    before = rated(pairing)
    judging.apply(ladder, judging.Disqualify(entries[0]), None, "two accounts")
    assert unrated(pairing) == "disqualified"
    assert "was disqualified" in client.get(f"/matches/{match.code}/").content.decode()
    judging.apply(ladder, judging.Reinstate(entries[0]), None, "they were sisters")
    pairing.refresh_from_db()
    assert {one.entry_id: (one.place, one.after - one.before) for one in pairing.changes.all()} == before


def test_entries_of_one_owner_are_never_rated(client) -> None:
    ladder = short_ladder()
    owner = make_user()
    pairing, match = make_pairing(ladder, make_entries(ladder, 2, owner=owner))
    finish_one(match)
    assert unrated(pairing) == "one_owner"
    assert "entries of one owner" in client.get(f"/matches/{match.code}/").content.decode()


def test_person_and_her_own_bot_are_of_one_owner() -> None:
    ladder = short_ladder(entrants="both")
    owner = make_user()
    entries = make_entries(ladder, 1, owner=owner) + [Entry.objects.create(ladder=ladder, user=owner, rating=1500.0)]
    pairing = lay_pairing(ladder, entries)
    other, match = make_pairing(ladder, make_entries(ladder, 2))
    PairedMatch.objects.filter(match=match).update(pairing=pairing)
    other.delete()
    finish_one(match)
    assert unrated(pairing) == "one_owner"


def test_every_reason_for_a_void_match_has_a_sentence_of_its_own() -> None:
    hows = ("", "platform", "operator", "gone", "idle", "given_up", "set", "season")
    assert len({why_unrated("void", how=how) for how in hows} | {why_unrated("")}) == len(hows) + 1
