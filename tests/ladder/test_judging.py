"""A judged ladder: previewed, replayed, on record; and what is refused."""

import re
from functools import partial
from io import StringIO

import pytest
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command
from tqdm import tqdm

from games.models import Match
from ladder import judging, log
from ladder.judging import ChangeCap, ChangeK, Disqualify, NotJudged, Reinstate, VoidMatch
from ladder.management.commands import judge
from ladder.models import Entry, Ladder, LadderEvent, Meeting, Pairing, RatingChange
from ladder.ratings import rate
from ladder.replay import rerate
from tests.ladder.rows import end, make_entries, make_ladder, make_pairing, make_user, play, ratings

pytestmark = pytest.mark.django_db
WHY = "the organiser says so"


def match_of(pairing: Pairing) -> Match:
    return pairing.paired_matches.get().match


def everything() -> list:
    """All that a deed may change, to the last bit."""
    models = (Ladder, Entry, Pairing, RatingChange, Meeting, LadderEvent, Match)
    return [list(model.objects.order_by("pk").values_list()) for model in models]


def ledger(ladder: Ladder) -> list:
    """The ledger's rows in its order, to the last bit, whichever keys they have."""
    fields = ("entry", "version", "seat", "nth", "place", "k", "before", "after", "capped", "rated_at")
    return list(RatingChange.objects.filter(ladder=ladder).order_by("number", "entry").values_list("pairing", *fields))


def story(without: int | None = None) -> tuple[Ladder, list[Entry], list[Pairing]]:
    """Five pairings of three entries, the first two played twice; or the same without one of them."""
    ladder = make_ladder(settled_after=2)
    a, b, c = entries = make_entries(ladder, 3)
    tables = [([a, b], [1, 2]), ([b, c], [1, 1]), ([a, c], [2, 1]), ([a, b], [1, 2]), ([b, c], [1, 2])]
    return ladder, entries, [play(ladder, *table) for i, table in enumerate(tables) if i != without]


def test_void_rates_what_follows_as_if_the_match_had_never_been() -> None:
    ladder, entries, pairings = story()
    _, others, _ = story(without=1)
    verdict = judging.apply(ladder, VoidMatch(match_of(pairings[1])), None, WHY)
    assert ratings(entries) == ratings(others)
    assert [one.pairings for one in ladder.entries.order_by("pk")] == [3, 3, 2]
    pairings[1].refresh_from_db()
    assert (pairings[1].state, pairings[1].why_unrated, pairings[1].number) == ("unrated", "void", 2)
    assert (match_of(pairings[1]).state, match_of(pairings[1]).how) == ("void", "operator")
    assert rerate(ladder, check=True).first == []
    assert verdict.pairings == 1
    play(ladder, entries[:2], [1, 2])
    assert rerate(ladder, check=True).first == []


def test_preview_tells_what_apply_then_does_and_changes_nothing() -> None:
    ladder, _, pairings = story()
    deed, before = VoidMatch(match_of(pairings[0])), everything()
    told = judging.preview(ladder, deed)
    assert everything() == before
    assert judging.apply(ladder, deed, None, WHY) == told
    assert {one.entry.pk: one.after for one in told.moved} == dict(ladder.entries.values_list("pk", "rating"))
    assert told.changed == 3 and told.largest == max(abs(one.after - one.before) for one in told.moved)


def test_preview_tells_ranks_before_and_after() -> None:
    ladder = make_ladder()
    a, b = make_entries(ladder, 2)
    pairing = play(ladder, [a, b], [1, 2])
    told = judging.preview(ladder, VoidMatch(match_of(pairing)))
    assert [(one.entry, one.before, one.after, one.rank_before, one.rank_after) for one in told.moved] == [
        (a, 1520.0, 1500.0, 1, 1),
        (b, 1480.0, 1500.0, 2, 1),
    ]


def test_void_of_a_running_match_leaves_its_pairing_unrated() -> None:
    ladder, entries, _ = story()
    pairing, match = make_pairing(ladder, entries[:2])
    before = ratings(entries)
    assert judging.apply(ladder, VoidMatch(match), None, WHY).changed == 0
    assert rate(pairing.pk)
    pairing.refresh_from_db()
    assert (pairing.state, pairing.why_unrated) == ("unrated", "void")
    assert ratings(entries) == before


