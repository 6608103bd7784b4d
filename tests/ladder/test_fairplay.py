"""What looks odd: found, not found by chance, written down, decided once; and nobody is punished."""

import html
import random
import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from ladder import fairplay, tasks
from ladder.fairplay import forget_addresses, note_address, review, sentence
from ladder.models import Entry, EntryAddress, Flag, Ladder, Meeting, Pairing, RatingChange
from ladder.oddities import LEVEL, Row, Sums, oddities, tally
from tests.bench.bench_fairplay import CHEATS, flags
from tests.ladder.rows import make_entries, make_ladder, make_user, play


def test_honest_ladders_do_not_look_odd() -> None:
    """At three levels of one in a hundred, of eight ladders a fifth of one may; with these seeds none does."""
    sizes = {"entries": 9, "pairings": 500, "seats": 4}
    assert [flags(random.Random(f"honest/{number}"), **sizes) for number in range(8)] == [[]] * 8
    assert LEVEL * 3 < 0.05


@pytest.mark.parametrize(("kind", "cheat"), [pytest.param(kind, cheat, id=kind) for _, kind, cheat in CHEATS])
def test_dishonest_pair_is_found_and_nobody_else_of_that_kind(kind: str, cheat) -> None:
    found = flags(random.Random("dishonest"), cheat=cheat, entries=12, pairings=900, seats=4)
    assert {frozenset((one.entry, one.other)) for one in found if one.kind == kind} == {frozenset((0, 1))}


def tables(count: int, *rows: Row) -> list[list[Row]]:
    return [list(rows)] * count


def test_margin_that_depends_on_a_third_party_is_found() -> None:
    a, b = Row(1, 1500.0, 1), Row(2, 1500.0, 2)
    level = [
        [Row(1, 1500.0, place), Row(2, 1500.0, 3 - place), Row(third, 1500.0, 3)]
        for third in (4, 5)
        for place in (1, 2)
    ]
    odd = oddities(tally([*tables(40, a, b, Row(3, 1500.0, 3)), *level * 20], _own()))
    [found] = [one for one in odd if one.kind == "margin"]
    assert (found.entry, found.other, found.third, found.meetings) == (1, 2, 3, 40)
    assert found.gap == pytest.approx(0.5) and found.z > found.limit


def _own() -> dict[int, int | None]:
    """Everybody is his own owner."""
    return {entry: 100 + entry for entry in range(1, 6)}


def test_few_meetings_are_never_odd() -> None:
    a, b, c = Row(1, 1500.0, 1), Row(2, 1500.0, 2), Row(3, 1500.0, 3)
    assert oddities(tally(tables(19, a, b, c), _own())) == []


def test_house_bots_are_not_suspected_of_taking_losses() -> None:
    log = losses_log()
    assert [one.kind for one in oddities(tally(log, _own()))] == ["losses"]
    assert oddities(tally(log, _own() | {1: None})) == []


def losses_log() -> list[list[Row]]:
    """2 always loses to 1; elsewhere both win as often as they lose."""
    log = tables(60, Row(1, 1500.0, 1), Row(2, 1500.0, 2))
    for place in (1, 2):
        log += tables(30, Row(1, 1500.0, place), Row(3, 1500.0, 3 - place))
        log += tables(30, Row(2, 1500.0, place), Row(4, 1500.0, 3 - place))
    return log


def test_who_is_merely_rated_wrong_is_not_odd() -> None:
    """1 beats everybody alike: a matter for its rating, not for a person."""
    log = [table for other in (2, 3, 4) for table in tables(60, Row(1, 1500.0, 1), Row(other, 1500.0, 2))]
    for one, other in ((2, 3), (3, 4), (2, 4)):
        for place in (1, 2):
            log += tables(30, Row(one, 1500.0, place), Row(other, 1500.0, 3 - place))
    assert oddities(tally(log, _own())) == []


def test_sums_bound_the_variance_of_a_mean() -> None:
    sums = Sums()
    for residual in (0.5, -0.5, 0.5, 0.5):
        sums.add(residual, 0.5)
    assert (sums.n, sums.mean, sums.error2) == (4, 0.25, 0.0625)
    assert sums.without(Sums(1, 0.5, 0.25)) == Sums(3, 0.5, 0.75)


