"""The match record, `soureh-record/1`: written, checked, packed and replayed (formats 3).

A record is all that an independent program needs to recompute a finished match. This
is the only way by which decks leave the engine, and only of games that are over.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import shape
from .cards import format_cards
from .game import Game, InvalidRecord, apply_faults, check_autopilot, replay
from .hand import Hand
from .notation import ALL_MOVES, IllegalMove, show
from .rules import PRESETS, Rules, RulesError
from .scoring import HandEnd
from .shape import FORMAT, same
from .shuffle import SCHEME, Seating, commitment, draw_seats, fixed_seats
from .view import render, view

# Written


def build(
    game: Game,
    *,
    id: str,
    played: str,
    seats: Sequence[Mapping[str, Any]],
    seating: Seating,
    ms: Sequence[int] | None = None,
) -> dict[str, Any]:
    """Return the record of a finished game.

    `seats` are {"name","kind"[,"version","sha256"]} in seat order; `entrant` is added
    where the seats were drawn. `played` is UTC as "2026-11-30T09:15:00Z". `ms` has the
    whole milliseconds of every decision, or is None.

    Raises:
        ValueError: the game is not over, or a list has the wrong length.
    """
    if game.result is None:
        raise ValueError("expected a finished game: a decision is pending")
    if not game.server_seed:
        raise ValueError("expected a game dealt from a seed: this one has none")
    if len(seats) != game.seats or len(seating.order) != game.seats:
        raise ValueError(f"expected {game.seats} seats: {len(seats)}, seating {len(seating.order)}")
    if ms is not None and len(ms) != game.decisions_made:
        raise ValueError(f"expected {game.decisions_made} times: {len(ms)}")
    return {
        "format": FORMAT,
        "id": id,
        "played": played,
        "rules": game.rules.to_json(),
        "seats": _seats(seats, seating),
        "seating": _seating(seating),
        "fairness": {
            "scheme": SCHEME,
            "commitment": commitment(game.server_seed),
            "server_seed": game.server_seed.hex(),
            "player_seeds": list(game.player_seeds),
        },
        "hands": _hands(game._hands, ms),
        "faults": [fault._asdict() for fault in game.faults],
        "result": game.result._asdict(),
    }


def _seats(seats: Sequence[Mapping[str, Any]], seating: Seating) -> list[dict[str, Any]]:
    if seating.how == "fixed":
        return [{key: value for key, value in seat.items() if key != "entrant"} for seat in seats]
    return [{**seat, "entrant": entrant} for seat, entrant in zip(seats, seating.order, strict=True)]


def _seating(seating: Seating) -> dict[str, Any]:
    return {"how": "fixed"} if seating.how == "fixed" else {"how": "draw", "rounds": seating.rounds}


def _hands(hands: Iterable[Hand], ms: Sequence[int] | None) -> list[dict[str, Any]]:
    docs: list[dict[str, Any]] = []
    first = 0
    for hand in hands:
        doc: dict[str, Any] = {
            "no": hand.no,
            "dealer": hand.dealer,
            "deck": format_cards(hand.deck),
            "reshuffles": _reshuffles(hand),
            "moves": hand.moves,
        }
        after = first + hand.decisions
        if ms is not None:
            doc["ms"] = list(ms[first:after])
        first = after
        docs.append({**doc, "end": _end(hand)._asdict()})
    return docs


def _reshuffles(hand: Hand) -> list[list[str]]:
    return [format_cards(stock) for stock in hand.reshuffles]


def _end(hand: Hand) -> HandEnd:
    if hand.end is None:
        raise AssertionError("only finished hands are recorded")
    return hand.end


# Checked


def verify(doc: Any) -> None:
    """Recompute a record from its seed and its moves, and compare every figure in it.

    Raises:
        InvalidRecord: it does not hold; the message names hand, move and reason.
    """
    shape.check(doc)
    _expect("fairness: commitment", doc["fairness"]["commitment"], commitment(_seed(doc)))
    if doc["result"]["how"] == "void":
        raise InvalidRecord("result: expected a game that was played to its end: it is void")
    _verify_seating(doc)
    game = Game(_rules(doc), len(doc["seats"]), _seed(doc), doc["fairness"]["player_seeds"])
    waiting = list(reversed(doc["faults"]))
    apply_faults(game, waiting)
    for number, hand in enumerate(doc["hands"], 1):
        _verify_hand(game, number, hand, waiting)
    if game.result is None:
        raise InvalidRecord(f"hand {len(doc['hands']) + 1}: expected this hand: the record ends before it")
    if waiting:
        raise InvalidRecord(f"fault at turn {waiting[-1]['turn']}: expected no fault: the game was over")
    for number, (found, fault) in enumerate(zip(doc["faults"], game.faults, strict=True), 1):
        _expect(f"fault {number}: hand", found["hand"], fault.hand)
    for key, expected in game.result._asdict().items():
        _expect(f"result: {key}", doc["result"][key], expected)


def _seed(doc: Mapping[str, Any]) -> bytes:
    return bytes.fromhex(doc["fairness"]["server_seed"])


def _rules(doc: Mapping[str, Any]) -> Rules:
    try:
        return Rules.from_json(doc["rules"])
    except RulesError as error:
        raise InvalidRecord(f"rules: {error}") from error


def _expect(where: str, found: Any, expected: Any) -> None:
    if same(found, expected):
        return
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for number, (one, other) in enumerate(zip(found, expected, strict=True), 1):
            _expect(f"{where}, item {number}", one, other)
    raise InvalidRecord(f"{where}: expected {show(expected)}: {show(found)}")


def _verify_seating(doc: Mapping[str, Any]) -> None:
    if doc["seating"]["how"] == "fixed":
        for number, seat in enumerate(doc["seats"]):
            if "entrant" in seat:
                _expect(f"seat {number}: entrant", seat["entrant"], number)
        return
    drawn = draw_seats(_seed(doc), doc["fairness"]["player_seeds"])
    _expect("seating: rounds", doc["seating"]["rounds"], drawn.rounds)
    for number, seat in enumerate(doc["seats"]):
        _expect(f"seat {number}: entrant", seat.get("entrant"), drawn.order[number])


def _verify_hand(game: Game, number: int, doc: Mapping[str, Any], waiting: list[Mapping[str, Any]]) -> None:
    where = f"hand {number}"
    if number > len(game._hands):
        raise InvalidRecord(f"{where}: expected no more hands: the game is over")
    hand = game._hands[number - 1]
    _expect(f"{where}: no", doc["no"], hand.no)
    _expect(f"{where}: dealer", doc["dealer"], hand.dealer)
    _expect(f"{where}: deck", doc["deck"], format_cards(hand.deck))
    for count, move in enumerate(doc["moves"], 1):
        if hand.end is not None:
            raise InvalidRecord(f"{where}, move {count}: expected no move, the hand is over: {show(move)}")
        try:
            if game.faults:
                check_autopilot(game, move)
            game.play(move)
        except (IllegalMove, InvalidRecord) as error:
            raise InvalidRecord(f"{where}, move {count}: {error}") from error
        if waiting:
            apply_faults(game, waiting)
    if hand.end is None:
        raise InvalidRecord(f"{where}, move {len(doc['moves']) + 1}: expected a move: the hand is not over")
    _expect(f"{where}: reshuffles", doc["reshuffles"], _reshuffles(hand))
    for key, expected in hand.end._asdict().items():
        _expect(f"{where}: end.{key}", doc["end"][key], expected)


# Replayed


def frames(doc: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
    """Return what a replay page steps through: for each hand the deal, then one frame for each decision.

    A frame is the table after a decision: {"view": every card shown, "events": all that
    happened since the frame before, "event": the last of them, and of the decision
    "move", "seat" and "ms" (None in a hand's first frame; `ms` also where it is not known)}.
    A hand's last frame has the finished hand, with the event "hand_end" or "game_end".

    Raises:
        InvalidRecord, IllegalMove: the record cannot be replayed.
    """
    game = Game(_rules(doc), len(doc["seats"]), _seed(doc), doc["fairness"]["player_seeds"])
    waiting = list(reversed(doc["faults"]))
    apply_faults(game, waiting)
    found: list[list[dict[str, Any]]] = []
    for hand_doc in doc["hands"]:
        hand = game._hand
        times = hand_doc.get("ms") or [None] * len(hand_doc["moves"])
        strip, seen = [_frame(game, hand, 0)], len(hand.log)
        for move, ms in zip(hand_doc["moves"], times, strict=True):
            seat = hand.seat
            game.play(move)
            apply_faults(game, waiting)
            strip.append({**_frame(game, hand, seen), "move": move, "seat": seat, "ms": ms})
            seen = len(hand.log)
        found.append(strip)
    return found


def _frame(game: Game, hand: Hand, start: int) -> dict[str, Any]:
    """Return the table as it is, with the news of `hand` from entry `start` of its log on."""
    events = [render(entry, None, revealed=True) for entry in hand.log[start:]]
    shown = view(game, hand, None, revealed=True)
    return {"view": shown, "events": events, "event": events[-1], "move": None, "seat": None, "ms": None}


# Packed

_COMPACT = 1  # what cannot be recomputed, compressed
_PLAIN = 2  # the JSON text, compressed: for records that recomputing does not give back
_UNPACKED_MAX = 64 * 1024 * 1024
# Text that nearly every header has. It is part of format 1 and never changes.
_DICTIONARY = (
    b'","sha256":"","version":"1"},{"name":"house:counter","kind":"human"},{"name":"house:careful","kind":"bot",'
    b'"house:spoiler","house:random","detail":"","kind":"timeout","hand":1,"turn":'
    b'"caller_shield":null,"end":"elimination","end":"hands","hands":,"target":100,"target":250,"picks":"player",'
    b'["inventor",{}],["common",{}],{"id":"","played":"2026-01-01T00:00:00Z","rules":["classic",{}],'
    b'"seats":[{"name":"","kind":"bot","version":"1","sha256":"0123456789abcdef"}],"how":"draw","how":"fixed",'
    b'"player_seeds":["",""],"player_seeds":["","","",""],"faults":[],"has_ms":true}'
)


def pack(doc: Mapping[str, Any]) -> bytes:
    """Return a record in as few bytes as is simple; the first byte is the number of the format.

    Decks and figures are recomputed by `unpack` rather than stored. A record that would
    not come back the same (it has keys of its own, or lies) is stored as it is.
    """
    compact = _pack_compact(doc)
    if compact is not None:
        return compact
    text = json.dumps(doc, ensure_ascii=True, separators=(",", ":"))
    return bytes([_PLAIN]) + zlib.compress(text.encode("ascii"), 9)


def _pack_compact(doc: Mapping[str, Any]) -> bytes | None:
    try:
        shape.check(doc)
        header = _header(doc)
    except (InvalidRecord, RulesError):
        return None
    moves = [move for hand in doc["hands"] for move in hand["moves"]]
    if not set(moves) <= _INDEX.keys():
        return None
    text = json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    times = (number for hand in doc["hands"] for number in hand.get("ms", ()))
    tail = bytes(_INDEX[move] for move in moves) + b"".join(map(_varint, times))
    body = _varint(len(text)) + text + _seed(doc) + _varint(len(moves)) + tail
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY)
    data = bytes([_COMPACT]) + packer.compress(body) + packer.flush()
    try:
        return data if same(unpack(data), doc) else None
    except InvalidRecord:
        return None


_INDEX = {move: index for index, move in enumerate(ALL_MOVES)}


def _header(doc: Mapping[str, Any]) -> dict[str, Any]:
    rules = Rules.from_json(doc["rules"]).to_json()
    base = Rules(base=rules["preset"], **PRESETS[rules["preset"]]).to_json()
    seats = [{key: value for key, value in seat.items() if key != "entrant"} for seat in doc["seats"]]
    return {
        "id": doc["id"],
        "played": doc["played"],
        "rules": [rules["preset"], {name: value for name, value in rules.items() if value != base[name]}],
        "seats": seats,
        "how": doc["seating"]["how"],
        "player_seeds": doc["fairness"]["player_seeds"],
        "faults": doc["faults"],
        "has_ms": any("ms" in hand for hand in doc["hands"]),
    }


def _varint(number: int) -> bytes:
    """Return 7 bits a byte, lowest first; the high bit says that more follow."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    found.append(number)
    return bytes(found)


def unpack(data: bytes) -> dict[str, Any]:
    """Return the record that `pack` packed.

    Raises:
        InvalidRecord: the data are damaged, or of an unknown format.
    """
    if not data or data[0] not in (_COMPACT, _PLAIN):
        raise InvalidRecord(f"expected a packed record of format {_COMPACT} or {_PLAIN}: {show(data[:1])}")
    try:
        return _unpack_compact(data[1:]) if data[0] == _COMPACT else _unpack_plain(data[1:])
    except (zlib.error, ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidRecord(f"expected a packed record: it is damaged: {error}") from error


def _inflate(unpacker: Any, data: bytes) -> bytes:
    body: bytes = unpacker.decompress(data, _UNPACKED_MAX)
    if not unpacker.eof or unpacker.unused_data:
        raise InvalidRecord("expected a packed record: it is cut short, too long or too large")
    return body


def _unpack_plain(data: bytes) -> dict[str, Any]:
    doc = json.loads(_inflate(zlib.decompressobj(), data))
    if not isinstance(doc, dict):
        raise InvalidRecord(f"expected a packed object: {show(doc)}")
    return doc


class _Reader:
    """Takes a packed body apart from front to back."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        if count > len(self._data) - self._at:
            raise InvalidRecord("expected a packed record: it is cut short")
        self._at += count
        return self._data[self._at - count : self._at]

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7


def _unpack_compact(data: bytes) -> dict[str, Any]:
    reader = _Reader(_inflate(zlib.decompressobj(-15, _DICTIONARY), data))
    header = json.loads(reader.take(reader.varint()))
    seed = reader.take(32)
    moves = [ALL_MOVES[index] for index in reader.take(reader.varint())]
    ms = [reader.varint() for _ in moves] if header["has_ms"] else None
    preset, options = header["rules"]
    seats, player_seeds = header["seats"], header["player_seeds"]
    game = replay(Rules.preset(preset, **options), len(seats), seed, player_seeds, moves, header["faults"])
    seating = draw_seats(seed, player_seeds) if header["how"] == "draw" else fixed_seats(len(seats))
    return build(game, id=header["id"], played=header["played"], seats=seats, seating=seating, ms=ms)