def test_disqualified_entry_leaves_no_trace_in_the_ratings_and_comes_back_to_the_last_bit() -> None:
    ladder, (a, b, c), pairings = story()
    before = ledger(ladder)
    figures = list(ladder.entries.order_by("pk").values_list())
    judging.apply(ladder, Disqualify(c), None, WHY)
    only = make_ladder(settled_after=2)
    twins = make_entries(only, 2)
    for _ in range(2):
        play(only, twins, [1, 2])
    assert ratings([a, b]) == ratings(twins) and ratings([c]) == [1500.0]
    states = list(Pairing.objects.filter(ladder=ladder).order_by("pk").values_list("state", "why_unrated", "number"))
    gone = "unrated", "disqualified"
    assert states == [("rated", "", 1), (*gone, 2), (*gone, 3), ("rated", "", 4), (*gone, 5)]
    assert list(Meeting.objects.filter(ladder=ladder).values_list("entry", "other")) == [(a.pk, b.pk)]
    assert rerate(ladder, check=True).first == []
    judging.apply(ladder, Reinstate(c), None, WHY)
    assert ledger(ladder) == before
    assert list(ladder.entries.order_by("pk").values_list()) == figures
    assert rerate(ladder, check=True).first == []


def test_what_a_disqualified_entry_still_plays_counts_once_it_is_reinstated() -> None:
    ladder, (a, b, c), _ = story()
    pairing, match = make_pairing(ladder, [a, c])
    judging.apply(ladder, Disqualify(c), None, WHY)
    end(match, [1, 2])
    assert rate(pairing.pk)
    pairing.refresh_from_db()
    assert (pairing.state, pairing.why_unrated, pairing.number) == ("unrated", "disqualified", 6)
    judging.apply(ladder, Reinstate(c), None, WHY)
    pairing.refresh_from_db()
    assert (pairing.state, pairing.why_unrated) == ("rated", "")
    assert a.changes.filter(pairing=pairing).exists()
    assert rerate(ladder, check=True).first == []


@pytest.mark.parametrize("state", ["active", "paused", "withdrawn"])
def test_reinstated_entry_is_what_it_was(state: str) -> None:
    ladder, (a, _, _), _ = story()
    Entry.objects.filter(pk=a.pk).update(state=state)
    judging.apply(ladder, Disqualify(a), None, WHY)
    judging.apply(ladder, Reinstate(a), None, WHY)
    assert Entry.objects.get(pk=a.pk).state == state


def test_changed_k_counts_from_the_first_pairing_on() -> None:
    ladder, _, _ = story()
    judging.apply(ladder, ChangeK(60, 10, 1), None, WHY)
    assert list(RatingChange.objects.order_by("number", "entry").values_list("k", flat=True)) == [
        60, 60, 10, 60, 10, 10, 10, 10, 10, 10,
    ]  # fmt: skip
    first = RatingChange.objects.order_by("number", "entry").first()
    assert first.after == 1530.0
    assert rerate(ladder, check=True).first == []


def test_changed_cap_counts_from_the_first_pairing_on() -> None:
    ladder = make_ladder(daily_cap=None)
    one, other = make_entries(ladder, 1, owner=make_user()) + make_entries(ladder, 1, owner=make_user())
    for _ in range(3):
        play(ladder, [one, other], [1, 2])
    free = ratings([one, other])
    judging.apply(ladder, ChangeCap(25), None, WHY)
    assert ratings([one, other]) == [1525.0, 1475.0]
    assert rerate(ladder, check=True).first == []
    judging.apply(ladder, ChangeCap(None), None, WHY)
    assert ratings([one, other]) == free and not ladder.balances.exists()


def test_applied_deed_is_on_record_with_who_why_and_effect() -> None:
    ladder, _, pairings = story()
    operator = make_user("operator")
    operator.is_staff = operator.is_superuser = True
    operator.save()
    verdict = judging.apply(ladder, VoidMatch(match_of(pairings[0])), operator, "  a power cut  ")
    event = ladder.events.get()
    assert (event.by, event.what, event.subject) == (operator, "voided", match_of(pairings[0]).code)
    assert event.reason == "a power cut"
    assert event.effect == {
        "match": match_of(pairings[0]).code, "changed": 3, "largest": verdict.largest, "pairings": 1,
    }  # fmt: skip
    assert Ladder.objects.get(pk=ladder.pk).replays == 1


def refused_deeds(ladder: Ladder, entries: list[Entry], pairings: list[Pairing]):
    other = make_ladder()
    voided = match_of(pairings[0])
    judging.apply(ladder, VoidMatch(voided), None, WHY)
    judging.apply(ladder, Disqualify(entries[2]), None, WHY)
    stranger, elsewhere = make_entries(other, 2)
    return [
        (VoidMatch(make_pairing(other, [stranger, elsewhere])[1]), "is none of"),
        (VoidMatch(voided), "is void already"),
        (Disqualify(stranger), "is not in"),
        (Disqualify(entries[2]), "is disqualified already"),
        (Reinstate(entries[0]), "is not disqualified"),
        (Reinstate(stranger), "is not in"),
        (ChangeK(0.5, 20), "K must be from 1 to 200: 0.5"),
        (ChangeK(40, 201), "K must be from 1 to 200: 201"),
        (ChangeK(float("nan"), 20), "K must be from 1 to 200"),
        (ChangeK(40, 20, 100_000), "0 to 1000 pairings"),
        (ChangeK(40, 20), "counts already"),
        (ChangeCap(0), "from 1 to 1000"),
        (ChangeCap(100), "counts already"),
    ]


