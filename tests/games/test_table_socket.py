"""The table socket, over a real channel layer: what each viewer gets, in order, and what a client may do."""

import asyncio
import json
from datetime import timedelta

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.auth import AuthMiddlewareStack
from channels.db import database_sync_to_async as in_thread
from channels.routing import URLRouter
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.urls import reverse
from django.utils import timezone

from bots import rates
from games import broker, consumers, dispatch, finish, hub, tables
from games.clocks import Clocks
from games.engine import Rules
from games.live import game_now
from games.models import Match
from games.routing import websocket_urlpatterns

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]
SHORT = Rules.preset("classic", target=1)


class Client(ApplicationCommunicator):
    """A socket of one person, and what it heard."""

    def __init__(self, code, user=None):
        path = f"/ws/tables/{code}/"
        self.scope = {"type": "websocket", "path": path, "headers": [], "query_string": b"", "subprotocols": []}
        super().__init__(URLRouter(websocket_urlpatterns), self.scope | {"user": user or AnonymousUser()})
        self.user, self.heard = user, []

    async def connect(self):
        """Open the socket; False if it is refused."""
        await self.send_input({"type": "websocket.connect"})
        return (await self.receive_output(10))["type"] == "websocket.accept"

    async def disconnect(self):
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(10)

    async def send_to(self, *, text_data=None, bytes_data=None):
        await self.send_input({"type": "websocket.receive", "text": text_data, "bytes": bytes_data})

    async def hear(self, *kinds, timeout=10):
        """Return the next message of one of these kinds."""
        while True:
            self.heard.append(json.loads((await self.receive_output(timeout))["text"]))
            if self.heard[-1]["type"] in kinds:
                return self.heard[-1]

    async def hear_until_seq(self, seq):
        while (message := await self.hear("event"))["seq"] < seq:
            pass
        return message

    async def say(self, **message):
        await self.send_to(text_data=json.dumps(message))


@pytest.fixture
async def connect():
    """Connect clients, and disconnect them in the end."""
    clients = []

    async def connect(code, user=None):
        client = Client(code, user)
        if await client.connect():
            clients.append(client)
            return client
        return None

    yield connect
    # All are told to go before any is waited for: one that fails at it must not leave the others watching.
    # One that waited in vain is ended already, and its test has failed: its cancellation must not end the others.
    living = [client for client in clients if not client.future.cancelled()]
    for client in living:
        await client.send_input({"type": "websocket.disconnect", "code": 1000})
    for client in living:
        await client.wait(10)


@pytest.fixture
def dealt(ada, house, office):
    match = tables.open_table(ada, opponents=[house["careful"]], rules=SHORT)
    tables.deal(match)
    office.deliver()
    match.refresh_from_db()
    return match


@pytest.fixture
def deliver(office):
    """Do what waits at the post office, beside the event loop."""
    return office.deliver_beside


async def test_person_and_spectator_get_the_same_numbers_and_each_his_own_cards(dealt, ada, connect, deliver):
    player, spectator = await connect(dealt.code, ada), await connect(dealt.code)
    own, public = await player.hear("snapshot"), await spectator.hear("snapshot")
    turn = await player.hear("your_turn")
    seat = own["you"]
    assert own["seq"] == public["seq"] > 0
    assert public["you"] is None
    assert own["state"] == "playing"
    assert "??" not in own["view"]["down"][seat]
    assert public["view"]["down"] == [["??"] * 4] * 2
    assert (public["view"]["drawn"], own["view"]["drawn"]) == ("??", turn["drawn"])
    assert turn["deadline"] is None
    await player.say(type="move", id=turn["id"], move=turn["legal"][0])
    # The click is in the post office only after the consumer has sent it.
    event = await played(player, deliver)
    seen = await spectator.hear("event")
    assert event["seq"] == seen["seq"] == own["seq"] + 1
    assert (event["seat"], event["move"]) == (seat, turn["legal"][0])
    assert {key: event[key] for key in ("seat", "move", "out")} == {key: seen[key] for key in ("seat", "move", "out")}
    again = await player.hear("your_turn")
    assert again["id"] > turn["id"]
    assert not [message for message in spectator.heard if message["type"] in ("your_turn", "rejected")]


