"""A ladder with a long log is judged in the background: progress, the same verdict, once, and by whom it may be."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import caches
from django.db import transaction
from django.test import Client
from django.utils import timezone

from games.models import Finding
from ladder import judgements, judging, log, tasks
from ladder.judgements import Overtaken, pack, unpack
from ladder.judging import ChangeCap, ChangeK, Deed, Disqualify, NotJudged, Reinstate, VoidMatch
from ladder.models import Entry, Judgement, Ladder, LadderEvent, Meeting, Pairing
from soureh_site.accounts.models import User
from tests.ladder.rows import make_user
from tests.ladder.test_judging import WHY, everything, ledger, match_of, story

pytestmark = pytest.mark.django_db
LONG_AGO = timezone.now() - timedelta(hours=1)


@pytest.fixture(autouse=True)
def _every_log_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of three is long, and its progress told after every pairing."""
    monkeypatch.setattr(judgements, "IN_REQUEST", 2)
    monkeypatch.setattr(judgements, "TELL_S", 0.0)
    monkeypatch.setattr(log, "PIECE", 1)


@pytest.fixture
def played(ada: User) -> tuple[Ladder, list[Entry], list[Pairing]]:
    """Ada's ladder, with a log of five."""
    ladder, entries, pairings = story()
    Ladder.objects.filter(pk=ladder.pk).update(owner=ada)
    ladder.refresh_from_db()
    return ladder, entries, pairings


def asked(ladder: Ladder, deed: Deed, by: Any, reason: str | None = None) -> Judgement:
    judgement = judgements.ask(ladder, deed, by, reason)
    assert judgement is not None
    return judgement


def rows(ladder: Ladder) -> list:
    """What a deed leaves behind, to the last bit, but for keys and times that are new each time."""
    whole = [list(model.objects.order_by("pk").values_list()) for model in (Ladder, Entry, Pairing, Meeting)]
    told = list(LadderEvent.objects.order_by("pk").values_list("by", "what", "subject", "reason", "effect"))
    return [*whole, told, ledger(ladder)]


def deeds(entries: list[Entry], pairings: list[Pairing]) -> list[Deed]:
    return [VoidMatch(match_of(pairings[1])), Disqualify(entries[2]), ChangeK(60.0, 10.0, 1), ChangeCap(None)]


@pytest.mark.parametrize("number", range(4), ids=["void", "disqualify", "k", "cap"])
def test_long_log_ends_with_the_verdict_and_the_rows_of_the_short_way(ada: User, played: Any, number: int) -> None:
    ladder, entries, pairings = played
    deed = deeds(entries, pairings)[number]
    with transaction.atomic():
        verdict = judgements.as_json(judging.apply(ladder, deed, ada, WHY))
        short = rows(ladder)
        transaction.set_rollback(True)
    before = everything()
    preview = asked(ladder, deed, ada)
    assert judgements.run(preview.pk)
    assert everything() == before
    done = asked(ladder, deed, ada, f" {WHY} ")
    assert judgements.run(done.pk)
    assert rows(ladder) == short
    for judgement in (preview, done):
        judgement.refresh_from_db()
        assert (judgement.state, judgement.verdict, judgement.note) == ("done", verdict, "")
        assert judgement.ended_at is not None


@pytest.mark.parametrize("ranked_by", ["fit", "elo"])
def test_preview_says_by_what_its_ranks_are(
    by_ada: Client, played: Any, monkeypatch: pytest.MonkeyPatch, ranked_by: str
) -> None:
    ladder, entries, _ = played
    Ladder.objects.filter(pk=ladder.pk).update(ranked_by=ranked_by)
    address, sent = f"/ladders/{ladder.slug}/judge/", {"deed": "disqualify", "entry": entries[0].pk}
    long_page = by_ada.post(address, sent).headers["Location"]
    tasks.judge(Judgement.objects.get().pk)
    monkeypatch.setattr(judgements, "IN_REQUEST", 1500)
    for page in (by_ada.get(long_page).content.decode(), by_ada.get(address, sent).content.decode()):
        assert (">Elo rank</th>" in page, ">Rank</th>" in page) == (ranked_by == "fit", ranked_by == "elo")
        assert ("the strengths are fitted anew afterwards" in page) == (ranked_by == "fit")


