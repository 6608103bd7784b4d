"""What an author sees of a match that has ended, and that nobody else does: on pages, as a download, by the API."""

import io
import zipfile

import pytest
from django.urls import reverse

from bots.models import BotVersion
from games import dispatch, replay, tables, times, times_chart
from games.debrief import debrief
from games.engine import Rules
from games.live import game_now
from games.models import Match, SeatLog
from games.outcome import LOG_CHARS, joined_log
from games.tracebacks import last_traceback
from tests.games.reproducers import reproduce, unpack
from tests.ladder.play import finish_one
from tests.ladder.rows import make_bot
from tests.people import person, uploaded

pytestmark = pytest.mark.django_db
SECRET = "thoughts of Mim"
HEAD = "Traceback (most recent call last):\n"
CRASH = b"""import sys
import soureh_bot


def worth(card):
    return {"A": 1}[card]


def choose(turn):
    if turn.id > 3:
        worth("ten of clubs")
    print("so far so good", file=sys.stderr)
    return "d"


soureh_bot.run(choose)
"""


@pytest.fixture
def ben(make_user):
    return make_user("ben")


@pytest.fixture
def mim(ada):
    """A ready version of ada's."""
    return make_bot(ada, name="Mim").versions.get()


def played(mim, rival, *, kind="ranked", fault="crash", **options):
    entrants = [{"version": mim}, {"version": rival}]
    rules = {"preset": "classic", "target": 60}
    match = dispatch.create_match(kind=kind, rules=rules, entrants=entrants, share="ladder:1", **options)
    finish_one(match, log=SECRET, faulty={0: fault} if fault else None)
    SeatLog.objects.filter(seat__match=match).exclude(seat__bot=mim.bot).update(stderr="thoughts of the rival")
    return match


def doors(match, seat):
    """Return every address that tells of a seat, or acts for its owner."""
    api = f"/api/v1/matches/{match.code}/"
    return {
        "page": reverse("match", args=[match.code]),
        "zip": reverse("reproducer", args=[match.code, seat]) + f"?decision={first_turn(match, seat)}",
        "api": api + "debrief/",
        "api zip": api + f"seats/{seat}/reproducer/",
    }


def first_turn(match, seat):
    (player,) = match.players.filter(seat=seat)
    return debrief(match, player, SeatLog.objects.get(seat=player)).decisions[0].number


@pytest.mark.parametrize("kind", ["ranked", "trial", "table"])
def test_the_owner_alone_sees_it(client, mim, ada, ben, make_user, kind):
    match = played(mim, make_bot(ben).versions.get(), kind="ranked" if kind == "table" else kind)
    # A table of people ends by the same door; what differs is who sits there.
    Match.objects.filter(pk=match.pk).update(kind=kind)
    match.refresh_from_db()
    seat = match.players.get(bot=mim.bot).seat
    client.force_login(ada)
    for name, address in doors(match, seat).items():
        answer = client.get(address)
        assert answer.status_code == 200, name
        if "zip" in name:
            assert zipfile.ZipFile(io.BytesIO(answer.content)).testzip() is None
            assert answer["Content-Type"] == "application/zip" and "no-store" in answer["Cache-Control"]
        else:
            text = answer.content.decode()
            assert SECRET in text and "what was seen" in text and "4.3" in text, name
    operator = person("operator", is_staff=True, is_superuser=True)
    for other in (None, make_user("eve"), operator, ben):
        client.logout()
        if other:
            client.force_login(other)
        for name, address in doors(match, seat).items():
            answer = client.get(address)
            shown = answer.content.decode(errors="replace")
            assert (
                SECRET not in shown and "what was seen" not in shown and "4.321" not in shown and "4.3 ms" not in shown
            ), (other, name)
            assert "lines.jsonl" not in shown
            assert ("thoughts of the rival" in shown) == (other is ben and name in ("page", "api"))
            if "zip" in name:
                assert answer.status_code in (302, 401, 403, 404), (other, name)


