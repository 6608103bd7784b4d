"""Many processes finish and rate at once, are killed between rating and commit, and the ledger must not show it.

`./run test ledger [--pairings 2000] [--processes 8] [--kills 40] [--seed N] [--database URL] [--ended]`. Every pairing
is delivered to two processes, which end its match through `finish` and rate it; whoever is killed starts his
deliveries anew. `--kills` pairings are fatal to whoever books them first: half of them kill the process, half its
connection to the database (pg_terminate_backend), after everything has been written and before it is committed; as
many more such blows come from outside at random moments. At the end: every pairing is rated once or unrated for its
reason, none twice, none missing; numbers have no gap; `rerate --check` finds nothing; and a plain loop over the
log, one pairing after the other, gives every change to the last bit. With `--ended` the matches have been finished
beforehand, so that only rating is raced.

The database is a PostgreSQL of its own, where there is one, otherwise SQLite; `--database` names one, in which
the ladder stays. Prints what it measured; exits 1 if something does not hold.
"""

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.live import Valkey  # noqa: E402  (found from the root)
from tests.postgres import find_server, throw_away_cluster  # noqa: E402

FORK = multiprocessing.get_context("fork")
CAP = 15.0  # so little that many changes meet it
HAND = {"end": "hands", "hands": 1}


class DoesNotHold(Exception):
    """A fact that must hold at the end does not."""


def main() -> int:
    """Run it and return the exit status."""
    options = _options()
    print(f"seed {options.seed}", flush=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soureh-ledger-")))
        valkey = stack.enter_context(Valkey())
        url = options.database or stack.enter_context(_own_database(folder))
        _set_up_django(folder, database=url, redis=valkey.url, is_new=not options.database)
        try:
            Torture(options, folder).run()
        except DoesNotHold as error:
            print(f"DOES NOT HOLD: {error}", flush=True)
            return 1
    print("everything holds", flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Rate from many processes that are killed, and check the ledger.")
    parser.add_argument("--pairings", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--kills", type=int, default=40, help="from within, and as many from outside (default: 40)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="for the same tables and blows")
    parser.add_argument("--database", metavar="URL", help="a database to use, migrated; the ladder stays in it")
    parser.add_argument("--ended", action="store_true", help="the matches have been finished beforehand")
    return parser.parse_args()


@contextmanager
def _own_database(folder: Path) -> Iterator[str]:
    server = find_server()
    if server is None:
        print("no PostgreSQL on this machine: SQLite", flush=True)
        yield f"sqlite:///{folder}/db.sqlite3"
        return
    with throw_away_cluster(server) as url:
        yield url


def _set_up_django(folder: Path, *, database: str, redis: str, is_new: bool) -> None:
    os.environ.update(SOUREH_VAR=str(folder), DATABASE_URL=database, REDIS_URL=redis, LOG_LEVEL="ERROR")
    os.environ["DJANGO_SETTINGS_MODULE"] = "soureh_site.settings"
    import django

    django.setup()
    if is_new:
        from django.core.management import call_command

        call_command("migrate", verbosity=0)


class Torture:
    """One run: who meets whom is drawn by lot, then raced for, then checked. `fatal` holds which blow a pairing is."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.chance = random.Random(options.seed)
        self.ladder, self.pairings, self.expected = _lay(options, self.chance)
        rated = [pk for pk in self.pairings if self.expected[pk] == ""]
        struck = self.chance.sample(rated, min(options.kills, len(rated)))
        self.fatal = {pk: ("process", "connection")[i % 2] for i, pk in enumerate(struck)}

    def run(self) -> None:
        """Race and check."""
        from django.db import connections

        connections.close_all()
        began = time.monotonic()
        blows = self._race()
        took = time.monotonic() - began
        struck = Counter(name.suffix[1:] for name in self.folder.glob("struck-*"))
        struck.update(blows)
        checked = _check(self.ladder, self.expected)
        told = ", ".join(f"{count} {name}" for name, count in sorted(struck.items())) or "none"
        print(f"killed: {told}")
        print(f"{len(self.pairings)} pairings in {took:.1f} s, {len(self.pairings) / took:.0f} a second; {checked}")

    def _race(self) -> Counter[str]:
        """Run the processes until all have ended by themselves; strike from outside and replace whoever was killed."""
        running = {number: self._start(number) for number in range(self.options.processes)}
        blows, left = Counter[str](), self.options.kills
        while running:
            time.sleep(self.chance.uniform(0.01, 0.06))  # the random moment itself
            if left:
                left -= 1
                blows[self._strike(self.chance.choice(list(running.values())))] += 1
            for number, process in list(running.items()):
                if process.is_alive():
                    continue
                process.join()
                if process.exitcode == 0:
                    del running[number]
                elif process.exitcode == -signal.SIGKILL:
                    running[number] = self._start(number)
                else:
                    raise DoesNotHold(f"expected a process that ends well or is killed: status {process.exitcode}")
        return blows

    def _start(self, number: int) -> Any:
        mine = [pk for i, pk in enumerate(self.pairings) if number in _takers(i, self.options.processes)]
        process = FORK.Process(target=_work, args=(mine, self.fatal, self.folder, self.options.seed + number))
        process.start()
        return process

    def _strike(self, process: Any) -> str:
        """Kill a process, or on PostgreSQL, every other time, some connection."""
        if self.chance.random() < 0.5 and _terminate("pid <> pg_backend_pid() ORDER BY random() LIMIT 1"):
            return "connection from outside"
        process.kill()
        return "process from outside"


def _takers(index: int, processes: int) -> set[int]:
    """Return the two processes to which a pairing is delivered."""
    return {index % processes, (index + 1 + index // processes % max(1, processes - 1)) % processes}


# In the processes


def _work(mine: Sequence[int], fatal: dict[int, str], folder: Path, seed: int) -> None:
    """End and rate these pairings, over and over, until none is left: as a queue that delivers again and again."""
    from django.db import InterfaceError, OperationalError, connection

    from ladder import ratings

    book = ratings._book

    def book_and_die(ladder: Any, pairing: Any, *rest: Any) -> None:
        book(ladder, pairing, *rest)
        if (how := fatal.get(pairing.pk)) and _is_first(folder / f"struck-{pairing.pk}.{how}"):
            _die(how)

    ratings._book = book_and_die
    chance, waiting = random.Random(seed), list(mine)
    while waiting:
        left = []
        for pairing_id in waiting:
            try:
                if not _deliver(pairing_id, chance):
                    left.append(pairing_id)
            except (OperationalError, InterfaceError):
                # What a worker does between two tasks: it asks for a new connection. The message comes again.
                connection.close()
                left.append(pairing_id)
        waiting = left


def _is_first(mark: Path) -> bool:
    """Leave a mark that outlives a kill; False if it is there already."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _die(how: str) -> None:
    """Die between rating and commit: the process, or its connection alone."""
    from django.db import connection

    if how == "process":
        os.kill(os.getpid(), signal.SIGKILL)
    if connection.vendor == "postgresql":
        _terminate(f"pid = {connection.connection.info.backend_pid}")
    else:
        connection.connection.close()
        raise _lost("the connection was cut")


def _lost(why: str) -> Exception:
    from django.db import OperationalError

    return OperationalError(why)


def _terminate(which: str) -> bool:
    """Terminate the processes' connections that `which` names; False if there is none, or on SQLite."""
    from django.db import connection

    if connection.vendor != "postgresql":
        return False
    import psycopg

    found = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}) as other:
        query = f"SELECT pg_terminate_backend(pid) FROM ({found} AND {which}) AS found"
        return bool(other.execute(query).fetchall())


