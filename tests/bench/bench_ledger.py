"""How fast the ledger is rated and replayed, and in how much memory.

`python tests/bench/bench_ledger.py [--pairings 100000] [--entries 500] [--seats 4] [--rates 500] [--sqlite]`. In a
PostgreSQL of its own (or SQLite) it inserts a ladder with a log of that many ended pairings, numbered and not yet
rated; `rerate` writes the whole ledger of it, `rerate --check` proves it, and a match that is voided late is previewed
and applied. Then as many pairings as `--rates` says are rated one by one. Prints seconds of each, processor time apart
from the wall, since machines are shared, and the most memory that this process took.
"""

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "endurance")]

import ledger  # noqa: E402  (found beside it)

from tests.live import Valkey  # noqa: E402


def main() -> None:
    """Insert, measure and print."""
    parser = argparse.ArgumentParser(description="Measure rating and replaying.")
    parser.add_argument("--pairings", type=int, default=100_000)
    parser.add_argument("--entries", type=int, default=500)
    parser.add_argument("--seats", type=int, default=4)
    parser.add_argument("--rates", type=int, default=500)
    parser.add_argument("--sqlite", action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="soureh-bench-")))
        valkey = stack.enter_context(Valkey())
        url = f"sqlite:///{folder}/db.sqlite3" if options.sqlite else stack.enter_context(ledger._own_database(folder))
        ledger._set_up_django(folder, database=url, redis=valkey.url, is_new=True)
        _measure(options)


def _measure(options: argparse.Namespace) -> None:
    from ladder import judging
    from ladder.models import PairedMatch
    from ladder.ratings import rate
    from ladder.replay import rerate

    lots = random.Random(1)
    ladder, entries = _ladder(options)
    _log(ladder, entries, options.pairings, options.seats, lots, is_numbered=True)
    print(f"{options.pairings} pairings of {options.seats} among {options.entries} entries; {_memory()} MB so far")
    _timed("rerate, which writes all of it", lambda: rerate(ladder))
    report = _timed("rerate --check", lambda: rerate(ladder, check=True))
    assert report.differences == 0, report.first
    match = PairedMatch.objects.get(ladder=ladder, pairing__number=options.pairings - 100).match
    deed = judging.VoidMatch(match)
    _timed("preview of voiding a late match", lambda: judging.preview(ladder, deed))
    _timed("voiding it", lambda: judging.apply(ladder, deed, None, "bench"))
    fresh = _log(ladder, entries, options.rates, options.seats, lots, is_numbered=False)
    _timed(f"rating {options.rates} one by one", lambda: [rate(pk) for pk in fresh], per=options.rates)
    print(f"at most {_memory()} MB")


def _timed(what: str, call: Callable[[], Any], *, per: int = 0) -> Any:
    wall, cpu = time.monotonic(), time.process_time()
    found = call()
    wall, cpu = time.monotonic() - wall, time.process_time() - cpu
    print(
        f"{what}: {wall:.1f} s, {cpu:.1f} s of it in Python" + (f"; {per / wall:.0f} a second" if per else ""),
        flush=True,
    )
    return found


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _ladder(options: argparse.Namespace) -> tuple[Any, list[Any]]:
    from bots.models import Bot
    from ladder.models import Entry
    from tests.ladder.rows import make_ladder, make_user

    ladder = make_ladder(seats=options.seats)
    owners = [make_user() for _ in range(20)]
    bots = Bot.objects.bulk_create(
        Bot(owner=owners[i % 20], name=f"bot {i}", name_key=f"bot {i}", slug=f"bot-{i}") for i in range(options.entries)
    )
    return ladder, Entry.objects.bulk_create(Entry(ladder=ladder, bot=bot, rating=1500.0) for bot in bots)


def _log(
    ladder: Any, entries: list[Any], count: int, seats: int, lots: random.Random, *, is_numbered: bool
) -> list[int]:
    """Insert ended pairings of entries of different owners and return their ids."""
    from django.utils import timezone

    from games.models import Match, Seat
    from ladder.models import Ladder, Pairing
    from tests.ladder.rows import fill_pairings

    held, _ = ladder.held_rounds.get_or_create(number=1)
    first, now, ids = Ladder.objects.get(pk=ladder.pk).rated + 1, timezone.now(), []
    for start in range(0, count, 5000):
        tables = [_table(entries, seats, lots) for _ in range(min(5000, count - start))]
        matches = Match.objects.bulk_create(
            Match(kind="ranked", state="finished", rules={}, seats=seats, server_seed=bytes(32), finished_at=now)
            for _ in tables
        )
        Seat.objects.bulk_create(
            Seat(match=match, entrant=i, seat=i, name="x", bot_id=one.bot_id, place=lots.randint(1, seats))
            for match, table in zip(matches, tables, strict=True)
            for i, one in enumerate(table)
        )
        pairings = Pairing.objects.bulk_create(
            Pairing(round=held, ladder=ladder, **_numbered(first + start + i, count, now) if is_numbered else {})
            for i in range(len(tables))
        )
        fill_pairings(ladder, pairings, matches, tables)
        ids += [pairing.pk for pairing in pairings]
    return ids


def _table(entries: list[Any], seats: int, lots: random.Random) -> list[Any]:
    """Draw entries of different owners; owner i % 20 has every twentieth entry."""
    return [entries[owner + 20 * lots.randrange(len(entries) // 20)] for owner in lots.sample(range(20), seats)]


def _numbered(number: int, count: int, now: Any) -> dict[str, Any]:
    return {"state": "rated", "number": number, "rated_at": now - timedelta(seconds=20 * (count - number))}


if __name__ == "__main__":
    main()
