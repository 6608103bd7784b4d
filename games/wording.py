"""Say in words what lies and happens on a table.

`words()` holds every sentence, with named gaps, in the reader's language: the templates and the page's
module (which gets them in `data-words`) fill in the same ones. Nothing here decides anything.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

HIDDEN = "??"


def fairness_words() -> dict[str, Any]:
    """Return what the page's module says while it recomputes a match, and of the first thing that differs."""
    wrong = _("{expected} expected, {found} found")
    return {
        "again": _("Recompute it again"),
        "fair": _("This match was dealt fairly."),
        "fair_more": _("Recomputed and equal to the record: decks {hands}, reshuffles {reshuffles}, the seats, the commitment."),  # noqa: E501
        "unfair": _("This match was not dealt fairly."),
        "unfair_more": _("{place}."),
        "no_record": _("Nothing can be said."),
        "no_record_more": _("What came is no record of a match. Load the page and try it again."),
        "not_fetched": _("The record could not be fetched."),
        "not_fetched_more": _("Nothing is lost; try it again."),
        "no_crypto": _("This page cannot recompute the match."),
        "no_crypto_more": _("Browsers compute hashes only on pages that come over https or from this very computer. The script below needs no browser."),  # noqa: E501
        "nothing": _("nothing"),
        "none": _("none"),
        "same": _("as recorded"),
        "commitment": _("SHA-256 of the seed:"),
        "player_seeds": _("The players' own seeds:"),
        "key": _("Key, of the seed and the players' seeds:"),
        "fixed_seats": _("The seats were fixed before the match; nothing was drawn."),
        "round": _("Draw for the deal, round {round}:"),
        "hand": _("Hand {hand} ({label}):"),
        "new_stock": _("Hand {hand}, new stock ({label}):"),
        "places": {
            "commitment": f"{_('The record has another commitment')}: {wrong}",
            "published": f"{_('This page shows another commitment')}: {wrong}",
            "draw": f"{_('Draw for the deal, round {round}, entrant {entrant}')}: {wrong}",
            "rounds": f"{_('Rounds of the draw')}: {wrong}",
            "seat": f"{_('Entrant in seat {seat}, counted from 0')}: {wrong}",
            "number": f"{_('Hand {hand}, its number')}: {wrong}",
            "over": _("Hand {hand}: only one player was left, so there should be none"),
            "dealer": f"{_('Hand {hand}, seat of the dealer, counted from 0')}: {wrong}",
            "deck": f"{_('Hand {hand}, card {card} of the deck')}: {wrong}",
            "deck_size": f"{_('Hand {hand}, cards in the deck')}: {wrong}",
            "reshuffle": f"{_('Hand {hand}, card {card} of reshuffle {number}')}: {wrong}",
            "reshuffle_size": f"{_('Hand {hand}, cards in reshuffle {number}')}: {wrong}",
            "reshuffles": f"{_('Hand {hand}, reshuffles')}: {wrong}",
            "no_reshuffle": _("Hand {hand}, move {move}: the stock was empty, but reshuffle {number} is not recorded"),
            "no_move": _("Hand {hand}, move {move}: {found} is no move"),
            "no_swap": _("Hand {hand}, move {move}: {found} swaps with nobody else in this hand"),
        },
    }  # fmt: skip


def words() -> dict[str, Any]:
    """Return the sentences by key, for `str.format` and for the page's module."""
    return {"ranks": _ranks(), "suits": _suits()} | _card_words() | _happenings() | _table_words()


def _ranks() -> dict[str, str]:
    return {
        "A": _("ace"), "2": _("two"), "3": _("three"), "4": _("four"), "5": _("five"),
        "6": _("six"), "7": _("seven"), "8": _("eight"), "9": _("nine"), "T": _("ten"),
    }  # fmt: skip


def _suits() -> dict[str, str]:
    return {"s": _("spades"), "h": _("hearts"), "d": _("diamonds"), "c": _("clubs")}


def _card_words() -> dict[str, str]:
    return {
        "card": _("{rank} of {suit}"),
        "hidden_card": _("face-down card"),
        "no_card": _("no card"),
        "up": _("slot {slot}, face up: {card}"),
        "down": _("slot {slot}, face down"),
        "down_own": _("slot {slot}, face down: {card}, only you see this"),
        "down_shown": _("slot {slot}, face down: {card}"),
        "up_none": _("slot {slot}, face up: no card"),
        "down_none": _("slot {slot}, face down: no card"),
    }