@pytest.mark.parametrize("state", ["waiting", "queued", "playing", "showing", "void"])
def test_there_is_no_reproducer_before_the_end(client, mim, ada, state):
    match = played(mim, make_bot().versions.get())
    Match.objects.filter(pk=match.pk).update(state=state)
    client.force_login(ada)
    seat = match.players.get(bot=mim.bot).seat
    api = f"/api/v1/matches/{match.code}/"
    assert client.get(reverse("reproducer", args=[match.code, seat]) + "?decision=1").status_code == 404
    assert client.get(api + f"seats/{seat}/reproducer/").status_code == 404
    answer = client.get(api + "debrief/")
    if state == "void":
        assert answer.json()[0]["stderr"] == SECRET and answer.json()[0]["decisions"] == []
    else:
        assert answer.status_code == 404 and answer.json()["code"] == "not_finished"


@pytest.mark.parametrize("decision", ["", "x", "-1", "0", "99999999", "123456", "²"])
def test_a_decision_that_is_none_is_refused_in_words(client, mim, ada, decision):
    match = played(mim, make_bot().versions.get(), fault=None)
    client.force_login(ada)
    seat = match.players.get(bot=mim.bot).seat
    answer = client.get(reverse("reproducer", args=[match.code, seat]) + f"?decision={decision}")
    assert answer.status_code in (302, 404)
    if answer.status_code == 302:
        assert "is none that this bot was asked for" in client.get(answer["Location"]).content.decode()


def test_decisions_tell_cpu_wall_clock_and_bank(mim, ada):
    match = played(mim, make_bot().versions.get(), fault=None)
    player = match.players.get(bot=mim.bot)
    told = debrief(match, player, SeatLog.objects.get(seat=player))
    assert {(made.cpu_us, made.ms, made.bank_s) for made in told.decisions} == {(900, 1, 20.0)}
    moves = {made.number: made.move for made in told.decisions}
    record = [move for hand in replay.record(match)["hands"] for move in hand["moves"]]
    assert all(record[number - 1] == move for number, move in moves.items())
    assert len(moves) >= len(record) // 2 - 1


def test_a_fault_has_its_place_in_the_replay(client, mim, ada):
    match = played(mim, make_bot().versions.get())
    (fault,) = match.faults
    client.force_login(ada)
    page = client.get(reverse("match", args=[match.code])).content.decode()
    step = fault["turn"] - 1
    assert f"?hand={fault['hand']}&amp;step={step}#replay-title" in page
    at = client.get(reverse("match", args=[match.code]) + f"?hand={fault['hand']}&step={step}").content.decode()
    assert f"Hand 1, step {step} of" in at


def test_house_bots_leave_no_times(mim):
    match = played(mim, make_bot().versions.get(), fault=None)
    house = match.players.exclude(bot=mim.bot).get()
    assert bytes(SeatLog.objects.get(seat=house).times) == b""


@pytest.mark.django_db(transaction=True)
def test_a_crash_in_the_sandbox_is_shown_with_its_line_and_happens_again_at_home(
    client, house, worker, office, ada, tmp_path
):
    version = uploaded(ada, source=CRASH)
    office.deliver()
    version.refresh_from_db()
    assert version.state == "failed"
    seat = version.seats.get()
    client.force_login(ada)
    page = client.get(reverse("version", args=[version.bot.slug, 1])).content.decode()
    assert "bot.py, line 6" in page and '<span class="line-wrong">' in page
    assert "KeyError: &#x27;ten of clubs&#x27;" in page and "so far so good" in page
    told = client.get(f"/api/v1/matches/{seat.match.code}/debrief/").json()[0]
    assert (told["fault"]["file"], told["fault"]["line"], told["fault"]["kind"]) == ("bot.py", 6, "crash")
    assert told["fault"]["traceback"].endswith("KeyError: 'ten of clubs'")
    assert all(0 < made["cpu_ms"] < 1000 for made in told["decisions"])
    address = reverse("reproducer", args=[seat.match.code, seat.seat])
    for turn in (told["fault"]["turn"], told["decisions"][0]["number"]):
        folder = unpack(client.get(f"{address}?decision={turn}").content, tmp_path / str(turn))
        assert folder.name == f"soureh-{seat.match.code}-{turn}"
        done = reproduce(folder)
        assert done.returncode == 0, done.stdout + done.stderr
        assert (f"decision {turn}" in done.stdout) and ("KeyError" in done.stdout) == (turn == told["fault"]["turn"])