async def played(client, deliver, *kinds):
    """Deliver until the client hears an event, or one of these kinds."""
    waiting = asyncio.ensure_future(client.hear(*(kinds or ("event",)), timeout=20))
    while not waiting.done():
        await deliver()
        await asyncio.wait([waiting], timeout=0.05)
    return waiting.result()


async def test_last_event_of_a_batch_carries_the_view_and_sequence_has_no_gap(dealt, ada, connect, deliver):
    player = await connect(dealt.code, ada)
    snapshot, turn = await player.hear("snapshot"), await player.hear("your_turn")
    await player.say(type="move", id=turn["id"], move="d")
    await played(player, deliver)
    while True:
        await deliver()
        if (await player.hear("event", "your_turn"))["type"] == "your_turn":
            break
    events = [message for message in player.heard if message["type"] == "event"]
    assert [event["seq"] for event in events] == list(range(snapshot["seq"] + 1, snapshot["seq"] + 1 + len(events)))
    assert events[-1]["view"]["to_act"] == snapshot["you"]


async def test_since_fills_a_gap_and_answers_with_the_state_when_there_is_none(dealt, ada, connect):
    player = await connect(dealt.code, ada)
    snapshot = await player.hear("snapshot")
    await player.hear("your_turn")
    await player.say(type="since", seq=0)
    last = await player.hear_until_seq(snapshot["seq"])
    assert last["view"] == snapshot["view"]
    await player.hear("your_turn")
    await player.say(type="since", seq=snapshot["seq"])
    assert (await player.hear("snapshot"))["view"] == snapshot["view"]
    await player.hear("your_turn")


async def test_move_sent_twice_is_acknowledged_and_played_once(dealt, ada, connect, deliver):
    player = await connect(dealt.code, ada)
    turn = await player.hear("your_turn")
    await player.say(type="move", id=turn["id"], move="d")
    event = await played(player, deliver)
    await player.say(type="move", id=turn["id"], move="d")
    while (again := await player.hear("event", "rejected")).get("seq") != event["seq"]:
        assert again["type"] == "event"
    assert again["move"] == "d"
    assert await in_thread(dealt.moves.filter(number=turn["id"]).count)() == 1


async def test_move_sent_again_after_the_end_is_acknowledged(dealt, ada, connect, deliver):
    player = await connect(dealt.code, ada)
    turn = await player.hear("your_turn")
    await player.say(type="move", id=turn["id"], move="d")
    event = await played(player, deliver)
    while (await player.hear("event", "your_turn"))["type"] == "event":
        await deliver()
    await player.say(type="resign")
    await played(player, deliver)
    await player.hear("state")
    late = await connect(dealt.code, ada)
    for client in (player, late):
        await client.say(type="move", id=turn["id"], move="d")
        again = await client.hear("event", "rejected")
        assert {key: again.get(key) for key in ("type", "seq", "seat", "move")} == {
            key: event[key] for key in ("type", "seq", "seat", "move")
        }


@pytest.mark.parametrize(
    ("change", "code"),
    [({"move": "k9"}, "illegal"), ({"id": 999}, "stale"), ({"id": 0}, "stale")],
    ids=["illegal", "later", "earlier"],
)
async def test_refused_move_is_told_to_its_sender_alone(dealt, ada, connect, office, change, code):
    player, spectator = await connect(dealt.code, ada), await connect(dealt.code)
    turn = await player.hear("your_turn")
    await player.say(**({"type": "move", "id": turn["id"], "move": "d"} | change))
    rejected = await player.hear("rejected")
    assert (rejected["code"], rejected["move"]) == (code, change.get("move", "d"))
    await spectator.say(type="move", id=turn["id"], move="d")
    assert (await spectator.hear("rejected"))["code"] == "not_your_turn"
    assert not office.take("sandbox.table_move")