def _happenings() -> dict[str, str]:
    return {
        "keep": _("{name} kept into slot {slot}, throwing the {card}"),
        "swap": _("{name} put the {card} into {other}’s slot {slot}"),
        "discard": _("{name} discarded face down"),
        "called": _("{move}, and called Soureh"),
        "show": _("{name} showed four valid coops"),
        "go": _("{name} went on; the call is over"),
        "pick": _("{name} picked the cards to count"),
        "call_lapsed": _("{name}’s call lapsed"),
        "reshuffle": _("The discards were shuffled into a new stock"),
        "fault": _("{name} is out of step ({kind}) and plays on by itself"),
        "hand": _("Hand {no}: {name} deals"),
        "hand_won": _("{name} won hand {no}: {points}"),
        "hand_washout": _("Hand {no} was washed out: {points}"),
        "hand_stopped": _("Hand {no} was stopped"),
        "game_end": _("The game is over: {places}"),
        "scored": _("{name} +{points}"),
        "scored_bonus": _("{name} +{points} −{bonus}"),
        "placed": _("{place}. {name} ({total})"),
        "resigned": _("{name} resigned"),
        "left": _("{name} left the table"),
    }


def _table_words() -> dict[str, str]:
    return {
        "call": _("{name} called Soureh."),
        "call_waiting": _("Still to play: {names}."),
        "call_decides": _("{name} now shows or goes on."),
        "shield_open": _("One of the caller’s cards may still be replaced."),
        "shield_used": _("The caller’s cards are safe now."),
        "valid": _("valid coop"),
        "invalid": _("not valid yet"),
        "drawn_by": _("{name} drew"),
        "drawn_own": _("You drew the {card}"),
        "stock": _("{count} in the stock"),
        "discards": _("{count} discarded, on top: {card}"),
        "to_move": _("to move"),
        "dealer": _("dealer"),
        "out": _("out of the game"),
        "faulted": _("autopilot"),
        "last_move": _("last move"),
        "hand_no": _("Hand {no}"),
        "your_turn": _("Your turn"),
        "hurry": _("{seconds} seconds left for your move"),
        "call_toggle": _("Call Soureh with this move"),
        "discard_button": _("Discard"),
        "show_button": _("Show and win the hand"),
        "go_button": _("Go on"),
        "confirm_button": _("Count these cards"),
        "sure_button": _("Really resign?"),
        "turn": _("Your turn. Keep the {card} in one of your slots, swap it for an opponent’s card, or discard it."),
        "turn_call": _("Choose where the {card} goes; with that move you call Soureh."),
        "decide": _("Nobody broke your call. Show your coops and win the hand, or go on."),
        "pick_turn": _("Choose one card in each coop; their values are added to your total."),
        "pick_one_turn": _("Choose the coop whose two cards are added to your total."),
        "waiting": _("{name} is to move."),
        "finished": _("The game is over."),
        "void": _("This table was closed; the game does not count."),
        "unknown": _("There is no such table, or it is not open to you."),
        "act_keep": _("Keep the drawn card in slot {slot}, throwing the {card}"),
        "act_swap": _("Put the drawn card in place of {other}’s {card}, slot {slot}"),
        "act_discard": _("Discard the drawn card face down"),
        "act_call": _("and call Soureh"),
        "act_pick": _("Count the {card} of slot {slot}"),
        "act_pick_coop": _("Count both cards of slot {slot}"),
        "sending": _("Sending your move …"),
        "resent": _("The connection is back; your move was sent again."),
        "connecting": _("Connecting to the table …"),
        "connected": _("Connected."),
        "lost": _("The connection was lost. Nothing is lost at the table; trying again in {seconds} s."),
        "refused": _("That move was not taken: {detail}. Nothing was lost; choose again."),
        "unanswered": _("No answer to your move yet. It will be taken once, whenever it arrives."),
        "problem": _("The table could not answer: {detail}"),
        "watching": _("{count} watching"),
        "expand": _("Show all of {name}’s cards"),
        "collapse": _("Show fewer of {name}’s cards"),
        "step": _("Hand {hand}, step {step} of {steps}"),
        "play": _("Play"),
        "pause": _("Pause"),
        "load_failed": _("The replay could not be loaded. The links before and after still work."),
        "ms": _("{ms} ms"),
    }


