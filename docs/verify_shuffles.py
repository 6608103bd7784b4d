#!/usr/bin/env python3
"""Recompute every shuffle of finished Soureh matches, trusting nobody.

    python3 verify_shuffles.py record.json [more records, or files of JSON lines]

Needs Python 3.8 and nothing else. Read it: it is the rule of the fair shuffle, in the order in which things happen.

What it checks: the commitment, the draw for the deal, the deck of every hand, every reshuffle, and who dealt.
What it takes on trust: that the moves were legal, the totals right, no hand left out, and that seats which are
called fixed were fixed beforehand. And one thing only you can know: that the commitment it prints is the one that
you saw before the match began.

Exit status: 0 if all was dealt fairly, 1 if something differs, 2 for files that hold no record, or a wrong usage.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import signal
import sys

MAX_BYTES = 64 * 1024 * 1024  # of a file
RANKS = "A23456789T"  # low to high
NAMES = {dict: "object", list: "array", str: "string", int: "integer"}  # of JSON
SORTED_DECK = [rank + suit for suit in "shdc" for rank in RANKS] * 2
MOVE = re.compile(r"(?:k(?P<kept>[0-3])|s(?P<seat>[0-3])(?P<slot>[0-3])|d)!?|show|go|p[01*-]{4}")


class NoRecord(Exception):
    """This is no record at all."""


class Unfair(Exception):
    """Something differs from what the seed and the moves give."""


# The fair shuffle


class Stream:
    """The random integers of one label: HMAC-SHA256(key, "label:0"), "label:1" ..., four bytes each, big-endian."""

    def __init__(self, key, label):
        self.key, self.label, self.block, self.bytes = key, label, 0, b""

    def below(self, m):
        """Return the next integer below m. Numbers from the last, incomplete run of m are skipped: no bias."""
        while True:
            if not self.bytes:
                self.bytes = hmac.new(self.key, f"{self.label}:{self.block}".encode("ascii"), hashlib.sha256).digest()
                self.block += 1
            number, self.bytes = int.from_bytes(self.bytes[:4], "big"), self.bytes[4:]
            if number < 2**32 - 2**32 % m:
                return number % m

    def shuffled(self, cards):
        """Return the cards in a new order, by Fisher-Yates from the back."""
        cards = list(cards)
        for i in range(len(cards) - 1, 0, -1):
            j = self.below(i + 1)
            cards[i], cards[j] = cards[j], cards[i]
        return cards


def deal(key, hand):
    """Return the shuffled and cut deck of a hand, the top first."""
    stream = Stream(key, f"deal/{hand}")
    deck = stream.shuffled(SORTED_DECK)
    cut = stream.below(80)
    return deck[cut:] + deck[:cut]


def draw_for_the_deal(key, players):
    """Return the rounds of the draw, and the entrants in the order of their seats.

    Each draws a card; all whose rank is also another's draw again. The lowest takes seat 0 and deals first.
    """
    deck, lies, rounds, drawing = Stream(key, "seats").shuffled(SORTED_DECK), {}, [], list(range(players))
    while drawing:
        drawn = {entrant: deck.pop(0) for entrant in drawing}
        rounds.append({str(entrant): card for entrant, card in drawn.items()})
        lies.update(drawn)
        ranks = [card[0] for card in lies.values()]
        drawing = [entrant for entrant in sorted(lies) if ranks.count(lies[entrant][0]) > 1]
    return rounds, sorted(lies, key=lambda entrant: RANKS.index(lies[entrant][0]))


# One match


def check(record):
    """Yield a line for each thing that was recomputed; raise Unfair at the first that differs."""
    fairness = get(record, "fairness", dict)
    if record.get("format") != "soureh-record/1" or fairness.get("scheme") != "soureh-shuffle/1":
        raise NoRecord("expected format soureh-record/1 with the scheme soureh-shuffle/1")
    players, hands = len(get(record, "seats", list, of=dict)), get(record, "hands", list, of=dict)
    seed, seeds = get(fairness, "server_seed", str), get(fairness, "player_seeds", list, of=str)
    if not re.fullmatch("[0-9a-f]{64}", seed):
        raise NoRecord(f"server_seed: expected 64 lower-case hex digits, found {show(seed)}")
    if not 2 <= players <= 4 or len(seeds) != players or not hands:
        raise NoRecord("expected 2 to 4 seats, a player_seed for each, and at least one hand")
    if not all(re.fullmatch("[ -~]{0,64}", each) for each in seeds):
        raise NoRecord("player_seeds: expected up to 64 printable ASCII characters each")
    yield f"match       {show(record.get('id'))}, {players} players, {len(hands)} hands"

    commitment = hashlib.sha256(bytes.fromhex(seed)).hexdigest()
    same("commitment", commitment, get(fairness, "commitment", str))
    yield f"commitment  {commitment} = SHA-256 of the seed; is it what you saw before the match?"
    key = hmac.new(bytes.fromhex(seed), "\n".join(seeds).encode("ascii"), hashlib.sha256).digest()
    yield f"key         {key.hex()}, of the seed and the player seeds {seeds}"
    yield check_seats(record, key, players)

    playing, dealer = list(range(players)), 0
    for number, hand in enumerate(hands, 1):
        same(f"hand {number}: no", number, hand.get("no"))
        same(f"hand {number}: dealer", dealer, hand.get("dealer"))
        yield check_hand(hand, number, key, playing, dealer)
        playing = still_playing(record, hand, playing)
        if number < len(hands) and len(playing) < 2:
            raise Unfair(f"hand {number + 1}: expected no more hands, found one although only {playing} are left")
        # The deal passes one seat clockwise, over eliminated players.
        dealer = next((seat for seat in playing if seat > dealer), min(playing, default=0))


def check_seats(record, key, players):
    """Recompute the draw for the deal, and who therefore sits where."""
    seating = get(record, "seating", dict)
    if seating.get("how") == "fixed":
        return "seats       fixed before the match, nothing was drawn"
    rounds, order = draw_for_the_deal(key, players)
    found = get(seating, "rounds", list, of=dict)
    for number, drawn in enumerate(rounds):
        recorded = found[number] if number < len(found) else {}
        for entrant in sorted({*drawn, *recorded}):
            where = f"seating, round {number + 1}, entrant {show(entrant)}"
            same(where, drawn.get(entrant), recorded.get(entrant))
    same("seating: number of rounds", len(rounds), len(found))
    for seat, entrant in enumerate(order):
        same(f"seat {seat}: entrant", entrant, record["seats"][seat].get("entrant"))
    said = (", ".join(f"entrant {entrant} {card}" for entrant, card in drawn.items()) for drawn in rounds)
    return f"seats       drawn: {'; again: '.join(said)}. So from seat 0 on sit the entrants {order}"


def check_hand(hand, number, key, playing, dealer):
    """Recompute a hand's deck and follow its cards, as every reshuffle is one of the discards as they lie."""
    where, moves = f"hand {number}", get(hand, "moves", list, of=str)
    recorded = get(hand, "reshuffles", list, of=list)
    stock = deal(key, number)
    same_cards(f"{where}: deck", stock, get(hand, "deck", list))
    line = f"hand {number:<6} deal/{number}: {' '.join(stock[:8])} ... as recorded"

    # From the dealer's left on, each gets eight cards in a row: four face-down, then four face-up.
    order = [seat for seat in playing if seat > dealer] + [seat for seat in playing if seat <= dealer]
    down, up, discards, turns, reshuffles = {}, {}, [], 0, 0
    for seat in order:
        down[seat], up[seat], stock = stock[:4], stock[4:8], stock[8:]

    def reshuffle(why):
        if reshuffles >= len(recorded):
            raise Unfair(f"{why}: expected reshuffle {reshuffles + 1}, as the stock is empty, found none recorded")
        made = Stream(key, f"reshuffle/{number}/{reshuffles + 1}").shuffled(discards)
        same_cards(f"{where}: reshuffle {reshuffles + 1}", made, recorded[reshuffles])
        return made

    for count, text in enumerate(moves, 1):
        here, move = f"{where}, move {count}", MOVE.fullmatch(text)
        if not move:
            raise Unfair(f"{here}: expected a move, found {show(text)}")
        if text[0] == "p" or text in ("show", "go"):
            continue  # no card moves
        if not stock:
            stock, discards, reshuffles = reshuffle(here), [], reshuffles + 1
            line += f", reshuffle/{number}/{reshuffles}: {' '.join(stock[:4])} ... as recorded"
        seat, drawn = order[turns % len(order)], stock.pop(0)
        turns += 1
        if move["kept"]:  # face-down into his own slot; what lay there is discarded
            slot = int(move["kept"])
            drawn, down[seat][slot] = down[seat][slot], drawn
        elif move["seat"]:  # face-up into another's slot; what lay there is discarded
            other, slot = int(move["seat"]), int(move["slot"])
            if other == seat or other not in up:
                raise Unfair(f"{here}: expected a swap with another player of this hand, found {text} by seat {seat}")
            drawn, up[other][slot] = up[other][slot], drawn
        discards.append(drawn)
    # A hand that a fault stopped may have had a new stock that nobody played from.
    if not stock and reshuffles < len(recorded) and get(hand, "end", dict).get("how") == "stopped":
        reshuffle(where)
        reshuffles += 1
    if reshuffles < len(recorded):
        raise Unfair(f"{where}: expected {reshuffles} reshuffles, as its moves use up the stock, found {len(recorded)}")
    return line