def test_bad_deeds_are_refused_with_a_sentence_and_change_nothing() -> None:
    ladder, entries, pairings = story()
    deeds = refused_deeds(ladder, entries, pairings)
    before = everything()
    for deed, sentence in deeds:
        for call in (lambda d=deed: judging.preview(ladder, d), lambda d=deed: judging.apply(ladder, d, None, WHY)):
            with pytest.raises(NotJudged, match=sentence):
                call()
    assert everything() == before


@pytest.mark.parametrize("reason", ["", "   ", "x" * 281])
def test_deed_without_a_reason_that_people_can_read_is_refused(reason: str) -> None:
    ladder, entries, _ = story()
    with pytest.raises(NotJudged, match="Say why"):
        judging.apply(ladder, Disqualify(entries[0]), None, reason)


def test_owner_judges_his_ladder_until_it_is_closed_and_others_never() -> None:
    owner, other = make_user(), make_user()
    ladder, entries, _ = story()
    ladder.owner = owner
    ladder.save()
    with pytest.raises(PermissionDenied):
        judging.apply(ladder, Disqualify(entries[0]), other, WHY)
    judging.apply(ladder, Disqualify(entries[0]), owner, WHY)
    ladder.state = Ladder.State.CLOSED
    ladder.save()
    with pytest.raises(NotJudged, match="is closed"):
        judging.apply(ladder, Reinstate(entries[0]), owner, WHY)
    judging.apply(ladder, Reinstate(entries[0]), None, WHY)
    # Its final ranks follow.
    ranks = list(ladder.entries.order_by("final_rank").values_list("final_rank", flat=True))
    assert ranks[0] == 1 and None not in ranks


def test_judge_command_previews_and_then_applies() -> None:
    ladder, entries, pairings = story()
    before, out = everything(), StringIO()
    call_command("judge", ladder.slug, "void", match_of(pairings[0]).code, stdout=out)
    assert everything() == before
    assert entries[0].name in out.getvalue() and "1 of 5 pairings are counted otherwise" in out.getvalue()
    call_command("judge", ladder.slug, "void", match_of(pairings[0]).code, "--apply", "--reason", WHY, stdout=out)
    assert ladder.events.get().reason == WHY
    call_command("judge", ladder.slug, "disqualify", entries[0].bot.slug, "--apply", "--reason", WHY, stdout=out)
    call_command("judge", ladder.slug, "reinstate", entries[0].name, "--apply", "--reason", WHY, stdout=out)
    call_command("judge", ladder.slug, "k", "30", "15", "--settled-after", "5", "--apply", "--reason", WHY, stdout=out)
    call_command("judge", ladder.slug, "cap", "none", "--apply", "--reason", WHY, stdout=out)
    ladder.refresh_from_db()
    assert (ladder.k_new, ladder.k_settled, ladder.settled_after, ladder.daily_cap) == (30, 15, 5, None)
    assert rerate(ladder, check=True).first == []


class Terminal(StringIO):
    """What a command shows to somebody who sits there."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("does", [[], ["--apply", "--reason", WHY]], ids=["preview", "apply"])
def test_judge_command_shows_on_a_terminal_how_far_it_is(monkeypatch: pytest.MonkeyPatch, does: list[str]) -> None:
    ladder, _entries, _pairings = story()
    monkeypatch.setattr(log, "PIECE", 2)
    # It would not draw anew within a tenth of a second.
    monkeypatch.setattr(judge, "tqdm", partial(tqdm, mininterval=0, miniters=1))
    shown, piped = Terminal(), StringIO()
    for stderr in (piped, shown):
        monkeypatch.setattr("sys.stderr", stderr)
        call_command("judge", ladder.slug, "k", "30", str(15 + (stderr is shown)), *does, stdout=StringIO())
    drawn = dict.fromkeys(re.findall(r"\d/\d", shown.getvalue()))
    assert list(drawn) == ["0/5", "2/5", "4/5", "5/5"] and piped.getvalue() == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(["void", "nothing"], "code of a match", id="no-match"),
        pytest.param(["disqualify", "nobody"], "name of one entry", id="no-entry"),
        pytest.param(["k", "0", "10"], "K must be", id="k"),
        pytest.param(["cap", "much"], "points, or none", id="cap"),
    ],
)
def test_judge_command_refuses(arguments: list[str], sentence: str) -> None:
    ladder = make_ladder()
    with pytest.raises(CommandError, match=sentence):
        call_command("judge", ladder.slug, *arguments, stdout=StringIO())
