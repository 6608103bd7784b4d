"""Rows for the ladder's tests: people, bots, ladders, pairings whose matches have ended."""

import itertools
from collections.abc import Sequence
from datetime import timedelta

from django.utils import timezone

from bots.models import Bot, BotVersion, Source
from bots.names import name_key
from games.engine import Rules
from games.matches import create_match, create_set
from games.models import Match, Seat
from ladder.models import Entry, Ladder, PairedEntry, PairedMatch, Pairing, RatingChange, Round
from ladder.ratings import rate
from soureh_site.accounts.models import User

_numbers = itertools.count(1)
CLASSIC = Rules.preset("classic").to_json()


def make_user(name: str = "") -> User:
    name = name or f"person{next(_numbers)}"
    return User.objects.create_user(username=name, email=f"secret-{name}@example.org", password="correct horse battery")


def make_bot(owner=None, *, name: str = "", state: str | None = BotVersion.State.READY) -> Bot:
    """Make a bot, with one version in `state` unless that is None."""
    name = name or f"bot{next(_numbers)}"
    bot = Bot.objects.create(owner=owner, name=name, name_key=name_key(name), slug=f"b{next(_numbers)}")
    if state is not None:
        make_version(bot, state=state)
    return bot


def make_version(bot: Bot, *, number: int = 1, state: str = BotVersion.State.READY) -> BotVersion:
    source = Source.objects.create(sha256=f"{next(_numbers):064x}", data=b"# nothing")
    return bot.versions.create(number=number, source=source, file_name="bot.py", size=9, state=state)


def make_ladder(*, seats: int = 2, name: str = "", **fields) -> Ladder:
    name = name or f"Ladder {next(_numbers)}"
    slug = fields.pop("slug", f"ladder-{next(_numbers)}")
    fields.setdefault("ranked_by", "elo")
    return Ladder.objects.create(name=name, slug=slug, rules=CLASSIC, seats=seats, **fields)


def make_entries(ladder: Ladder, count: int, *, owner=None, **fields) -> list[Entry]:
    """Enter `count` new bots, all of one owner or of the house."""
    fields.setdefault("rating", ladder.initial_rating)
    fields.setdefault("seed_rating", fields["rating"])
    return [Entry.objects.create(ladder=ladder, bot=make_bot(owner), **fields) for _ in range(count)]


def make_pairing(ladder: Ladder, entries: list[Entry]) -> tuple[Pairing, Match]:
    """Make a pairing of these entries with its match, still waiting to be played."""
    pairing = lay_pairing(ladder, entries)
    match = create_match(
        kind=Match.Kind.RANKED,
        rules=ladder.rules,
        entrants=[{"name": one.name, "version": one.bot.versions.first()} for one in entries],
        share=f"ladder:{ladder.pk}",
    )
    PairedMatch.objects.create(pairing=pairing, match=match, ladder=ladder)
    return pairing, match


def lay_pairing(ladder: Ladder, entries: list[Entry]) -> Pairing:
    """Make a pairing of these entries that has no match yet."""
    held, _ = Round.objects.get_or_create(ladder=ladder, number=ladder.rounds + 1)
    pairing = Pairing.objects.create(round=held, ladder=ladder)
    PairedEntry.objects.bulk_create(
        PairedEntry(pairing=pairing, entry=entry, entrant=i) for i, entry in enumerate(entries)
    )
    return pairing


def make_set(ladder: Ladder, entries: list[Entry], **options) -> tuple[Pairing, list[Match]]:
    """Make a pairing of these entries that is a duplicate set, its matches still waiting to be played, by rotation."""
    pairing = lay_pairing(ladder, entries)
    entrants = [{"name": one.name, "version": one.bot.versions.first()} for one in entries]
    matches = create_set(rules=ladder.rules, entrants=entrants, share=f"ladder:{ladder.pk}", **options)
    for rotation, match in enumerate(matches):
        PairedMatch.objects.create(pairing=pairing, match=match, ladder=ladder, rotation=rotation)
    return pairing, matches