def card_name(code: str | None) -> str:
    """Return `ten of diamonds` for `Td`, and words for a hidden card and for none."""
    text = _card_words()
    if code is None:
        return text["no_card"]
    if code == HIDDEN:
        return text["hidden_card"]
    return text["card"].format(rank=_ranks()[code[0]], suit=_suits()[code[1]])


def slot_label(face: str, slot: int, code: str | None, *, own: bool = False) -> str:
    """Say what lies in a slot; `face` is `up` or `down`, `own` that only its owner sees a face-down card."""
    text = _card_words()
    if code is None:
        key = f"{face}_none"
    elif face == "up":
        key = "up"
    elif code == HIDDEN:
        key = "down"
    else:
        key = "down_own" if own else "down_shown"
    return text[key].format(slot=slot + 1, card=card_name(code))


def describe(event: Mapping[str, Any], names: Sequence[str]) -> str:
    """Say one happening of a table's log in a sentence. `names` is by seat."""
    if "move" in event:
        return _describe_move(event, names)
    text, kind = _happenings(), event["event"]
    if kind == "hand_end":
        return _describe_hand_end(event, names)
    if kind == "game_end":
        ranked = sorted(zip(event["places"], names, event["totals"], strict=True))
        placed = (text["placed"].format(place=place, name=name, total=total) for place, name, total in ranked)
        return text["game_end"].format(places=", ".join(placed))
    if kind == "hand":
        return text["hand"].format(no=event["no"], name=names[event["dealer"]])
    if kind == "reshuffle":
        return text["reshuffle"]
    key = event["kind"] if kind == "fault" and event["kind"] in ("resigned", "left") else kind
    return text[key].format(name=names[event["seat"]], kind=event.get("kind", ""))


def _describe_move(event: Mapping[str, Any], names: Sequence[str]) -> str:
    text, name, move = _happenings(), names[event["seat"]], event["move"].removesuffix("!")
    if move in ("show", "go"):
        said = text[move].format(name=name)
    elif move[0] == "k":
        said = text["keep"].format(name=name, slot=int(move[1]) + 1, card=card_name(event["out"]))
    elif move[0] == "s":
        other = names[int(move[1])]
        said = text["swap"].format(name=name, card=card_name(event["card"]), other=other, slot=int(move[2]) + 1)
    elif move[0] == "p":
        said = text["pick"].format(name=name)
    else:
        said = text["discard"].format(name=name)
    return text["called"].format(move=said) if event["move"].endswith("!") else said


def _describe_hand_end(event: Mapping[str, Any], names: Sequence[str]) -> str:
    text = _happenings()
    if event["end"] == "stopped":
        return text["hand_stopped"].format(no=event["no"])
    scored = ", ".join(
        text["scored_bonus" if bonus else "scored"].format(name=name, points=points, bonus=bonus)
        for name, points, bonus in zip(names, event["points"], event["bonus"], strict=True)
        if points
    )
    if event["end"] == "washout":
        return text["hand_washout"].format(no=event["no"], points=scored)
    return text["hand_won"].format(no=event["no"], name=names[event["winner"]], points=scored)


def describe_choice(move: str, view: Mapping[str, Any], names: Sequence[str]) -> str:
    """Say what one of the reader's legal moves would do; `view` is his own."""
    text, plain = _table_words(), move.removesuffix("!")
    if plain in ("show", "go"):
        return text[f"{plain}_button"]
    if plain[0] == "k":
        card = card_name(view["down"][view["you"]][int(plain[1])])
        said = text["act_keep"].format(slot=int(plain[1]) + 1, card=card)
    elif plain[0] == "s":
        seat, slot = int(plain[1]), int(plain[2])
        card = card_name(view["up"][seat][slot])
        said = text["act_swap"].format(other=names[seat], card=card, slot=slot + 1)
    elif plain[0] == "p":
        said = _describe_pick(plain[1:], view)
    else:
        said = text["act_discard"]
    return f"{said}, {text['act_call']}" if move.endswith("!") else said


def _describe_pick(marks: str, view: Mapping[str, Any]) -> str:
    text, you = _table_words(), view["you"]
    if "*" in marks:
        return text["act_pick_coop"].format(slot=marks.index("*") + 1)
    rows = ("down" if mark == "0" else "up" for mark in marks)
    return ", ".join(card_name(view[row][you][slot]) for slot, row in enumerate(rows))