# With rows


def make_log(log: list[list[Row]], names: dict[int, Entry]) -> None:
    """Write a log into a ledger, of entries that are not new."""
    ladder = next(iter(names.values())).ladder
    held = ladder.held_rounds.create(number=1)
    first = ladder.rated + 1
    pairings = Pairing.objects.bulk_create(
        Pairing(round=held, ladder=ladder, state="rated", number=first + i, rated_at=timezone.now())
        for i in range(len(log))
    )
    RatingChange.objects.bulk_create(
        RatingChange(
            ladder=ladder, entry=names[row.entry], pairing=pairing, number=pairing.number, nth=100 + pairing.number,
            place=row.place, k=20, before=row.rating, after=row.rating,
        )
        for pairing, table in zip(pairings, log, strict=True)
        for row in table
    )  # fmt: skip
    Ladder.objects.filter(pk=ladder.pk).update(rated=first + len(log) - 1)


@pytest.fixture
def rivals(db: None) -> dict[int, Entry]:
    """Four entries of four owners, of which 2 always loses to 1."""
    ladder = make_ladder()
    entries = {number: make_entries(ladder, 1, owner=make_user())[0] for number in range(1, 5)}
    make_log(losses_log(), entries)
    return entries


def look(entries: dict[int, Entry]) -> list[Flag]:
    return review(Ladder.objects.get(pk=entries[1].ladder_id))


def test_review_writes_a_flag_that_says_what_is_odd_and_changes_nothing_else(rivals) -> None:
    before = list(Entry.objects.order_by("pk").values_list()), list(RatingChange.objects.values_list())
    [flag] = look(rivals)
    assert (flag.kind, flag.entry, flag.other, flag.is_open) == ("losses", rivals[2], rivals[1], True)
    assert flag.evidence["meetings"] == 60 and flag.evidence["z"] > flag.evidence["limit"]
    assert f"{rivals[2].name} lost 50 points in a hundred more to the account of {rivals[1].name}" in sentence(flag)
    assert (list(Entry.objects.order_by("pk").values_list()), list(RatingChange.objects.values_list())) == before


def test_flag_that_is_found_again_is_brought_up_to_date(rivals) -> None:
    [flag] = look(rivals)
    Flag.objects.update(evidence={"weight": 1.0}, seen_at=timezone.now() - timedelta(days=1))
    [again] = look(rivals)
    assert again.pk == flag.pk and Flag.objects.count() == 1
    assert again.evidence == flag.evidence and again.seen_at > timezone.now() - timedelta(hours=1)


def test_decided_flag_stays_decided_until_the_evidence_has_doubled(rivals) -> None:
    [flag] = look(rivals)
    judge = make_user()
    decided = {"is_open": False, "decided_by": judge, "decision": "they are sisters"}
    Flag.objects.filter(pk=flag.pk).update(**decided)
    assert look(rivals) == []
    flag.refresh_from_db()
    assert (flag.is_open, flag.decided_by, flag.decision) == (False, judge, "they are sisters")
    Flag.objects.filter(pk=flag.pk).update(evidence={"weight": flag.evidence["weight"] / 2})
    [reopened] = look(rivals)
    assert reopened.pk == flag.pk and reopened.evidence["decided"] == "they are sisters"
    assert (reopened.is_open, reopened.decided_by, reopened.decision) == (True, None, "")


def test_flag_leads_to_the_results_that_it_is_about_and_is_closed_by_a_decision(by_ada: Client, ada) -> None:
    ladder = make_ladder(owner=ada)
    entries = make_entries(ladder, 3)
    made = {"evidence": {"meetings": 1, "addresses": 1}, "seen_at": timezone.now()}
    Flag.objects.create(ladder=ladder, kind="address", entry=entries[0], other=entries[2], **made)
    pairing = play(ladder, [entries[2], entries[0]], [1, 2])
    play(ladder, [entries[2], entries[1]], [1, 2])
    page = by_ada.get(f"/ladders/{ladder.slug}/manage/").content.decode()
    [link] = re.findall(r'href="(/matches/[^"]*)"', page[page.index('id="flags"') :])
    shown = Client().get(html.unescape(link))
    assert [row.id for row in shown.context["matches"].rows] == [f"pairing-{pairing.pk}"]
    assert link in Client().get(f"/ladders/{ladder.slug}/entries/{entries[0].pk}/").content.decode()
    assert f"Rated results of {entries[0].name} and {entries[2].name}" in shown.content.decode()
    assert ">Close with this decision</button>" in page
    said = by_ada.post(f"/ladders/{ladder.slug}/flags/{Flag.objects.get().pk}/", {"decision": "sisters"}, follow=True)
    assert "Your decision is kept." in said.content.decode() and link not in said.content.decode()


