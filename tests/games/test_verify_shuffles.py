"""The stand-alone verifier, run as strangers run it: a file of its own under a bare Python."""

import ast
import copy
import hmac
import json
import random
import re
import runpy
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from games.engine import Game, Rules, draw_seats
from tests.games.engine_games import play_out, record_of, some_move, vector

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "verify_shuffles.py"
RECORDS = vector("records.jsonl")
REFUSED = vector("refused.jsonl")
BY_ID = {doc["id"]: doc for doc in RECORDS}
# A lie about points is not the shuffles' business, and a false move only where it changes what is discarded or drawn.
OF_SHUFFLES = {"card", "reshuffle", "seed", "dealer"}
NOT_OF_SHUFFLES = {"bonus", "place", "total", "points", "cut short"}


@pytest.fixture
def verify(tmp_path):
    """Return what runs a copy of the script on paths, isolated from the project and from every package."""
    copied = tmp_path / "alone" / SCRIPT.name
    copied.parent.mkdir()
    shutil.copy(SCRIPT, copied)

    def run(*paths, status):
        command = [sys.executable, "-I", "-S", str(copied), *map(str, paths)]
        done = subprocess.run(command, capture_output=True, cwd=tmp_path, timeout=60, env={})
        output = done.stdout.decode("ascii", errors="backslashreplace")
        assert (done.stderr, done.returncode) == (b"", status), output
        return output

    return run


@pytest.fixture
def verify_doc(verify, tmp_path):
    """Return what runs the script on records, written as JSON lines."""

    def run(*docs, status):
        path = tmp_path / "record.json"
        path.write_text("".join(json.dumps(doc) + "\n" for doc in docs), encoding="utf-8")
        return verify(path, status=status)

    return run


def unfair(output):
    """Return what was said of each record: the first thing that differs, or an empty string if nothing does."""
    said = re.findall(r"^  (?:NOT DEALT FAIRLY: (.*)|dealt fairly: .*)$", output, re.MULTILINE)
    assert len(said) == len(re.findall(r"^  match ", output, re.MULTILINE)), output
    return said


def test_the_script_is_one_file_for_python_3_8_and_imports_the_standard_library_alone():
    tree = ast.parse(SCRIPT.read_text(encoding="utf-8"), feature_version=(3, 8))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", alias.name) for node in imports for alias in node.names}
    assert names == {"__future__", "hashlib", "hmac", "json", "re", "signal", "sys"}


def test_numbers_of_an_incomplete_run_are_skipped_as_the_rule_says():
    script = runpy.run_path(str(SCRIPT))
    m = 3 << 30  # every fourth number is skipped; below 80 it is one in 50 million
    blocks = [hmac.digest(b"key", b"probe:%d" % block, "sha256") for block in range(20)]
    words = [number for block in blocks for number in struct.unpack(">8I", block)]
    expected = [number % m for number in words if number < m]
    assert 80 < len(expected) < 150
    stream = script["Stream"](b"key", "probe")
    assert [stream.below(m) for _ in expected] == expected


def test_vector_records_are_fair_and_everything_in_them_is_recomputed(verify_doc):
    output = verify_doc(*RECORDS, status=0)
    assert unfair(output) == [""] * len(RECORDS)
    for doc in RECORDS:
        for hand in doc["hands"]:
            assert f"deal/{hand['no']}: {' '.join(hand['deck'][:8])} ... as recorded" in output
            for number, stock in enumerate(hand["reshuffles"], 1):
                assert f"reshuffle/{hand['no']}/{number}: {' '.join(stock[:4])} ... as recorded" in output
        assert doc["fairness"]["commitment"] in output
    assert sum(len(hand["reshuffles"]) for doc in RECORDS for hand in doc["hands"]) > 20
    for case in vector("shuffles.json"):
        if any(doc["fairness"]["server_seed"] == case["server_seed"] for doc in RECORDS):
            assert case["key"] in output