def still_playing(record, hand, playing):
    """Return who plays on: in a game by elimination nobody whose recorded total has reached the target."""
    rules, end = get(record, "rules", dict), get(hand, "end", dict)
    if rules.get("end") != "elimination" or end.get("how") == "stopped":
        return playing
    totals, target = get(end, "totals", list, of=int), get(rules, "target", int)
    if len(totals) != len(record["seats"]):
        raise NoRecord("totals: expected one for each seat")
    return [seat for seat in playing if totals[seat] < target]


# Comparing, reading


def same(where, expected, found):
    """Raise Unfair unless both are the same; True is not 1."""
    if type(expected) is not type(found) or expected != found:
        raise Unfair(f"{where}: expected {show(expected)}, found {show(found)}")


def same_cards(where, expected, found):
    """Raise Unfair at the first card that differs."""
    for number, card in enumerate(expected, 1):
        same(f"{where}, card {number}", card, found[number - 1] if number <= len(found) else None)
    same(f"{where}: number of cards", len(expected), len(found))


def get(doc, key, kind, of=None):
    """Return doc[key] if it has the right type, and its items too."""
    value = doc.get(key)
    if type(value) is not kind or (of and any(type(item) is not of for item in value)):
        items = f" of {NAMES[of]}s" if of else ""
        raise NoRecord(f"{key}: expected JSON {NAMES[kind]}{items}, found {show(value)}")
    return value


