"""A ladder's fit: what it reads of the ledger, what it writes for pages, and when it is due."""

from collections.abc import Sequence
from datetime import timedelta
from random import Random

import pytest
from django.utils import timezone

from ladder import fits, tasks
from ladder.models import Entry, Fit, Ladder, RatingChange, Strength, StrengthPoint
from ladder.ratings import rate
from ladder.replay import rerate
from tests.ladder.rows import end, make_entries, make_ladder, make_pairing, make_version, void

pytestmark = pytest.mark.django_db


def play(ladder: Ladder, entries: Sequence[Entry], places: Sequence[int]) -> None:
    """Have one pairing played and rated."""
    pairing, match = make_pairing(ladder, list(entries))
    end(match, list(places))
    assert rate(pairing.pk)


def play_many(ladder: Ladder, entries: Sequence[Entry], count: int, *, seed: int = 1) -> None:
    """Have pairings of two played by lot, in which an earlier entry is ahead of a later one three times out of four."""
    lots = Random(seed)
    for _ in range(count):
        first, second = sorted(lots.sample(range(len(entries)), 2))
        play(ladder, [entries[first], entries[second]], [1, 2] if lots.random() < 0.75 else [2, 1])


def strengths(ladder: Ladder) -> list[float | None]:
    return list(ladder.entries.order_by("pk").values_list("strength", flat=True))


def test_entries_get_their_strength_with_its_interval_and_a_band():
    ladder = make_ladder()
    entries = make_entries(ladder, 3)
    play_many(ladder, entries, 60)
    made = fits.fit_ladder(ladder.pk)
    assert (made.number, made.replays) == (60, 0)
    found = list(ladder.entries.order_by("pk"))
    assert found[0].strength > found[1].strength > found[2].strength
    assert all(30 < one.half_width < 200 for one in found), [one.half_width for one in found]
    assert [one.band for one in found if not one.is_provisional] == sorted(
        one.band for one in found if not one.is_provisional
    )
    assert Strength.objects.filter(ladder=ladder).count() == 3


def test_an_entry_without_pairings_has_no_strength():
    ladder = make_ladder()
    entries = make_entries(ladder, 3)
    play_many(ladder, entries[:2], 10)
    fits.fit_ladder(ladder.pk)
    idle = Entry.objects.get(pk=entries[2].pk)
    assert (idle.strength, idle.band, idle.is_provisional) == (None, None, True)


def test_an_empty_ledger_is_not_fitted():
    ladder = make_ladder()
    make_entries(ladder, 2)
    assert fits.fit_ladder(ladder.pk) is None
    assert fits.due_ladders() == []
    assert not Fit.objects.exists()


def test_a_new_version_begins_at_its_parents_strength_and_less_is_known_of_it():
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    play_many(ladder, entries, 40)
    fits.fit_ladder(ladder.pk)
    before = Entry.objects.get(pk=entries[0].pk)
    version = make_version(entries[0].bot, number=2)
    fits.fit_ladder(ladder.pk)
    after = Entry.objects.get(pk=entries[0].pk)
    assert after.strength == pytest.approx(before.strength, abs=1e-6)
    assert after.half_width > before.half_width + 20
    current = Strength.objects.get(entry=after, is_current=True)
    assert (current.version, current.pairings) == (version, 0)


def test_versions_are_fitted_apart():
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    for _ in range(15):
        play(ladder, entries, [2, 1])
    make_version(entries[0].bot, number=2)
    for _ in range(15):
        pairing, match = make_pairing(ladder, entries)
        match.players.filter(entrant=0).update(version=entries[0].bot.versions.get(number=2))
        pairing.paired_entries.filter(entrant=0).update(version=entries[0].bot.versions.get(number=2))
        end(match, [1, 2])
        rate(pairing.pk)
    fits.fit_ladder(ladder.pk)
    first, second = Strength.objects.filter(entry=entries[0]).order_by("version__number")
    assert (first.version.number, first.pairings, first.is_current) == (1, 15, False)
    assert (second.version.number, second.pairings, second.is_current) == (2, 15, True)
    assert second.strength > first.strength + 100


def test_an_anchor_stays_where_it_is_held():
    ladder = make_ladder()
    entries = make_entries(ladder, 3)
    Entry.objects.filter(pk=entries[1].pk).update(anchor=1700.0)
    play_many(ladder, entries, 30)
    fits.fit_ladder(ladder.pk)
    held = Entry.objects.get(pk=entries[1].pk)
    assert (held.strength, held.half_width) == (1700.0, 0.0)
    assert strengths(ladder)[0] > 1700