def test_a_record_may_be_one_document_over_many_lines(verify, tmp_path):
    path = tmp_path / "record.json"
    path.write_text(json.dumps(RECORDS[5], indent=1), encoding="utf-8")
    assert unfair(verify(path, status=0)) == [""]


def test_refused_vectors_are_refused_where_they_concern_shuffles(verify_doc):
    said = unfair(verify_doc(*(case["record"] for case in REFUSED), status=1))
    found = {(case["lie"], bool(words)) for case, words in zip(REFUSED, said, strict=True) if case["lie"] != "move"}
    assert found == {(lie, True) for lie in OF_SHUFFLES} | {(lie, False) for lie in NOT_OF_SHUFFLES}
    for case, words in zip(REFUSED, said, strict=True):
        place = re.match(r"hand \d+", case["why"])
        if case["lie"] in OF_SHUFFLES and place:
            assert words.startswith(place[0]), (words, case["why"])


def some_games():
    """Yield finished games of all presets, with 2 to 4 players, and with each of the special endings."""
    for number, preset in enumerate(["classic", "common", "inventor"]):
        for seats in (2, 3, 4):
            rng = random.Random(10 * number + seats)
            seeds = [rng.choice(["", "mine", "~ !\"'\\"]) for _ in range(seats)]
            options = [{"target": 60}, {"end": "elimination", "target": 40}, {"end": "hands", "hands": 3}][seats - 2]
            picks = rng.choice(["best", "player"])
            yield Game(Rules.preset(preset, picks=picks, **options), seats, rng.randbytes(32), seeds), rng


def never_ending(game, rng):
    """Play without a call to the end, so that every hand exhausts its stock."""
    while game.decision is not None:
        calm = [move for move in game.legal() if not move.endswith("!")]
        game.play("go" if "go" in calm else rng.choice(calm))
    return game


def drawn_record(game):
    return record_of(game, seating=draw_seats(game.server_seed, game.player_seeds))


def test_fresh_games_of_all_presets_are_fair(verify_doc):
    docs = [drawn_record(play_out(game, rng)) for game, rng in some_games()]
    docs += [drawn_record(never_ending(game, rng)) for game, rng in some_games()]
    docs += [record_of(play_out(game, rng)) for game, rng in some_games()]
    assert any(len(hand["reshuffles"]) == 2 for doc in docs for hand in doc["hands"])
    assert any(survivors_deal(doc) for doc in docs)
    assert unfair(verify_doc(*docs, status=0)) == [""] * len(docs)


def survivors_deal(doc):
    """Say whether the deal passed over an eliminated seat."""
    dealers = [hand["dealer"] for hand in doc["hands"]]
    return any((one + 1) % len(doc["seats"]) != other for one, other in zip(dealers, dealers[1:], strict=False))


def stopped_at_an_empty_stock():
    """Return a game that a fault stops as soon as a player, not asked yet, has got a new stock."""
    for policy in range(50):
        rng = random.Random(policy)
        game = Game(Rules.preset("common", calls="any"), 2, rng.randbytes(32))
        while game.decision is not None and not (game._hand.reshuffles and game._hand.at == 1):
            game.play(rng.choice([move for move in game.legal() if not move.endswith("!")]))
        if game.decision is not None:
            game.fault(0, "timeout")
            return game
    raise AssertionError("no hand got a new stock")


def test_games_with_faults_are_fair(verify_doc):
    docs = []
    for number, (game, rng) in enumerate(some_games()):
        play_out(game, rng, limit=7 * number)
        if game.decision is not None:
            game.fault(game.playing[-1], "crash", at_start=number == 0)
        docs.append(drawn_record(play_out(game, rng)))
    stopped = record_of(stopped_at_an_empty_stock())
    assert len(stopped["hands"][-1]["reshuffles"]) == 1 and stopped["result"]["how"] == "fault"
    docs.append(stopped)
    assert sum(bool(doc["faults"]) for doc in docs) > 5
    assert unfair(verify_doc(*docs, status=0)) == [""] * len(docs)
    stopped["hands"][-1]["reshuffles"][0].reverse()
    no = len(stopped["hands"])
    assert unfair(verify_doc(stopped, status=1))[0].startswith(f"hand {no}: reshuffle 1, card 1: expected ")