async def test_refusal_of_the_engine_reaches_the_seat_through_the_channel_layer(dealt, ada, connect):
    player, spectator = await connect(dealt.code, ada), await connect(dealt.code)
    snapshot = await player.hear("snapshot")
    content = {"seat": snapshot["you"], "id": 3, "move": "k0", "reason": "stale", "detail": "the table moved on"}
    await in_thread(broker.notify_table)(dealt.code, "table.rejected", **content)
    assert await player.hear("rejected") == {
        "type": "rejected",
        "id": 3,
        "move": "k0",
        "code": "stale",
        "detail": "the table moved on",
    }
    await spectator.say(type="since", seq=snapshot["seq"])
    await spectator.hear("snapshot")
    await spectator.hear("snapshot")
    assert "rejected" not in [message["type"] for message in spectator.heard]


async def test_resigning_finishes_the_game_for_everybody(dealt, ada, connect, deliver):
    player, spectator = await connect(dealt.code, ada), await connect(dealt.code)
    await player.hear("snapshot")
    await player.say(type="resign")
    event = await played(player, deliver)
    assert (event["event"], event["kind"]) == ("fault", "resigned")
    while (event := await spectator.hear("event"))["event"] != "game_end":
        pass
    assert event["view"]["to_act"] is None
    assert (await spectator.hear("state"))["state"] == "finished"
    await player.say(type="move", id=1, move="d")
    assert (await player.hear("rejected"))["code"] == "finished"


async def test_batch_of_very_many_decisions_is_told_as_the_table_as_it_is(
    ada, house, office, connect, deliver, monkeypatch
):
    monkeypatch.setattr("games.hub.CATCH_UP_MAX", 4)
    match = await in_thread(tables.open_table)(ada, opponents=[house["careful"], house["random"]], rules=SHORT)
    await in_thread(tables.deal)(match)
    await deliver()
    player, spectator = await connect(match.code, ada), await connect(match.code)
    await player.hear("your_turn")
    before = await spectator.hear("snapshot")
    await player.say(type="resign")
    # All of it may be news at once.
    await played(player, deliver, "event", "snapshot")
    while (whole := await spectator.hear("snapshot", "event"))["type"] == "event":
        assert whole["seq"] <= before["seq"] + 4
    assert (whole["state"], whole["view"]["to_act"]) == ("finished", None)
    assert (await spectator.hear("state"))["state"] == "finished"


async def test_open_table_takes_a_seed_and_comes_into_sight_when_dealt(ada, house, office, connect, deliver):
    match = await in_thread(tables.open_table)(ada, opponents=[house["careful"]], rules=SHORT)
    player, spectator = await connect(match.code, ada), await connect(match.code)
    snapshot = await player.hear("snapshot")
    assert (snapshot["state"], snapshot["seq"], snapshot["view"]) == ("open", 0, None)
    await player.say(type="seed", player_seed="lucky")
    assert await player.hear("seed", "error") == {"type": "seed", "player_seed": "lucky"}
    await spectator.say(type="seed", player_seed="not mine")
    await spectator.hear("error")
    await in_thread(tables.deal)(match)
    await deliver()
    assert (await spectator.hear("snapshot"))["state"] == "playing"
    await in_thread(match.refresh_from_db)()
    assert match.player_seeds == ["lucky", ""]


BAD_MESSAGES = [
    *("", "{", "null", "[]", '"move"', "{}", '{"type":"dance"}', '{"type":"move"}', '{"type":"since","seq":NaN}'),
    *('{"type":"move","id":true,"move":"d"}', '{"type":"move","id":"1","move":"d"}', '{"type":"since","seq":1e99}'),
    *('{"type":"move","id":-1,"move":"d"}', '{"type":"move","id":1,"move":"ddddddddd"}', "[" * 4000, "x" * 5000),
]


async def test_bad_message_gets_an_error_and_the_socket_lives_on(dealt, connect):
    client = await connect(dealt.code)
    await client.hear("snapshot")
    for text in BAD_MESSAGES:
        await client.send_to(text_data=text)
        assert (await client.hear("error"))["detail"], text
    await client.send_to(bytes_data=b"\x00")
    await client.hear("error")
    await client.say(type="since", seq=0)
    await client.hear("event")


