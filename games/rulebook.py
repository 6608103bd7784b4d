"""The rules of Soureh in words: numbered rules, options and presets, for the page and for the engine's README.

`python -m games.rulebook` writes the rules into `games/engine/README.md`; a test holds that both agree. Numbers come
from the order below, and comments in the code cite them ("rules 4.6"): a new rule goes to the end of its section. In
the texts `…` is code, **…** a word that is being explained, and 4.6 a rule. Which values exist and which preset takes
which is the engine's; nothing here decides anything.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from games.engine import PRESETS

README = Path(__file__).parent / "engine" / "README.md"
BEGIN = "<!-- Written by python -m games.rulebook -->\n"
END = "<!-- End of the rules -->\n"

Text = StrOrPromise


class Choice(NamedTuple):
    """A value that an option may take: in a few words, and as the sentence that holds where it is taken.

    The sentence may have the gaps `%(target)s` and `%(hands)s`.
    """

    value: Any
    label: Text
    text: Text
    is_platform: bool = False


class Option(NamedTuple):
    """An option of the rules: either `choices`, or a number from `low` to `high`, and perhaps none (`none`)."""

    label: Text
    choices: tuple[Choice, ...] = ()
    low: int = 0
    high: int = 0
    none: Text = ""


class Rule(NamedTuple):
    """A numbered rule; `options` are decided by it, `examples` are coops, face-up card first."""

    text: Text
    options: tuple[str, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    is_platform: bool = False


class Section(NamedTuple):
    """Rules under one heading: all of them the platform's (`is_platform`), followed by the presets (`has_presets`)."""

    title: Text
    rules: tuple[Rule, ...]
    is_platform: bool = False
    has_presets: bool = False


class Numbered(NamedTuple):
    """A rule with its number, as in `4.6`."""

    number: str
    rule: Rule
    is_platform: bool


OPTIONS: Mapping[str, Option] = {
    "coop_colour": Option(
        _("Colours of a coop"),
        (
            Choice("any", _("any"), _("The two cards of a coop may have any colours.")),
            Choice(
                "same", _("the same"), _("The face-down card of a coop must also have the colour of the face-up card.")
            ),
        ),
    ),
    "aces": Option(
        _("Aces in a coop"),
        (
            Choice(
                "either",
                _("either card"),
                _("A coop with one ace, face-up or face-down, is valid whatever the colours; two aces are not valid."),
            ),
            Choice(
                "front",
                _("the face-up card"),
                _(
                    "A face-up ace makes a valid coop with any face-down card but an ace, whatever the colours; "
                    "a face-down ace counts as rank 1."
                ),
            ),
        ),
    ),
    "ace_guard": Option(
        _("Guard of face-up aces"),
        (
            Choice("ten", _("only a ten replaces them"), _("An opponent’s face-up ace may be replaced by a ten only.")),
            Choice("always", _("nothing replaces them"), _("An opponent’s face-up ace may not be replaced at all.")),
        ),
    ),
    "calls": Option(
        _("Who may call"),
        (
            Choice(
                "valid",
                _("with four valid coops"),
                _("You may call only if all four of your coops are valid after the move."),
            ),
            Choice(
                "any",
                _("anybody"),
                _("You may call whatever you hold: a bluff or an error costs nothing but the last turns it grants."),
            ),
        ),
    ),
    "caller_shield": Option(_("Replacements after a call"), low=0, high=12, none=_("no limit")),
    "scoring": Option(
        _("Scoring"),
        (
            Choice(
                "every",
                _("one card of each coop"),
                _(
                    "Everybody but the winner picks one of the two cards in each of their four coops, valid or not, "
                    "and adds the four values to their total."
                ),
            ),
            Choice(
                "one",
                _("both cards of one coop"),
                _("Everybody but the winner picks one of their coops and adds the values of both its cards."),
            ),
        ),
    ),
    "ace_values": Option(
        _("An ace is worth"),
        (
            Choice((1,), _("1"), _("An ace is worth 1.")),
            Choice(
                (1, 11),
                _("1 or 11"),
                _(
                    "An ace is worth 1 or 11, as its owner likes: each picked ace counts whichever value gives the "
                    "lowest resulting total."
                ),
            ),
        ),
    ),
    "century_bonus": Option(
        _("Century bonus"),
        (
            Choice(
                True,
                _("yes"),
                _(
                    "If you have added points in this hand and your new total is evenly divisible by 100, you subtract "
                    "50, at once."
                ),
            ),
            Choice(False, _("no"), _("A total that is a round hundred earns no bonus.")),
        ),
    ),
    "end": Option(
        _("The game ends"),
        (
            Choice(
                "target",
                _("at the target"),
                _(
                    "The game ends after the hand in which a player’s total reaches or exceeds %(target)s; "
                    "the lowest total wins."
                ),
            ),
            Choice(
                "elimination",
                _("with the last one left"),
                _("A player whose total reaches or exceeds %(target)s leaves the game; the last one left wins."),
            ),
            Choice(
                "hands",
                _("after a number of hands"),
                _("The game ends when this many hands have been played: %(hands)s. The lowest total wins."),
                is_platform=True,
            ),
        ),
    ),
    "target": Option(_("Target"), low=1, high=10_000),
    "hands": Option(_("Number of hands"), low=1, high=1_000, none=_("none")),
    "max_reshuffles": Option(_("Reshuffles in a hand"), low=0, high=10),
    "picks": Option(
        _("Picks"),
        (
            Choice(
                "best",
                _("made for the players"),
                _(
                    "The pick is made for you: the one with the lowest resulting total after the bonus; among equals "
                    "the smallest as it is written (8.6)."
                ),
            ),
            Choice(
                "player",
                _("made by the players"),
                _("You pick yourself: one decision each, in seat order from the dealer’s left."),
            ),
        ),
    ),
}