@pytest.mark.django_db(transaction=True)
def test_at_a_table_times_and_starts_add_up_over_the_bots_turns(client, house, worker, office, ada, tmp_path):
    version = uploaded(ada)
    BotVersion.objects.filter(pk=version.pk).update(state="ready")
    Match.objects.all().delete()
    match = tables.open_table(ada, opponents=[version], rules=Rules.preset("classic", target=1))
    tables.deal(match)
    office.deliver()
    while (match := Match.objects.get(pk=match.pk)).state == "playing":
        game = game_now(match)
        legal = game.legal()
        move = next((one for one in legal if one.endswith("!") or one in ("show", "d")), legal[0])
        tables.decide(match, tables.seat_of(match, ada), id=game.decision.id, move=move)
        office.deliver()
    assert match.state == "finished"
    player = match.players.get(version=version)
    costs = times.unpack(bytes(SeatLog.objects.get(seat=player).times))
    told = debrief(match, player, SeatLog.objects.get(seat=player))
    assert [made.number for made in told.decisions] == sorted(costs.cpu_us) and costs.starts
    client.force_login(ada)
    address = reverse("reproducer", args=[match.code, player.seat])
    done = reproduce(unpack(client.get(f"{address}?decision={told.decisions[-1].number}").content, tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


# Parts


@pytest.mark.parametrize(
    ("log", "file", "line", "end"),
    [
        pytest.param(HEAD + '  File "bot.py", line 3, in f\n    x\nE: no\nafter', "bot.py", 3,
                     "E: no", id="plain"),
        pytest.param(HEAD + '  File "bot.py", line 3, in f\n'
                     '  File "/bot/soureh_bot.py", line 9, in g\nE', "bot.py", 3, "E", id="in-the-kit"),
        pytest.param(HEAD + '  File "/bot/lib/a.py", line 7, in f\nE', "lib/a.py", 7, "E",
                     id="in-a-module"),
        pytest.param(HEAD + '  File "/etc/passwd", line 1, in f\nE', "", 0, "E", id="forged"),
        pytest.param(HEAD + "  File x\n" * 500 + "E", "", 0, "E", id="long"),
    ],
)  # fmt: skip
def test_a_traceback_leads_to_the_authors_own_line(log, file, line, end):
    found = last_traceback("noise\n" + log, {"bot.py", "lib/a.py"})
    assert (found.file, found.line) == (file, line)
    assert found.text.endswith(end) and len(found.text.splitlines()) <= 40


def test_a_log_without_a_traceback_has_none():
    assert last_traceback("all is well\n", {"bot.py"}) is None


def test_a_log_in_parts_keeps_its_beginning_and_its_end():
    log = joined_log("the first" + "x" * LOG_CHARS, "y" * 100 + "the last")
    assert log.startswith("the first") and log.endswith("the last") and "left out" in log
    assert len(log) <= LOG_CHARS
    again = joined_log(log, "and more")
    assert again.startswith("the first") and again.endswith("and more") and len(again) <= LOG_CHARS


def test_a_long_match_is_drawn_in_groups_of_which_the_worst_counts():
    class Cost:
        ms, is_fault = 2, False

        def __init__(self, number, cpu_ms):
            self.number, self.cpu_ms = number, cpu_ms

    costs = [Cost(number, 900.0 if number == 777 else 0.5) for number in range(1, 2001)]
    drawn = times_chart.draw(costs, limit_ms=1000, free_ms=50)
    assert len(drawn["bars"]) <= times_chart.MOST_BARS and drawn["count"] == 2000
    assert [bar["number"] for bar in drawn["bars"] if bar["cpu"] == "900 ms"] == [777]
    assert times_chart.draw([Cost(1, None)], limit_ms=1000, free_ms=50) == {"count": 0}