def end(match: Match, places: list[int], *, totals: list[int] | None = None, ago_s: float = 60) -> None:
    """Write a match's ending into its rows, as finish does; places and totals by entrant."""
    for entrant, place in enumerate(places):
        total = totals[entrant] if totals else 100 * place
        match.players.filter(entrant=entrant).update(seat=entrant, place=place, total=total)
    Match.objects.filter(pk=match.pk).update(
        state=Match.State.FINISHED, how="target", finished_at=timezone.now() - timedelta(seconds=ago_s), hands=5
    )


def void(match: Match) -> None:
    Match.objects.filter(pk=match.pk).update(state=Match.State.VOID, how="platform", finished_at=timezone.now())


def play(ladder: Ladder, entries: list[Entry], places: list[int]) -> Pairing:
    """Have one pairing played, with places by entrant, and rated."""
    pairing, match = make_pairing(ladder, entries)
    end(match, places)
    assert rate(pairing.pk)
    return pairing


def ratings(entries: list[Entry]) -> list[float]:
    """Return the ratings as they stand in the tables."""
    return [Entry.objects.get(pk=entry.pk).rating for entry in entries]


def fill_pairings(
    ladder: Ladder, pairings: Sequence[Pairing], matches: Sequence[Match], tables: Sequence[Sequence[Entry]]
) -> None:
    """Insert in bulk of which match each pairing is, and who sits in it, by entrant."""
    PairedMatch.objects.bulk_create(
        PairedMatch(pairing=pairing, match=match, ladder=ladder)
        for pairing, match in zip(pairings, matches, strict=True)
    )
    PairedEntry.objects.bulk_create(
        PairedEntry(pairing=pairing, entry=one, entrant=i)
        for pairing, table in zip(pairings, tables, strict=True)
        for i, one in enumerate(table)
    )


def make_history(ladder: Ladder, entries: list[Entry], count: int) -> None:
    """Insert `count` rated two-seat matches in bulk, each a win of the first over the second entry, in turn."""
    now = timezone.now()
    held, _ = Round.objects.get_or_create(ladder=ladder, number=1)
    tables = [(entries[i % len(entries)], entries[(i + 1) % len(entries)]) for i in range(count)]
    matches = Match.objects.bulk_create(
        Match(
            kind="ranked", state="finished", rules=CLASSIC, seats=2, server_seed=bytes(32), commitment="0" * 64,
            how="target", hands=7, decisions=99, finished_at=now, player_seeds=["", ""],
        )
        for _ in tables
    )  # fmt: skip
    versions = {entry.pk: entry.bot.versions.first() for entry in entries}
    Seat.objects.bulk_create(
        Seat(
            match=match, entrant=i, seat=i, name=one.bot.name, bot=one.bot, version=versions[one.pk],
            place=i + 1, total=100 + i,
        )
        for match, table in zip(matches, tables, strict=True)
        for i, one in enumerate(table)
    )  # fmt: skip
    pairings = Pairing.objects.bulk_create(
        Pairing(round=held, ladder=ladder, state="rated", number=ladder.rated + i, rated_at=now)
        for i in range(1, count + 1)
    )
    fill_pairings(ladder, pairings, matches, tables)
    nth = {entry.pk: entry.pairings for entry in entries}
    changes = []
    for pairing, table in zip(pairings, tables, strict=True):
        for i, one in enumerate(table):
            nth[one.pk] += 1
            changes.append(
                RatingChange(
                    ladder=ladder, number=pairing.number, entry=one, pairing=pairing, nth=nth[one.pk], place=i + 1,
                    k=20.0, before=1500.0, after=1510.0 if i == 0 else 1490.0,
                )
            )  # fmt: skip
    RatingChange.objects.bulk_create(changes)
    for entry in entries:
        recent_ratings = [change.after for change in changes if change.entry == entry][-21:]
        Entry.objects.filter(pk=entry.pk).update(
            pairings=nth[entry.pk], place_sum=nth[entry.pk] * 3 // 2, recent_ratings=recent_ratings
        )
    Ladder.objects.filter(pk=ladder.pk).update(rated=ladder.rated + count)