PRESET_LABELS: Mapping[str, Text] = {
    "classic": _("Classic: any colours, the game ends at 250"),
    "common": _("Common: one colour a coop, one coop is scored, the game ends at 100"),
    "inventor": _("Inventor’s: as classic, and an ace counts 1 or 11"),
}

SECTIONS: tuple[Section, ...] = (
    Section(
        _("The deck"),
        (
            Rule(
                _(
                    "Soureh is played with two standard packs without jokers, jacks, queens and kings. That makes "
                    "eighty cards of ten ranks; each rank is there eight times, four red and four black."
                )
            ),
            Rule(_("The ranks from high to low are 10 9 8 7 6 5 4 3 2 A. The ace is the lowest card.")),
            Rule(
                _("Hearts and diamonds are red, spades and clubs are black. The two copies of a card are alike."),
            ),
            Rule(
                _(
                    "A card is written as its rank, one of `A 2 3 4 5 6 7 8 9 T`, and its suit, one of `s h d c`: "
                    "`Td` is the ten of diamonds."
                )
            ),
        ),
    ),
    Section(
        _("Players, seats, dealer"),
        (
            Rule(
                _(
                    "Two, three or four play. Seats are numbered clockwise, from 0 in moves and records. To the left "
                    "of a seat is the one with the next number, and to the left of the last one seat 0."
                )
            ),
            Rule(
                _(
                    "Before the first hand the players **draw for the deal**: each draws a card from a shuffled deck. "
                    "Players whose rank equals the rank of another player’s current card draw again, and only they, "
                    "until all ranks differ."
                )
            ),
            Rule(
                _("Players sit in ascending order of rank: the lowest takes seat 0 and deals the first hand."),
            ),
            Rule(
                _(
                    "A match that fixes its seats in advance, such as one of a duplicate set or a rematch with rotated "
                    "seats, skips the draw. The record says which was used."
                )
            ),
            Rule(_("After each hand the deal passes one seat clockwise, over players who are out of the game.")),
        ),
    ),
    Section(
        _("The deal"),
        (
            Rule(_("The dealer shuffles, and the player on the dealer’s right cuts.")),
            Rule(
                _(
                    "Then, from the dealer’s left and clockwise, each player in turn gets eight cards in a row: four "
                    "face-down into the slots 0 to 3, then four face-up into the slots 0 to 3."
                )
            ),
            Rule(_("The face-down and the face-up card of one slot are a **coop**, a pair.")),
            Rule(_("The rest of the deck is the face-down **stock**.")),
            Rule(_("You always see your own face-down cards, and nobody else’s before the hand is over.")),
            Rule(_("The player on the dealer’s left takes the first turn; turns pass clockwise.")),
        ),
    ),
    Section(
        _("A turn"),
        (
            Rule(
                _(
                    "On your turn you draw the top card of the stock; only you see it. Then you do exactly one of "
                    "three things: keep it (4.2), swap it (4.3) or discard it (4.4)."
                )
            ),
            Rule(
                _(
                    "**Keep**, written `k` and the slot, as in `k2`: the drawn card goes face-down into that slot of "
                    "yours; the card that lay there goes face-up on the discard pile."
                )
            ),
            Rule(
                _(
                    "**Swap**, written `s`, the seat and the slot, as in `s13`: the drawn card replaces that "
                    "opponent’s face-up card, face-up; the replaced card goes face-down to the discard pile."
                )
            ),
            Rule(_("**Discard**, written `d`: the drawn card goes face-down to the discard pile.")),
            Rule(_("You may not swap a card of your own, nor one of a player who is out of the game.")),
            Rule(_("A face-up ace is guarded against swaps."), options=("ace_guard",)),
            Rule(
                _(
                    "**Calling.** With your move you may call “Soureh” if no call stands. It is written `!` after the "
                    "move: `k2!`, `s13!`, `d!`."
                ),
                options=("calls",),
            ),
            Rule(
                _(
                    "Drawing, moving and calling are one decision: when you move, you know everything that you need "
                    "for the call."
                )
            ),
        ),
    ),
    Section(
        _("Valid coops"),
        (
            Rule(
                _("A red face-up card makes a valid coop if it is lower than the face-down card."),
                examples=(("4h", "9h"), ("9h", "4h")),
            ),
            Rule(
                _("A black face-up card makes a valid coop if it is higher than the face-down card."),
                examples=(("9s", "4s"), ("4s", "9s")),
            ),
            Rule(
                _("Two cards of equal rank are never a valid coop, and two aces are no exception."),
                examples=(("6d", "6h"), ("As", "Ah")),
            ),
            Rule(
                _("Whether the colours of the two cards matter is an option."),
                options=("coop_colour",),
                examples=(("4h", "9s"), ("9s", "4h")),
            ),
            Rule(
                _("An ace makes a valid coop where its rank alone would not."),
                options=("aces",),
                examples=(("As", "9h"), ("4h", "Ad"), ("9c", "As")),
            ),
        ),
    ),
    Section(
        _("After a call"),
        (
            Rule(_("Each other player who is still in the hand takes one more turn, in order.")),
            Rule(_("Nobody else may call while a call stands.")),
            Rule(
                _(
                    "Before the caller’s next turn the caller’s face-up cards may be replaced only so often, by all "
                    "the others together: `caller_shield` is the number of replacements, and `null` lifts the limit. "
                    "The ace guard (4.6) holds as always."
                ),
                options=("caller_shield",),
            ),
            Rule(_("A reshuffle (7.1) leaves a call standing.")),
            Rule(
                _(
                    "At the start of the caller’s next turn, before any draw: if the caller’s four coops are valid, "
                    "the caller may `show` them and wins the hand, or may `go` on instead. Then the call lapses, and "
                    "the caller draws and plays as usual: `go` and the move are two decisions."
                )
            ),
            Rule(
                _("If the four coops are not all valid, the call lapses by itself and the caller plays as usual."),
            ),
            Rule(_("Whether the call lapsed by `go` or by itself, the caller may call again with that very turn.")),
        ),
    ),
    Section(
        _("When the stock runs out"),
        (
            Rule(
                _(
                    "A player who must draw from an empty stock first gets a new one: all discards, face-up and "
                    "face-down, are shuffled."
                )
            ),
            Rule(
                _(
                    "After `max_reshuffles` reshuffles in a hand, the next empty stock ends it as a **wash-out**: "
                    "nobody wins, and everybody scores as a loser."
                ),
                options=("max_reshuffles",),
            ),
            Rule(
                _(
                    "If at that moment a call stands whose caller has four valid coops, the caller wins the hand "
                    "instead. A caller who says `go` to an exhausted stock has no standing call any more."
                )
            ),
            Rule(
                _(
                    "So a hand of n players has at most `(max_reshuffles + 1) * (80 - 8n)` turns, and a game always "
                    "ends."
                )
            ),
        ),
        is_platform=True,
    ),
    Section(
        _("Scoring a hand"),
        (
            Rule(_("The winner of the hand scores 0.")),
            Rule(_("The others add points to their totals."), options=("scoring",)),
            Rule(_("A card’s value is its rank."), options=("ace_values",)),
            Rule(_("**Century bonus.** A total can earn one when it is a round hundred."), options=("century_bonus",)),
            Rule(_("Which cards count is a **pick**."), options=("picks",)),
            Rule(
                _(
                    "A pick is written `p` and four characters, one a slot: `0` the face-down card, `1` the face-up "
                    "card. With `scoring` at `one`, the picked coop is `*` and the others are `-`."
                )
            ),
            Rule(_("In results, points are those before the bonus, and bonus is the 50 that are subtracted.")),
        ),
    ),
    Section(
        _("The end of the game"),
        (
            Rule(
                _("How the game ends is an option; totals are those after the century bonus (8.4)."),
                options=("end", "target", "hands"),
            ),
            Rule(
                _(
                    "With `end` at `elimination`, a later elimination is the better place; players whom the same hand "
                    "eliminates are ordered by total. If one hand eliminates all who were left, they are ordered by "
                    "total."
                )
            ),
            Rule(_("Equal totals share a place, as in 1 2 2 4.")),
            Rule(_("`hands` is a number if `end` is `hands`, and `null` if it is not.")),
        ),
    ),
    Section(
        _("Presets and options"),
        (
            Rule(
                _(
                    "Two published descriptions of the game disagree in places. Every disagreement is an option with "
                    "a name, and a **preset** has a value for each of them. Where both are silent, this book says "
                    "platform rule."
                )
            ),
            Rule(_("`classic` is the default everywhere.")),
            Rule(
                _(
                    "Every option can be overridden by itself. An unknown option, or a value that an option does not "
                    "allow, is an error that names it and lists what is allowed."
                )
            ),
        ),
        has_presets=True,
    ),
    Section(
        _("Fair shuffles"),
        (
            Rule(
                _(
                    "A match draws a secret `server_seed` of 32 bytes from the operating system and publishes "
                    "`commitment = SHA-256(server_seed)` before the first card."
                )
            ),
            Rule(
                _(
                    "Before play starts each player may add a `player_seed` of up to 64 printable ASCII characters; "
                    "without one it is empty."
                )
            ),
            Rule(
                _(
                    "When the match has ended, its record reveals `server_seed`, so that anyone can recompute every "
                    "shuffle."
                )
            ),
            Rule(
                _(
                    'The key is `K = HMAC-SHA256(server_seed, join("\\n", player_seeds))`: the seed as 32 raw bytes, '
                    "the players’ seeds in order of entry."
                )
            ),
            Rule(
                _(
                    'The stream of bytes for a label is `HMAC-SHA256(K, label + ":" + block)` for block = 0, 1, 2 … '
                    "in decimal, all in ASCII."
                )
            ),
            Rule(
                _(
                    "An integer below `m` takes the next four bytes, big-endian, as `x`. If "
                    "`x >= 2**32 - (2**32 % m)` it takes the next four instead, so that there is no bias. The result "
                    "is `x % m`."
                )
            ),
            Rule(
                _(
                    "A deal starts from the sorted deck: 40 cards in the order of suits `s h d c`, within a suit "
                    "`A 2 3 4 5 6 7 8 9 T`, and then the same 40 again. A reshuffle starts from the discard pile, from "
                    "bottom to top."
                )
            ),
            Rule(
                _(
                    "A shuffle is Fisher and Yates’s: for i from the last index down to 1, swap card i with the card "
                    "at an integer below i + 1."
                )
            ),
            Rule(
                _(
                    "The cut of a deal follows its shuffle: an integer `c` below 80 is taken from the same stream, and "
                    "the deck becomes `deck[c:] + deck[:c]`."
                )
            ),
            Rule(
                _(
                    "The label is `seats` for the draw for the deal: cards are drawn from the front, in the entrants’ "
                    "order, redraws go on from there, and nothing is cut. It is `deal/<hand>` for a deal and "
                    "`reshuffle/<hand>/<number>` for a reshuffle, both counted from 1."
                )
            ),
            Rule(_("The front of the list is the top of the deck.")),
            Rule(
                _(
                    "The matches of one duplicate set share `server_seed` and have no players’ seeds: each is empty. "
                    "The seed is revealed when the last of them has ended."
                )
            ),
        ),
        is_platform=True,
    ),
)