def show(value):
    """Return a short text in plain ASCII, whatever a stranger has put into the file."""
    if value is None or isinstance(value, (dict, list)):
        return "nothing" if value is None else f"{NAMES[type(value)]} of {len(value)}"
    text = ascii(value)
    return text if len(text) < 80 else text[:76] + "..."


def parse(data):
    """Return the one JSON object in these bytes."""

    def once(pairs):
        if len(dict(pairs)) < len(pairs):
            raise NoRecord("expected each key of an object once")
        return dict(pairs)

    def integer(text):
        if len(text) > 20:
            raise NoRecord("expected no number of more than 20 digits")
        return int(text)

    try:
        record = json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_int=integer)
    except RecursionError:
        raise NoRecord("expected a record, found something nested too deeply") from None
    except ValueError as error:
        raise NoRecord(f"expected JSON in UTF-8: {error}") from None
    if not isinstance(record, dict):
        raise NoRecord("expected a JSON object")
    return record


def documents(path):
    """Return the documents in a file, each as bytes: it is one record, or has a record in each line."""
    with open(path, "rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise NoRecord(f"expected at most {MAX_BYTES} bytes; split a file of many records")
    lines = [line for line in data.splitlines() if line.strip()]
    try:
        parse(lines[0] if lines else b"")
    except NoRecord:
        return [data]
    return lines


def report(name, data):
    """Print what was recomputed of one document, and return the exit status."""
    print(name)
    try:
        for line in check(parse(data)):
            print("  " + line)
    except Unfair as error:
        print(f"  NOT DEALT FAIRLY: {error}")
        return 1
    except NoRecord as error:
        print(f"  no record: {error}")
        return 2
    print("  dealt fairly: every card is where the seed put it")
    return 0


def main(paths):
    """Check all files; 1 if anything differs, else 2 if anything is no record."""
    if not paths or any(path.startswith("-") for path in paths):
        print(__doc__)
        return 0 if paths in (["-h"], ["--help"]) else 2
    sys.stdout.reconfigure(errors="backslashreplace")
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it quietly
    found = set()
    for path in paths:
        try:
            lines = documents(path)
        except (OSError, NoRecord) as error:
            print(f"{path}\n  cannot be read: {error}")
            found.add(2)
            continue
        for number, data in enumerate(lines, 1):
            found.add(report(path if len(lines) < 2 else f"{path}, record {number}", data))
    return 1 if 1 in found else max(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