def _deliver(pairing_id: int, chance: random.Random) -> bool:
    """End a pairing's match, if nobody has, and rate it; tell whether it is done, by whomever."""
    from games.finish import finish_match, void_match
    from games.models import Match
    from ladder.models import Pairing
    from ladder.ratings import rate
    from tests.ladder.play import play

    match = Match.objects.get(paired__pairing=pairing_id)
    if match.state == Match.State.PLAYING:
        if match.worker == "doomed":
            void_match(match.pk, "platform")
        else:
            finish_match(match.pk, match.attempt, play(match, match.attempt, log=""))
    rate(pairing_id)
    if chance.random() < 0.1:
        rate(pairing_id)  # delivered again at once
    return not Pairing.objects.filter(pk=pairing_id, state=Pairing.State.PLAYING).exists()


# The tables


def _lay(options: argparse.Namespace, chance: random.Random) -> tuple[Any, list[int], dict[int, str]]:
    """Make a ladder with bots of many owners and of the house, and its pairings; return it, them, and why not rated."""
    from django.db import transaction

    from ladder.models import Round
    from tests.ladder.rows import make_entries, make_ladder, make_user

    with transaction.atomic():
        name = f"torture-{options.seed}"
        ladder = make_ladder(name=name, slug=name, seats=4, settled_after=8, daily_cap=CAP)
        ladder.rules = ladder.rules | HAND
        ladder.save()
        entries = make_entries(ladder, 3)
        for number in range(6):
            entries += make_entries(ladder, 2, owner=make_user(f"{name}-{number}"))
        held = Round.objects.create(ladder=ladder, number=1)
        tables = [chance.sample(entries, chance.choice([2, 3, 4])) for _ in range(options.pairings)]
        dooms = [chance.random() < 0.03 for _ in tables]
        ids = _insert(held, tables, dooms, chance, has_ended=options.ended)
    expected = {pk: _expected(table, doomed) for pk, table, doomed in zip(ids, tables, dooms, strict=True)}
    return ladder, ids, expected


def _expected(table: Sequence[Any], is_doomed: bool) -> str:
    owners = [entry.owner_id for entry in table if entry.owner_id is not None]
    return "void" if is_doomed else "one_owner" if len(set(owners)) < len(owners) else ""