def test_new_entries_are_not_looked_at(rivals) -> None:
    first = RatingChange.objects.filter(entry=rivals[2]).order_by("number")[: fairplay.NEW_FOR]
    for nth, change in enumerate(first, 1):
        RatingChange.objects.filter(pk=change.pk).update(nth=nth)
    [flag] = look(rivals)
    assert flag.evidence["meetings"] == 40


def test_address_is_kept_as_a_digest_alone(rivals, settings) -> None:
    note_address(rivals[1], "203.0.113.7")
    note_address(rivals[1], "203.0.113.7")
    note_address(rivals[1], "::ffff:203.0.113.7")
    [row] = EntryAddress.objects.all()
    assert len(bytes.fromhex(row.digest)) == 32
    settings.SECRET_KEY = "another site's"
    note_address(rivals[1], "203.0.113.7")
    assert EntryAddress.objects.count() == 2


def test_addresses_of_one_network_are_one(rivals) -> None:
    note_address(rivals[1], "2001:db8:1:2:3:4:5:6")
    note_address(rivals[1], "2001:db8:1:2::1")
    assert EntryAddress.objects.count() == 1
    note_address(rivals[1], "2001:db8:1:3::1")
    assert EntryAddress.objects.count() == 2


def test_what_is_no_address_tells_nothing(rivals) -> None:
    note_address(rivals[1], "somewhere")
    assert not EntryAddress.objects.exists()


def test_addresses_are_forgotten_after_ninety_days(rivals) -> None:
    note_address(rivals[1], "203.0.113.7")
    EntryAddress.objects.update(seen_at=timezone.now() - timedelta(days=89))
    note_address(rivals[2], "203.0.113.8")
    assert forget_addresses() == 0
    EntryAddress.objects.filter(entry=rivals[1]).update(seen_at=timezone.now() - timedelta(days=91))
    assert forget_addresses() == 1


def test_shared_address_at_one_table_is_flagged(rivals) -> None:
    for entry in (rivals[3], rivals[4], rivals[1]):
        note_address(entry, "203.0.113.7")
    Meeting.objects.create(ladder=rivals[1].ladder, entry=rivals[3], other=rivals[4], pairings=7)
    found = [flag for flag in look(rivals) if flag.kind == "address"]
    assert [(flag.entry, flag.other, flag.evidence["meetings"]) for flag in found] == [(rivals[3], rivals[4], 7)]
    assert "came from one address, and met at 7 tables" in sentence(found[0])


def test_shared_address_of_one_owner_is_not(rivals) -> None:
    ladder = rivals[1].ladder
    one, other = make_entries(ladder, 2, owner=make_user())
    Meeting.objects.create(ladder=ladder, entry=one, other=other, pairings=7)
    for entry in (one, other):
        note_address(entry, "203.0.113.7")
    assert [flag for flag in look(rivals) if flag.kind == "address"] == []


def test_daily_task_looks_at_every_ladder_that_goes_on(rivals, monkeypatch) -> None:
    monkeypatch.setattr(tasks.review, "apply_async", lambda args, **_: tasks.review.apply(args))
    note_address(rivals[1], "203.0.113.7")
    EntryAddress.objects.update(seen_at=timezone.now() - timedelta(days=91))
    Ladder.objects.update(state="closed")
    tasks.review_all()
    assert not Flag.objects.exists() and not EntryAddress.objects.exists()
    Ladder.objects.update(state="running")
    tasks.review_all()
    assert Flag.objects.get().kind == "losses"


def test_fairplay_command_prints_what_is_to_be_decided(rivals) -> None:
    out = StringIO()
    call_command("fairplay", rivals[1].ladder.slug, stdout=out)
    assert rivals[2].name in out.getvalue() and "1 to be decided" in out.getvalue()