def altered(change, name="vector-public-6"):
    doc = copy.deepcopy(BY_ID[name])
    change(doc)
    return doc


def swap_cards(deck, one, other):
    assert deck[one] != deck[other]
    deck[one], deck[other] = deck[other], deck[one]


def decks_of(doc):
    """Yield number, name and cards of every deck and every new stock of a record."""
    for hand in doc["hands"]:
        yield hand["no"], "deck", hand["deck"]
        for number, cards in enumerate(hand["reshuffles"], 1):
            yield hand["no"], f"reshuffle {number}", cards


def test_every_single_altered_card_is_found_where_it_lies(verify_doc):
    doc = BY_ID["vector-eliminated-by-one-hand"]
    docs, places = [], []
    for place, (no, name, cards) in enumerate(decks_of(doc)):
        for index in range(0, len(cards), 3):
            lie = copy.deepcopy(doc)
            lying = list(decks_of(lie))[place][2]
            other = next(later for later in range(len(cards) - 1, -1, -1) if cards[later] != cards[index])
            swap_cards(lying, index, other)
            docs.append(lie)
            first = min(index, other)
            places.append(f"hand {no}: {name}, card {first + 1}: expected '{cards[first]}', found '{lying[first]}'")
    assert len(docs) > 100 and any("reshuffle 1" in place for place in places)
    assert unfair(verify_doc(*docs, status=1)) == places


def first_keep(hand):
    return next(number for number, move in enumerate(hand["moves"]) if move.startswith("k"))