def _insert(held: Any, tables: list[Any], dooms: list[bool], chance: random.Random, *, has_ended: bool) -> list[int]:
    """Insert pairings with their matches, which are being played, or have ended with places by lot."""
    from django.utils import timezone

    from bots.models import BotVersion
    from games.engine import commitment
    from games.models import Match, Seat
    from ladder.models import Pairing
    from tests.ladder.rows import fill_pairings

    versions = {one.bot_id: one for one in BotVersion.objects.filter(bot__entries__ladder=held.ladder)}
    seeds = [chance.randbytes(32) for _ in tables]
    ended = {"finished_at": timezone.now()} if has_ended else {}
    matches = Match.objects.bulk_create(
        Match(
            kind="ranked", state=("void" if doomed else "finished") if has_ended else "playing", attempt=1,
            rules=held.ladder.rules, seats=len(table), server_seed=seed, commitment=commitment(seed),
            player_seeds=[""] * len(table), worker="doomed" if doomed else "", **ended,
        )
        for table, doomed, seed in zip(tables, dooms, seeds, strict=True)
    )  # fmt: skip
    places = [[chance.randint(1, len(table)) if has_ended else None for _ in table] for table in tables]
    Seat.objects.bulk_create(
        Seat(
            match=match, entrant=i, seat=i if has_ended else None, name=one.bot.name, bot=one.bot,
            version=versions[one.bot_id], place=place[i],
        )
        for match, table, place in zip(matches, tables, places, strict=True)
        for i, one in enumerate(table)
    )  # fmt: skip
    pairings = Pairing.objects.bulk_create(
        Pairing(round=held, ladder=held.ladder, commitment=match.commitment) for match in matches
    )
    fill_pairings(held.ladder, pairings, matches, tables)
    return [pairing.pk for pairing in pairings]


# What must hold


def _check(ladder: Any, expected: dict[int, str]) -> str:
    """Check the ladder and say what was checked. DoesNotHold names what does not."""
    from games.models import Match
    from ladder.models import Ladder, Pairing, RatingChange
    from ladder.replay import rerate

    rows = {row.pk: row for row in Pairing.objects.filter(ladder=ladder)}
    for pk, why in expected.items():
        state = "unrated" if why else "rated"
        _require((rows[pk].state, rows[pk].why_unrated), (state, why), f"pairing {pk}")
    numbers = sorted(row.number for row in rows.values() if row.number is not None)
    count = sum(not why for why in expected.values())
    _require(numbers, list(range(1, count + 1)), "the numbers")
    _require(Ladder.objects.get(pk=ladder.pk).rated, count, "the ladder's count")
    finished = Match.objects.filter(paired__ladder=ladder, state="finished")
    _require(finished.count(), sum(why != "void" for why in expected.values()), "the finished matches")
    changes = list(RatingChange.objects.filter(ladder=ladder).order_by("number", "pk"))
    stored = {(change.number, change.entry_id): (change.before, change.after) for change in changes}
    _require(len(stored), len(changes), "changes, each once")
    _require(stored, _replayed(ladder), "the ledger, by a plain loop")
    began = time.monotonic()
    _require(rerate(ladder, check=True).first, [], "rerate --check")
    took = time.monotonic() - began
    capped = sum(change.capped != 0 for change in changes)
    return f"{len(changes)} changes hold, {capped} of them capped (rerate --check: {took:.1f} s)"


def _replayed(ladder: Any) -> dict[tuple[int, int], tuple[float, float]]:
    """Return what the log makes of the ratings, before and after by number and entry, one pairing after the other."""
    from games.models import Seat
    from ladder import elo
    from ladder.models import Pairing

    owners = {entry.pk: entry.owner_id for entry in ladder.entries.select_related("bot")}
    ratings = dict.fromkeys(owners, ladder.initial_rating)
    counts, balances = Counter[int](), Counter[Any]()
    found = {}
    log = Pairing.objects.filter(ladder=ladder, number__isnull=False).order_by("number")
    for pairing in log.prefetch_related("paired_entries"):
        ids = [one.entry_id for one in pairing.paired_entries.all()]
        seats = Seat.objects.filter(match__paired__pairing=pairing).order_by("entrant")
        places = [seat.place for seat in seats]
        before = [ratings[one] for one in ids]
        k = [ladder.k_new if counts[one] < ladder.settled_after else ladder.k_settled for one in ids]
        points = elo.exchange(before, places, k)
        keys = [[(one, owners[other], pairing.rated_at.date()) for other in ids] for one in ids]
        free = [[None in (owners[one], owners[other]) for other in ids] for one in ids]
        kept = [[None if free[i][j] else balances[keys[i][j]] for j in range(len(ids))] for i in range(len(ids))]
        taken = elo.within_cap(points, kept, ladder.daily_cap)
        plain = elo.change(before, places, k)
        for i, one in enumerate(ids):
            ratings[one] += plain[i] if taken[i] == points[i] else elo.total(taken[i])
            counts[one] += 1
            found[pairing.number, one] = (before[i], ratings[one])
            for j in range(len(ids)):
                balances[keys[i][j]] += taken[i][j]
    return found


def _require(found: Any, expected: Any, what: str) -> None:
    if found != expected:
        raise DoesNotHold(f"{what}: expected {str(expected)[:300]}, found {str(found)[:300]}")


if __name__ == "__main__":
    sys.exit(main())