async def test_flood_closes_the_socket(dealt, connect):
    client = await connect(dealt.code)
    # More than the burst and what is granted anew while they are read.
    for _ in range(10 * consumers.BURST):
        await client.send_to(text_data="{}")
    while (output := await client.receive_output(5))["type"] != "websocket.close":
        pass
    assert output["code"] == 4008


async def test_page_and_sockets_of_one_person_count_together_and_too_much_is_told(
    dealt, ada, connect, office, client, monkeypatch
):
    monkeypatch.setattr(tables, "ACTIONS_PER_MINUTE", 2)
    monkeypatch.setattr(rates, "time", lambda: 1e9)
    await in_thread(client.force_login)(ada)
    first, second = await connect(dealt.code, ada), await connect(dealt.code, ada)
    turn = await first.hear("your_turn")
    sent = len(office.shown)
    address = reverse("table_move", args=[dealt.code])
    form = {"id": turn["id"], "move": turn["legal"][0]}
    await second.say(type="move", **form)
    assert (await in_thread(client.post)(address, form)).status_code == 302
    for late in (first, second):
        await late.say(type="move", **form)
        assert "too fast" in (await late.hear("error"))["detail"]
    await first.say(type="resign")
    assert "too fast" in (await first.hear("error"))["detail"]
    for name in ("table_move", "table_resign"):
        answer = await in_thread(client.post)(reverse(name, args=[dealt.code]), form)
        assert (answer.status_code, answer["Retry-After"]) == (429, "20")
        assert "That was too fast" in answer.content.decode()
    assert len(office.shown) == sent + 2, "what is refused makes no work"
    monkeypatch.setattr(rates, "time", lambda: 1e9 + 60)
    assert (await in_thread(client.post)(address, form)).status_code == 302
    assert len(office.shown) == sent + 3


async def test_lost_notice_loses_nothing(dealt, ada, connect, deliver, monkeypatch):
    player = await connect(dealt.code, ada)
    turn = await player.hear("your_turn")
    monkeypatch.setattr(broker, "notify_table", lambda *args, **content: None)
    monkeypatch.setattr("games.hub.POLL_S", 0.2)
    await player.say(type="move", id=turn["id"], move="d")
    assert (await played(player, deliver))["move"] == "d"


async def test_presence_tells_how_many_watch(dealt, connect):
    first = await connect(dealt.code)
    await connect(dealt.code)
    while (await first.hear("presence"))["watching"] != 2:
        pass


async def test_unknown_table_and_other_peoples_trial_are_refused_alike(house, worker, office, connect, ada):
    assert await connect("0123456789abcdef") is None
    trial = await in_thread(dispatch.create_match)(
        kind="trial", rules=SHORT.to_json(), entrants=[{"version": house["careful"]}, {"version": house["random"]}]
    )
    assert await connect(trial.code, ada) is None


@pytest.fixture
def bots_match(house, worker, office):
    """A bots' match that is being played, and the rest of its work."""
    entrants = [{"version": house["careful"]}, {"version": house["random"]}]
    match = dispatch.create_match(kind="ranked", rules=SHORT.to_json(), entrants=entrants, share="ladder:1")
    dispatch.dispatch()
    dispatch.hear(match.code, 1, "w")
    return match


async def test_running_bots_match_shows_nothing_until_it_has_ended(bots_match, connect, deliver):
    spectator = await connect(bots_match.code)
    snapshot = await spectator.hear("snapshot")
    assert (snapshot["state"], snapshot["view"], snapshot["seq"]) == ("playing", None, 0)
    await deliver()
    final = await spectator.hear("snapshot")
    assert final["state"] == "finished"
    assert final["view"]["to_act"] is None