LIES = {
    "seed": (lambda doc: doc["fairness"].update(server_seed="00" * 32), "commitment: expected "),
    "commitment": (lambda doc: doc["fairness"].update(commitment="ab" * 32), "commitment: expected "),
    "commitment in capitals": (
        lambda doc: doc["fairness"].update(commitment=doc["fairness"]["commitment"].upper()),
        "commitment: expected ",
    ),
    "player seed": (lambda doc: doc["fairness"]["player_seeds"].__setitem__(3, "x"), "seating, round 1, entrant '0'"),
    "player seeds exchanged": (lambda doc: doc["fairness"]["player_seeds"].reverse(), "seating, round 1, entrant '0'"),
    "card of the draw": (
        lambda doc: doc["seating"]["rounds"][0].update({"2": "Ad"}),
        "seating, round 1, entrant '2': expected ",
    ),
    "round too many": (lambda doc: doc["seating"]["rounds"].append({}), "seating: number of rounds: expected "),
    "round too few": (lambda doc: doc["seating"]["rounds"].pop(), "seating, round "),
    "entrant who did not draw": (
        lambda doc: doc["seating"]["rounds"][0].update({"7": "Ah"}),
        "seating, round 1, entrant '7': expected nothing, found 'Ah'",
    ),
    "seats": (lambda doc: doc["seats"].reverse(), "seat 0: entrant: expected "),
    "seat without entrant": (lambda doc: doc["seats"][1].pop("entrant"), "seat 1: entrant: expected "),
    "dealer": (lambda doc: doc["hands"][1].update(dealer=3), "hand 2: dealer: expected 1, found 3"),
    "number": (lambda doc: doc["hands"][1].update(no=3), "hand 2: no: expected 2, found 3"),
    "true for one": (lambda doc: doc["hands"][1].update(dealer=True), "hand 2: dealer: expected 1, found True"),
    "hand left out": (lambda doc: doc["hands"].pop(2), "hand 3: no: expected 3, found 4"),
    "deck too short": (
        lambda doc: doc["hands"][1]["deck"].pop(),
        "hand 2: deck, card 80: expected ",
    ),
    "deck too long": (
        lambda doc: doc["hands"][1]["deck"].append("As"),
        "hand 2: deck: number of cards: expected 80, found 81",
    ),
    "no card": (lambda doc: doc["hands"][1]["deck"].__setitem__(4, ["As"]), "found array of 1"),
    "reshuffle missing": (
        lambda doc: doc["hands"][0]["reshuffles"].clear(),
        "as the stock is empty, found none",
    ),
    "reshuffle too many": (
        lambda doc: doc["hands"][0]["reshuffles"].append([]),
        "hand 1: expected 1 reshuffles, as its moves use up the stock, found 2",
    ),
    "keep turned into a discard": (
        lambda doc: doc["hands"][0]["moves"].__setitem__(first_keep(doc["hands"][0]), "d"),
        "hand 1: reshuffle 1, card ",
    ),
    "moves too many": (lambda doc: doc["hands"][0]["moves"].extend(["d"] * 99), "as the stock is empty, found none"),
    "slot that is none": (lambda doc: doc["hands"][0]["moves"].__setitem__(2, "k4"), "hand 1, move 3: expected a move"),
    "own card swapped": (
        lambda doc: doc["hands"][0]["moves"].__setitem__(0, "s10"),
        "hand 1, move 1: expected a swap with another player of this hand, found s10 by seat 1",
    ),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_named_with_its_place(lie, verify_doc):
    change, where = LIES[lie]
    name = "vector-public-6"
    assert BY_ID[name]["hands"][0]["reshuffles"] and len(BY_ID[name]["hands"][0]["reshuffles"]) == 1
    output = verify_doc(altered(change, name), status=1)
    assert where in unfair(output)[0], output
    assert "dealt fairly: " not in output


def test_an_eliminated_player_gets_no_cards_and_no_deal(verify_doc):
    doc = next(doc for doc in RECORDS if doc["rules"]["end"] == "elimination" and survivors_deal(doc))
    target = doc["rules"]["target"]
    first = next(hand["no"] for hand in doc["hands"] if max(hand["end"]["totals"]) >= target)
    lie = copy.deepcopy(doc)
    lie["rules"]["end"] = "target"
    assert unfair(verify_doc(doc, status=0)) == [""]
    assert unfair(verify_doc(lie, status=1))[0].startswith(f"hand {first + 1}")


def test_the_other_files_are_checked_after_one_that_is_unfair(verify, tmp_path):
    paths = [tmp_path / name for name in ("unfair.json", "junk.json", "fair.json")]
    for path, text in zip(paths, [altered(LIES["seed"][0]), "junk", RECORDS[0]], strict=True):
        path.write_text(json.dumps(text), encoding="utf-8")
    output = verify(*paths, status=1)
    assert unfair(output)[1:] == [""] and "no record: expected a JSON object" in output
    assert "no record" in verify(paths[1], paths[2], status=2)


TRUE = json.dumps(RECORDS[14])
JUNK = {
    "empty": b"",
    "blank": b" \n\n",
    "text": b"hello",
    "not UTF-8": b'{"format": "\xff"}',
    "bytes": bytes(range(256)),
    "truncated": TRUE.encode()[:-400],
    "truncated over many lines": json.dumps(RECORDS[14], indent=1).encode()[:-400],
    "null": b"null",
    "list": b"[]",
    "object": b"{}",
    "number": b"1" * 6000,
    "long number": TRUE.replace('"no": 1,', '"no": ' + "1" * 6000 + ",").encode(),
    "deep list": b"[" * 200_000,
    "deep list that ends": b"[" * 100_000 + b"]" * 100_000,
    "deep objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "key twice": TRUE.replace('"no": 1,', '"no": 1, "no": 1,').encode(),
    "other format": TRUE.replace("soureh-record/1", "soureh-record/2").encode(),
    "other scheme": TRUE.replace("soureh-shuffle/1", "soureh-shuffle/2").encode(),
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_junk_gets_one_clear_message(junk, verify, tmp_path):
    path = tmp_path / "junk.json"
    path.write_bytes(junk)
    output = verify(path, status=2)
    assert len(output.splitlines()) == 2 and len(output) < 300
    assert re.search(r"^  no record: expected|^  no record: .*: expected", output, re.MULTILINE), output


def test_a_file_too_large_is_not_read(verify, tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(10 * 2**30)
    assert "expected at most 67108864 bytes" in verify(path, status=2)


@pytest.mark.parametrize("arguments", [[], ["-x"], ["--record", "a"]], ids=repr)
def test_a_wrong_usage_is_told_how(arguments, verify):
    assert "python3 verify_shuffles.py record.json" in verify(*arguments, status=2)


def test_help_is_no_failure(verify):
    assert "What it takes on trust" in verify("--help", status=0)


def test_what_cannot_be_opened_is_said(verify, tmp_path):
    assert "cannot be read" in verify(tmp_path, status=2)
    assert "No such file" in verify(tmp_path / "missing.json", status=2)


def deep(levels):
    value = "x"
    for _ in range(levels):
        value = {"0": value}
    return value


ODD = [None, True, 1.5, -1, 10**15, "x", "\udc80\x1b[2J", "a" * 10**5, [], {}, [[]], [None], {"0": 1}, deep(300), ...]
PATHS = [
    *("id", "format", "seats", "seats.0", "seats.0.entrant", "seating", "seating.how", "seating.rounds"),
    *("seating.rounds.0", "seating.rounds.0.0", "fairness", "fairness.scheme", "fairness.commitment"),
    *("fairness.server_seed", "fairness.player_seeds", "fairness.player_seeds.1", "hands", "hands.2", "hands.2.no"),
    *(
        "hands.2.dealer",
        "hands.2.deck",
        "hands.2.deck.79",
        "hands.2.reshuffles",
        "hands.2.reshuffles.0",
        "hands.2.moves",
    ),
    *("hands.2.moves.2", "hands.2.end", "hands.2.end.how", "hands.2.end.totals", "hands.2.end.totals.0", "rules"),
    *("rules.end", "rules.target"),
]


def put(doc, path, value):
    """Put `value` at `path`, the keys joined by dots; `...` takes the key away."""
    *way, last = path.split(".")
    place = doc
    for key in way:
        place = place[int(key) if isinstance(place, list) else key]
    last = int(last) if isinstance(place, list) else last
    if value is ...:
        del place[last]
    else:
        place[last] = value


def test_whatever_stands_in_a_place_there_is_no_traceback(verify_doc):
    true = BY_ID["vector-eliminated-by-one-hand"]
    assert true["rules"]["end"] == "elimination" and true["hands"][2]["reshuffles"]
    docs = []
    for path in PATHS:
        for value in ODD:
            doc = copy.deepcopy(true)
            put(doc, path, value)
            docs.append(doc)
    output = verify_doc(*docs, status=1)
    said = re.findall(r"^  (?:NOT DEALT FAIRLY|no record|dealt fairly): .*$", output, re.MULTILINE)
    assert len(said) == len(docs)
    assert max(map(len, said)) < 400 and "\x1b" not in output


def test_seeded_damage_never_ends_in_a_traceback(verify_doc):
    rng = random.Random(5)
    docs = []
    for _ in range(150):
        game = Game(Rules.preset(target=1), rng.choice([2, 3, 4]), rng.randbytes(32))
        while game.decision is not None:
            game.play(some_move(game, rng))
        doc = record_of(game)
        moves = rng.choice(doc["hands"])["moves"]
        at = rng.randrange(len(moves) + 1)
        moves[at : at + rng.randrange(3)] = rng.choices(["d", "k1!", "s03", "s33", "show", "go", "p----", "p", ""], k=2)
        docs.append(doc)
    output = verify_doc(*docs, status=1)
    assert len(unfair(output)) == len(docs)