def numbered(section_no: int) -> list[Numbered]:
    """Return the rules of a section, which counts from 1, with their numbers."""
    section = SECTIONS[section_no - 1]
    return [
        Numbered(f"{section_no}.{no}", rule, section.is_platform or rule.is_platform)
        for no, rule in enumerate(section.rules, 1)
    ]


def all_rules() -> Iterator[Numbered]:
    """Yield every rule with its number."""
    for section_no in range(1, len(SECTIONS) + 1):
        yield from numbered(section_no)


def numbers() -> frozenset[str]:
    """Return every number that may be cited: of sections and of rules."""
    return frozenset({str(no) for no in range(1, len(SECTIONS) + 1)} | {rule.number for rule in all_rules()})


def rule_of(option: str) -> str:
    """Return the number of the rule that an option decides."""
    return next(found.number for found in all_rules() if option in found.rule.options)


def sentence(option: str, value: Any, *, target: Any = "`target`", hands: Any = "`hands`") -> str:
    """Return what holds where a choice is taken; the gaps are filled with the options' names, unless told otherwise.

    Raises:
        LookupError: the option has no such choice.
    """
    text = str(_choice(option, value).text)
    return text % {"target": target, "hands": hands} if "%(" in text else text


def label_of(option: str, value: Any) -> str:
    """Return a value of an option in a few words."""
    found = OPTIONS[option]
    if found.choices:
        return str(_choice(option, value).label)
    return str(found.none) if value is None else str(value)