async def test_showcase_is_released_decision_by_decision_and_then_finished(
    bots_match, connect, deliver, settings, monkeypatch
):
    # Nothing but the clock of the showcase, and the notice below, may make the hub look.
    monkeypatch.setattr(hub, "POLL_S", 600)
    monkeypatch.setattr(finish, "SHOW_MAX_MS", 24 * 3600 * 1000)
    settings.SHOWCASE_PACE_MS = 60_000
    await in_thread(Match.objects.filter(pk=bots_match.pk).update)(is_showcase=True)
    spectator = await connect(bots_match.code)
    await spectator.hear("snapshot")
    await deliver()
    shown = await spectator.hear("snapshot")
    assert (shown["state"], shown["view"]["decision"]) == ("playing", 1)
    await in_thread(bots_match.refresh_from_db)()
    pace = timedelta(milliseconds=bots_match.show_ms)
    # The second is to be shown in a moment, and the third long after it.
    show_from = timezone.now() - 2 * pace + timedelta(seconds=0.5)
    await in_thread(Match.objects.filter(pk=bots_match.pk).update)(show_from=show_from)
    await in_thread(broker.notify_table)(bots_match.code)
    # What is shown together, on a slow machine, carries its view at its end.
    while (event := await spectator.hear("event")).get("view", {}).get("decision") != 3:
        pass
    assert timezone.now() >= show_from + 2 * pace
    assert event["view"]["down"] == [["??"] * 4] * 2
    late = await (await connect(bots_match.code)).hear("snapshot")
    assert late["view"] == event["view"]
    assert await in_thread(finish.finish_show)(bots_match.pk)
    assert (await spectator.hear("state"))["state"] == "finished"
    assert "server_seed" not in json.dumps(spectator.heard)


async def test_table_that_is_given_up_is_void_for_all(dealt, connect):
    spectator = await connect(dealt.code)
    await spectator.hear("snapshot")
    await in_thread(finish.void_match)(dealt.pk, "operator")
    assert (await spectator.hear("snapshot"))["state"] == "void"


async def test_hub_ends_with_its_last_watcher(dealt, connect):
    from games import hub

    client = await connect(dealt.code)
    await client.hear("snapshot")
    assert dealt.code in hub._hubs()
    await client.disconnect()
    assert dealt.code not in hub._hubs()
    again = await connect(dealt.code)
    assert (await again.hear("snapshot"))["state"] == "playing"


async def test_view_of_the_page_equals_the_view_of_the_socket(dealt, ada, connect):
    player = await connect(dealt.code, ada)
    snapshot = await player.hear("snapshot")
    game = await in_thread(game_now)(dealt)
    assert snapshot["view"] == json.loads(json.dumps(game.view(snapshot["you"])))


class SignedIn(Client):
    """A socket behind the site's own session middleware, opened with a browser's cookie."""

    def __init__(self, code, browser):
        super().__init__(code)
        cookie = f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"
        scope = {key: value for key, value in self.scope.items() if key != "user"} | {
            "headers": [(b"cookie", cookie.encode())]
        }
        ApplicationCommunicator.__init__(self, AuthMiddlewareStack(URLRouter(websocket_urlpatterns)), scope)

    async def closed(self):
        """Return the code with which the server hangs up."""
        while (output := await self.receive_output(10))["type"] != "websocket.close":
            pass
        return output["code"]


def log_out(browser, ada):
    browser.post("/accounts/logout/")


def suspend(browser, ada):
    type(ada).objects.filter(pk=ada.pk).update(is_active=False)


@pytest.mark.parametrize("leave", [log_out, suspend])
@pytest.mark.parametrize("is_talking", [True, False], ids=["talking", "silent"])
async def test_player_who_is_logged_out_neither_plays_nor_sees_on(
    dealt, ada, client, deliver, office, monkeypatch, leave, is_talking
):
    monkeypatch.setattr(consumers, "LOOK_AGAIN_S", 60 if is_talking else 0.1)
    await in_thread(client.force_login)(ada)
    player = SignedIn(dealt.code, client)
    assert await player.connect()
    turn = await player.hear("your_turn")
    await player.say(type="since", seq=0)
    assert (await player.hear("your_turn"))["id"] == turn["id"]
    await in_thread(leave)(client, ada)
    if is_talking:
        await player.say(type="move", id=turn["id"], move=turn["legal"][0])
    assert await player.closed() == consumers.SIGNED_OUT
    await player.disconnect()
    assert not office.waiting and not await in_thread(tables.moves_of)(dealt, turn["id"] - 1)


