"""`manage.py judge LADDER DEED …`: show what judging a ladder would change, or do it."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError
from django.db.models import Q
from tqdm import tqdm

from games.models import Match
from ladder.judging import (
    ChangeCap,
    ChangeK,
    Deed,
    Disqualify,
    NotJudged,
    Reinstate,
    Verdict,
    VoidMatch,
    apply,
    preview,
)
from ladder.management.ladders import find_ladder
from ladder.models import Entry, Ladder

SHOWN = 50


class Command(BaseCommand):
    help = "Shows what would change if a ladder were judged so: who moves from where to where. With --apply, does it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ladder", metavar="LADDER", help="the ladder's slug, or its name")
        deeds = parser.add_subparsers(dest="deed", required=True, metavar="DEED")
        void = deeds.add_parser("void", help="take a match out of the count")
        void.add_argument("match", metavar="MATCH", help="its code, the last part of its page's address")
        for name, told in (
            ("disqualify", "nothing that it took part in counts"),
            ("reinstate", "all of it counts again"),
        ):
            entry = deeds.add_parser(name, help=told)
            entry.add_argument("entry", metavar="ENTRY", help="a bot's name or slug, or a person's name")
            _add_common(entry)
        k = deeds.add_parser("k", help="count every pairing, from the first, by another K")
        k.add_argument("k_new", metavar="NEW", type=float, help="for an entry's first pairings")
        k.add_argument("k_settled", metavar="SETTLED", type=float, help="for those after them")
        k.add_argument(
            "--settled-after", type=int, metavar="PAIRINGS", help="how many are the first (default: as it is)"
        )
        cap = deeds.add_parser("cap", help="bound what one may win or lose in a day against one other owner")
        cap.add_argument("daily_cap", metavar="POINTS", help="or none")
        for parser in (void, k, cap):
            _add_common(parser)

    def handle(self, *args: Any, ladder: str, reason: str, **options: Any) -> None:
        found = find_ladder(ladder)
        try:
            deed = _deed(found, options)
            with _bar(found.rated) as bar:
                tell = partial(_advance, bar)
                does = options["apply"]
                verdict = apply(found, deed, None, reason, tell=tell) if does else preview(found, deed, tell=tell)
        except NotJudged as refused:
            raise CommandError(str(refused), returncode=1) from None
        for line in _table(verdict):
            self.stdout.write(line)
        self.stdout.write("Done." if options["apply"] else "Nothing was changed; --apply --reason … does it.")


def _advance(bar: tqdm[NoReturn], replayed: int) -> None:
    bar.update(replayed - bar.n)


def _bar(pairings: int) -> tqdm[NoReturn]:
    """Return a progress bar over the pairings of a log, on standard error and only if that is a terminal."""
    return tqdm(total=pairings, unit=" pairings", desc="replaying", disable=None, leave=False)


def _add_common(parser: ArgumentParser) -> None:
    parser.add_argument("--apply", action="store_true", help="do it; without, only show what would change")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; everybody can read it")


def _deed(ladder: Ladder, options: dict[str, Any]) -> Deed:
    kind = options["deed"]
    if kind == "void":
        return VoidMatch(_match(options["match"]))
    if kind == "k":
        return ChangeK(options["k_new"], options["k_settled"], options["settled_after"])
    if kind == "cap":
        return ChangeCap(_cap(options["daily_cap"]))
    entry = _entry(ladder, options["entry"])
    return Disqualify(entry) if kind == "disqualify" else Reinstate(entry)


def _match(code: str) -> Match:
    found = Match.objects.filter(code=code).first()
    if found is None:
        raise CommandError(f"expected the code of a match: {code!r}", returncode=2)
    return found


def _entry(ladder: Ladder, name: str) -> Entry:
    named = Q(bot__name=name) | Q(bot__slug=name) | Q(user__username=name)
    found = ladder.entries.select_related("bot", "user").filter(named)[:2]
    if len(found) != 1:
        raise CommandError(f"expected the name of one entry of {ladder}: {name!r}", returncode=2)
    return found[0]


def _cap(text: str) -> float | None:
    if text == "none":
        return None
    try:
        return float(text)
    except ValueError:
        raise CommandError(f"expected points, or none: {text!r}", returncode=2) from None


def _table(verdict: Verdict) -> list[str]:
    """Return the lines that tell a verdict."""
    lines = [f"{'entry':<32}{'before':>10}{'after':>10}{'change':>9}{'rank':>12}"] if verdict.moved else []
    for one in verdict.moved[:SHOWN]:
        ranks = f"{one.rank_before or '-'} > {one.rank_after or '-'}"
        change = one.after - one.before
        lines.append(f"{one.entry.name:<32}{one.before:>10.1f}{one.after:>10.1f}{change:>+9.1f}{ranks:>12}")
    if (more := len(verdict.moved) - SHOWN) > 0:
        lines.append(f"and {more} more")
    lines.append(
        f"{verdict.changed} ratings change, by {verdict.largest:.1f} at most; "
        f"{verdict.pairings} of {verdict.replayed} pairings are counted otherwise"
    )
    return lines