def _choice(option: str, value: Any) -> Choice:
    key = tuple(value) if isinstance(value, list) else value
    found = [choice for choice in OPTIONS[option].choices if choice.value == key]
    if not found:
        raise LookupError(f"expected a choice of {option}: {value!r}")
    return found[0]


def json_of(value: Any) -> str:
    """Return a value as it is written on a command line and in JSON, words without their quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def takers(option: str, value: Any) -> list[str]:
    """Return the presets that take a value."""
    return [name for name, options in PRESETS.items() if options[option] == value]


def taken(option: str) -> list[tuple[Any, list[str]]]:
    """Return the values that presets take, each with the presets that take it."""
    values = dict.fromkeys(options[option] for options in PRESETS.values())
    return [(value, takers(option, value)) for value in values]


def allowed(option: str) -> str:
    """Say which values an option allows."""
    found = OPTIONS[option]
    if found.choices:
        return ", ".join(json_of(choice.value) for choice in found.choices)
    limits = {"low": found.low, "high": f"{found.high:,}"}
    if found.none:
        return _now("%(low)s to %(high)s, or null") % limits
    return _now("%(low)s to %(high)s") % limits


# The README


def markdown() -> str:
    """Return all rules as the engine's README has them, in English where no language is active."""
    parts = []
    for section_no, section in enumerate(SECTIONS, 1):
        note = " (platform rules)" if section.is_platform else ""
        parts.append(f"### {section_no}. {section.title}{note}\n")
        parts += [_rule_markdown(found, said=section.is_platform) for found in numbered(section_no)]
        if section.has_presets:
            parts.append(_presets_markdown())
    return "\n".join(parts)