def test_page_shows_progress_then_the_preview_and_then_what_was_done(
    by_ada: Client, played: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ladder, entries, _ = played
    address, sent = f"/ladders/{ladder.slug}/judge/", {"deed": "disqualify", "entry": entries[0].pk}
    assert "This ladder has 5 results" in by_ada.get(address, sent).content.decode()
    assert not Judgement.objects.exists()
    page = by_ada.post(address, sent).headers["Location"]
    assert "It waits for a worker." in by_ada.get(page).content.decode()
    seen, tell = [], judgements.Progress.tell

    def tell_and_look(progress: judgements.Progress, replayed: int) -> None:
        tell(progress, replayed)
        seen.append(by_ada.get(page).content.decode())

    monkeypatch.setattr(judgements.Progress, "tell", tell_and_look)
    tasks.judge(Judgement.objects.get().pk)
    for i in range(6):
        assert f"{i} of 5" in seen[i] and "data-follow" in seen[i]
    ready = by_ada.get(page).content.decode()
    assert "ratings would change" in ready and entries[1].name in ready and "data-follow" not in ready
    assert "This field is required" in by_ada.post(page, {"reason": ""}).content.decode()
    applied = by_ada.post(page, {"reason": "two accounts"}).headers["Location"]
    assert applied != page and Entry.objects.get(pk=entries[0].pk).state == "active"
    tasks.judge(Judgement.objects.latest("pk").pk)
    assert Entry.objects.get(pk=entries[0].pk).state == "disqualified"
    done = by_ada.get(applied).content.decode()
    assert "ratings changed" in done and "two accounts" in done
    assert applied in by_ada.get(f"/ladders/{ladder.slug}/manage/").content.decode()


def test_a_deed_with_its_reason_is_applied_without_a_preview(by_ada: Client, ada: User, played: Any) -> None:
    ladder, _, pairings = played
    code = match_of(pairings[0]).code
    by_ada.post(f"/ladders/{ladder.slug}/judge/", {"deed": "void", "match": code, "reason": "cards were seen"})
    judgement = Judgement.objects.get()
    assert (judgement.by, judgement.is_preview, judgement.subject) == (ada, False, code)
    tasks.judge(judgement.pk)
    assert LadderEvent.objects.get().reason == "cards were seen"


def test_page_names_the_terms_that_are_asked_for(by_ada: Client, ada: User, played: Any) -> None:
    page = by_ada.get(asked(played[0], ChangeK(60.0, 12.5, 7), ada).get_absolute_url()).content.decode()
    assert "<h1>Change K</h1>" in page
    for label, value in (("K of a new entry", "60"), ("K later", "12.5"), ("New for so many results", "7")):
        assert f"<dt>{label}</dt><dd>{value}</dd>" in page


@pytest.mark.parametrize("is_preview", [True, False])
def test_refused_deed_tells_its_sentence_and_can_be_asked_again(
    by_ada: Client, ada: User, played: Any, is_preview: bool
) -> None:
    ladder, entries, _ = played
    judgement = asked(ladder, Reinstate(entries[0]), ada, None if is_preview else WHY)
    before = everything()
    tasks.judge(judgement.pk)
    assert everything() == before
    page = judgement.get_absolute_url()
    assert f"{entries[0].name} is not disqualified." in by_ada.get(page).content.decode()
    assert by_ada.post(page).headers["Location"] != page
    again = Judgement.objects.latest("pk")
    assert (again.deed, again.is_preview, again.reason) == (judgement.deed, is_preview, judgement.reason)
    assert again.state == "waiting"


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        pytest.param(lambda ladder: ladder.update(owner=make_user()), "may not judge this ladder any more", id="owner"),
        pytest.param(lambda ladder: ladder.update(state="closed"), "is closed; only an operator", id="closed"),
        pytest.param(lambda ladder: User.objects.update(is_active=False), "may not judge this ladder", id="locked-out"),
    ],
)
def test_rights_lost_in_between_leave_everything_as_it_was(ada: User, played: Any, loss: Any, sentence: str) -> None:
    ladder, entries, _ = played
    judgement = asked(ladder, Disqualify(entries[0]), ada, WHY)
    loss(Ladder.objects.filter(pk=ladder.pk))
    before = everything()
    judgements.run(judgement.pk)
    judgement.refresh_from_db()
    assert judgement.state == "refused" and sentence in judgement.note
    assert everything() == before