async def test_client_that_missed_very_much_gets_the_table_as_it_is(dealt, ada, connect, deliver, monkeypatch):
    monkeypatch.setattr(hub, "CATCH_UP_MAX", 2)
    player = await connect(dealt.code, ada)
    turn = await player.hear("your_turn")
    await player.say(type="move", id=turn["id"], move="d")
    await played(player, deliver)
    while player.heard[-1]["type"] != "your_turn":
        await deliver()
        await player.hear("event", "your_turn")
    await player.say(type="since", seq=0)
    seq = (await player.hear("snapshot", "event"))["seq"]
    assert player.heard[-1]["type"] == "snapshot" and seq > 2
    await player.say(type="since", seq=seq - 2)
    assert [(await player.hear("snapshot", "event"))["seq"] for _ in range(2)] == [seq - 1, seq]


# A table with clocks, and more people than one


@pytest.fixture
def ranked(ada, make_user, office):
    """A ranked table of ada and ben, dealt."""
    tables.cache.set(tables.SWEPT_KEY, timezone.now(), timeout=None)
    entrants = [{"user": ada}, {"user": make_user("ben")}]
    match = tables.open_ranked(entrants=entrants, rules=SHORT.to_json(), clocks=Clocks(60, 300))
    office.deliver()
    match.refresh_from_db()
    return match


async def of_people(match, connect):
    """Connect both people; return who is to move, who is not, and the snapshot and the turn of the first."""
    people = await in_thread(lambda: [player.user for player in match.players.select_related("user")])()
    first, second = [await connect(match.code, user) for user in people]
    snapshots = [await client.hear("snapshot") for client in (first, second)]
    if snapshots[0]["you"] != snapshots[0]["view"]["to_act"]:
        first, second, snapshots = second, first, snapshots[::-1]
    return first, second, snapshots[0], await first.hear("your_turn")


async def test_two_people_play_at_one_table_each_with_his_clock(ranked, connect, deliver):
    first, second, snapshot, turn = await of_people(ranked, connect)
    clocks = snapshot["clocks"]
    until = ranked.deadline_at.isoformat()
    assert [clock["bank_ms"] for clock in clocks] == [300_000, 300_000]
    assert (clocks[snapshot["you"]]["deadline"], clocks[1 - snapshot["you"]]["deadline"]) == (until, None)
    assert turn["deadline"] == until
    await second.say(type="move", id=turn["id"], move="d")
    assert (await second.hear("rejected"))["code"] == "not_your_turn"
    await first.say(type="move", id=turn["id"], move="d")
    event = await played(first, deliver)
    assert event["clocks"][snapshot["you"]]["deadline"] is None
    assert (await second.hear("your_turn"))["id"] == turn["id"] + 1
    assert not [message for message in second.heard if message["type"] == "your_turn" and message["id"] == turn["id"]]


async def test_player_comes_back_to_the_time_that_is_left(ranked, connect):
    first, _second, _snapshot, turn = await of_people(ranked, connect)
    await first.disconnect()
    again = await connect(ranked.code, first.user)
    await again.hear("snapshot")
    assert await again.hear("your_turn") | {"now": ""} == turn | {"now": ""}


async def test_end_of_time_is_heard_by_all_and_a_later_move_is_refused_with_its_reason(ranked, connect, deliver):
    first, second, _snapshot, turn = await of_people(ranked, connect)
    past = timezone.now() - timedelta(seconds=1)
    await in_thread(Match.objects.filter(pk=ranked.pk).update)(deadline_at=past)
    await first.say(type="move", id=turn["id"], move="d")
    refused = await first.hear("rejected")
    assert (refused["code"], "time ran out" in refused["detail"]) == ("stale", True)
    assert await in_thread(tables.enforce_clocks)() == 1
    event = await played(second, deliver)
    assert (event["event"], event["kind"]) == ("fault", "left")
    assert (await first.hear("state"))["state"] == "finished"