def _rule_markdown(found: Numbered, *, said: bool) -> str:
    note = " (Platform rule.)" if found.is_platform and not said else ""
    values = [line for name in found.rule.options for line in _option_markdown(name)]
    return "\n".join([f"**{found.number}** {found.rule.text}{note}", *([""] if values else []), *values]) + "\n"


def _option_markdown(name: str) -> list[str]:
    option = OPTIONS[name]
    if not option.choices:
        values = ", ".join(f"`{json_of(value)}` ({', '.join(names)})" for value, names in taken(name))
        return [f"- `{name}`, {allowed(name)}: {values}"]
    return [
        f"- `{name}={json_of(choice.value)}`{_takers_markdown(name, choice)}: {sentence(name, choice.value)}"
        for choice in option.choices
    ]


def _takers_markdown(name: str, choice: Choice) -> str:
    notes = [*takers(name, choice.value), *(["platform rule"] if choice.is_platform else [])]
    return f" ({', '.join(notes)})" if notes else ""


def _presets_markdown() -> str:
    head = f"| option | allowed | {' | '.join(f'`{name}`' for name in PRESETS)} |\n|{' --- |' * (len(PRESETS) + 2)}"
    rows = [
        f"| `{name}` | {allowed(name)} | {' | '.join(json_of(options[name]) for options in PRESETS.values())} |"
        for name in OPTIONS
    ]
    return "\n".join([head, *rows]) + "\n"


def main() -> None:
    """Write the rules to their place in the README."""
    settings.configure(USE_I18N=False)
    before, _begin, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _old, _end, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}{markdown()}{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