def test_a_warm_fit_says_what_a_cold_one_says():
    ladder = make_ladder()
    entries = make_entries(ladder, 4)
    play_many(ladder, entries, 40)
    fits.fit_ladder(ladder.pk)
    play_many(ladder, entries, 10, seed=2)
    fits.fit_ladder(ladder.pk)
    warm = strengths(ladder)
    Fit.objects.all().delete()
    Strength.objects.all().delete()
    fits.fit_ladder(ladder.pk)
    assert strengths(ladder) == pytest.approx(warm, abs=1e-4)


def test_a_fit_is_due_once_something_was_rated_and_the_last_one_is_old_enough():
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    play_many(ladder, entries, 5)
    assert fits.due_ladders() == [ladder.pk]
    made = fits.fit_ladder(ladder.pk)
    Fit.objects.filter(pk=made.pk).update(made_at=timezone.now() - timedelta(seconds=fits.EVERY_S + 1))
    assert fits.due_ladders() == []
    play_many(ladder, entries, 1)
    assert fits.due_ladders() == [ladder.pk]
    Fit.objects.filter(pk=made.pk).update(elapsed_ms=1000)
    assert fits.due_ladders() == []


def test_a_fit_that_is_asked_for_again_and_again_is_made_once():
    ladder = make_ladder()
    play_many(ladder, make_entries(ladder, 2), 5)
    for _ in range(3):
        tasks.fit(ladder.pk)
    (made,) = Fit.objects.all()
    Fit.objects.update(made_at=timezone.now() - timedelta(seconds=fits.EVERY_S + 1), elapsed_ms=100)
    tasks.fit(ladder.pk)
    assert Fit.objects.count() == 2
    Fit.objects.filter(pk__gt=made.pk).delete()
    Fit.objects.update(elapsed_ms=10_000)
    assert not fits.is_rested(ladder.pk)


def test_an_older_fit_does_not_write_over_a_newer_one(monkeypatch):
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    play_many(ladder, entries, 5)
    store = fits._store

    def overtaken(*args, **options):
        monkeypatch.setattr(fits, "_store", store)
        play_many(Ladder.objects.get(pk=ladder.pk), entries, 1, seed=9)
        assert fits.fit_ladder(ladder.pk).number == 6
        return store(*args, **options)

    monkeypatch.setattr(fits, "_store", overtaken)
    assert fits.fit_ladder(ladder.pk) is None
    assert ladder.fits.first().number == 6


def test_what_became_void_is_fitted_no_more():
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    play(ladder, entries, [1, 2])
    play(ladder, entries, [1, 2])
    fits.fit_ladder(ladder.pk)
    before = strengths(ladder)
    void(RatingChange.objects.first().pairing.paired_matches.get().match)
    rerate(ladder)
    fits.fit_ladder(ladder.pk)
    assert strengths(ladder)[0] < before[0]


def test_charts_get_points_as_pairings_grow():
    ladder = make_ladder()
    entries = make_entries(ladder, 2)
    for seed in range(3):
        play_many(ladder, entries, 5, seed=seed)
        fits.fit_ladder(ladder.pk)
        fits.fit_ladder(ladder.pk)
    points = StrengthPoint.objects.filter(entry=entries[0])
    assert list(points.values_list("nth", flat=True)) == [5, 10, 15]


def test_chances_are_those_of_the_fit():
    ladder = make_ladder()
    entries = make_entries(ladder, 3)
    play_many(ladder, entries, 60)
    fits.fit_ladder(ladder.pk)
    ids = [one.pk for one in entries]
    found = fits.chances(ladder, ids)
    assert set(found) == {(one, other) for one in ids for other in ids if one != other}
    assert found[ids[0], ids[1]] + found[ids[1], ids[0]] == pytest.approx(1)
    assert 0.5 < found[ids[0], ids[1]] < found[ids[0], ids[2]] < 1
    assert fits.chances(ladder, ids[:1]) == {}
    first, *others = ladder.entries.order_by("pk")
    alone = fits.chances_against(ladder, first, [first, *others])
    assert alone == {other: pytest.approx(found[other, ids[0]], abs=1e-6) for other in ids[1:]}