def test_redelivered_task_does_nothing_twice(ada: User, played: Any) -> None:
    ladder, entries, _ = played
    judgement = asked(ladder, Disqualify(entries[0]), ada, WHY)
    assert judgements.run(judgement.pk)
    after = everything()
    assert not judgements.run(judgement.pk)
    assert everything() == after and LadderEvent.objects.count() == 1
    judgement.delete()
    assert not judgements.run(judgement.pk or 0)


def test_what_was_given_up_meanwhile_is_taken_back(ada: User, played: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ladder, entries, _ = played
    judgement = asked(ladder, Disqualify(entries[0]), ada, WHY)
    before = everything()
    give_up = {"state": "failed", "note": "given up"}
    monkeypatch.setattr(judgements.Progress, "tell", lambda *_: Judgement.objects.update(**give_up))
    with pytest.raises(Overtaken):
        judgements.run(judgement.pk)
    assert everything() == before


def test_what_breaks_off_has_failed_and_says_so(ada: User, played: Any) -> None:
    ladder, entries, _ = played
    judgement = asked(ladder, Disqualify(entries[0]), ada, WHY)
    Judgement.objects.update(deed={"deed": "flog"})
    with pytest.raises(ValueError, match="expected a deed"):
        judgements.run(judgement.pk)
    judgement.refresh_from_db()
    assert judgement.state == "failed" and "nothing was changed" in judgement.note


def test_a_worker_that_died_is_told_and_the_deed_can_be_asked_again(by_ada: Client, ada: User, played: Any) -> None:
    ladder, entries, _ = played
    judgement = asked(ladder, Disqualify(entries[0]), ada, WHY)
    Judgement.objects.update(state="running", started_at=LONG_AGO)
    progress = judgements.Progress(judgement.pk)
    progress.tell(3)
    tasks.sweep()
    assert Judgement.objects.get().state == "running"
    caches["default"].delete(progress.key)
    tasks.sweep()
    page = judgement.get_absolute_url()
    assert "It broke off on our side" in by_ada.get(page).content.decode()
    assert Finding.objects.get().what == "lost"
    by_ada.post(page)
    again = Judgement.objects.latest("pk")
    assert again.reason == WHY and judgements.run(again.pk)
    assert Entry.objects.get(pk=entries[0].pk).state == "disqualified"


def test_sweep_sends_again_what_waits_for_long(ada: User, played: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ladder, entries, _ = played
    judgement = asked(ladder, Disqualify(entries[0]), ada)
    assert judgements.overlooked() == []
    Judgement.objects.update(made_at=LONG_AGO)
    assert judgements.overlooked() == [judgement.pk]
    judgements.run(judgement.pk)
    assert judgements.overlooked() == []


def test_one_judgement_of_a_ladder_is_under_way_at_a_time(by_ada: Client, ada: User, played: Any) -> None:
    ladder, entries, _ = played
    first = asked(ladder, Disqualify(entries[0]), ada)
    assert judgements.ask(ladder, Disqualify(entries[1]), ada) is None
    answer = by_ada.post(f"/ladders/{ladder.slug}/judge/", {"deed": "disqualify", "entry": entries[1].pk}, follow=True)
    assert answer.redirect_chain[-1][0] == first.get_absolute_url()
    assert "Ask again once it has ended" in answer.content.decode()
    # What is under way is neither applied nor asked again.
    assert by_ada.post(first.get_absolute_url(), {"reason": WHY}).status_code == 200
    judgements.run(first.pk)
    Judgement.objects.update(ended_at=timezone.now() - judgements.KEPT - timedelta(hours=1))
    second = asked(ladder, Disqualify(entries[1]), ada)
    assert list(Judgement.objects.all()) == [second]


def test_a_judgement_is_there_only_for_those_who_run_its_ladder(by_ada: Client, ada: User, played: Any) -> None:
    ladder, entries, _ = played
    page = asked(ladder, Disqualify(entries[0]), ada).get_absolute_url()
    stranger, operator = Client(), Client()
    assert stranger.get(page).status_code == 302
    stranger.force_login(make_user())
    staff = make_user()
    User.objects.filter(pk=staff.pk).update(is_staff=True, is_superuser=True)
    operator.force_login(staff)
    assert [one.get(page).status_code for one in (by_ada, operator, stranger)] == [200, 200, 404]
    assert stranger.post(page, {"reason": WHY}).status_code == 404
    other, _, _ = story()
    assert by_ada.get(page.replace(ladder.slug, other.slug)).status_code == 404


def test_a_packed_deed_is_the_same_unpacked(played: Any) -> None:
    ladder, entries, pairings = played
    for deed in (*deeds(entries, pairings), Reinstate(entries[0]), ChangeK(40.0, 20.0), ChangeCap(25.0)):
        assert unpack(ladder, pack(deed)) == deed


@pytest.mark.parametrize(
    "packed",
    [
        None, [], "void", {}, {"deed": "flog"}, {"deed": ["void"]}, {"deed": "void"}, {"deed": "void", "match": 7},
        {"deed": "void", "match": "a", "entry": 1}, {"deed": "disqualify", "entry": True},
        {"deed": "disqualify", "entry": "1"}, {"deed": "cap", "daily_cap": "100"},
        {"deed": "k", "k_new": None, "k_settled": 20.0, "settled_after": 30},
    ],
    ids=repr,
)  # fmt: skip
def test_what_is_no_packed_deed_is_refused(packed: Any) -> None:
    with pytest.raises(ValueError, match="expected a deed"):
        unpack(Ladder(), packed)


def test_a_packed_deed_on_what_is_not_there_is_refused_with_a_sentence(played: Any) -> None:
    ladder, _, _ = played
    for packed in ({"deed": "void", "match": "nothing"}, {"deed": "disqualify", "entry": 0}):
        with pytest.raises(NotJudged, match=ladder.name):
            unpack(ladder, packed)


def test_operators_see_what_is_asked_of_a_ladder_and_change_nothing_of_it(ada: User, played: Any) -> None:
    ladder, entries, _pairings = played
    judgement = asked(ladder, Disqualify(entries[2]), ada, WHY)
    assert judgements.run(judgement.pk)
    operator = Client()
    operator.force_login(User.objects.create_superuser("root1", "root1@example.org", "correct horse battery"))
    listed = operator.get("/admin/ladder/judgement/").content.decode()
    assert "Disqualify an entry" in listed and entries[2].name in listed and WHY in listed
    address = f"/admin/ladder/judgement/{judgement.pk}"
    assert entries[1].name in operator.get(f"{address}/change/").content.decode()
    assert operator.post(f"{address}/change/", {"state": "waiting"}).status_code == 403
    assert operator.post(f"{address}/delete/", {"post": "yes"}).status_code == 403
    assert operator.get("/admin/ladder/judgement/add/").status_code == 403
    judgement.refresh_from_db()
    assert judgement.state == Judgement.State.DONE
