"""What a ladder's pages cost on PostgreSQL where the ladder is large: server time and queries.

    python tests/bench/bench_ladder_page.py [--entries 2000] [--matches 1000000] [--requests 30]

Fills a cluster of its own with a ladder of so many entries that have played so many matches of two, and asks for the
pages as a signed-in owner of an entry does, without a network between. Prints the median and the 95th percentile of
the time from request to response, and the queries.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.postgres import find_server, throw_away_cluster

LIMIT_MS, LIMIT_QUERIES = 100, 12


@contextmanager
def site() -> Iterator[None]:
    """Set Django up on a cluster of its own, with every table in place."""
    programs = find_server()
    if programs is None:
        raise SystemExit("expected PostgreSQL's programs: apt-get install postgresql")
    with throw_away_cluster(programs) as url, TemporaryDirectory() as var:
        os.environ |= {"DATABASE_URL": url, "SOUREH_VAR": var, "DJANGO_SETTINGS_MODULE": "soureh_site.settings"}
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        call_command("collectstatic", verbosity=0, interactive=False)
        # It sets the collection of garbage as the web process has it.
        import soureh_site.asgi  # noqa: F401

        yield


def fill(entries: int, matches: int) -> Any:
    """Write the rows of a ladder whose history is this long; return its owner of an entry."""
    from django.db import connection

    from ladder.models import Ladder
    from tests.ladder.rows import make_entries, make_history, make_ladder, make_user

    ladder = make_ladder(slug="large", ranked_by=Ladder.RankedBy.FIT, entries_per_owner=None)
    owner = make_user("ada")
    ids = [entry.pk for entry in [*make_entries(ladder, 1, owner=owner), *make_entries(ladder, entries - 1)]]
    versions = dict(ladder.entries.values_list("pk", "bot__versions__pk"))
    bots = dict(ladder.entries.values_list("pk", "bot"))
    from ladder.models import Entry, Round

    per_round = entries // 2
    make_history(ladder, [ladder.entries.get(pk=pk) for pk in ids[2:4]], 1)
    Round.objects.bulk_create(Round(ladder=ladder, number=n + 2) for n in range(matches // per_round + 1))
    first_round = ladder.held_rounds.order_by("pk").first().pk
    Ladder.objects.filter(pk=ladder.pk).update(rated=matches, rounds=matches // per_round)
    who = [(pk, bots[pk], versions[pk]) for pk in ids]
    with connection.cursor() as cursor:
        # The rows are right by construction: to look every reference up would take most of the time.
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("CREATE TEMP TABLE who (i int PRIMARY KEY, entry bigint, bot bigint, version bigint)")
        cursor.executemany("INSERT INTO who VALUES (%s, %s, %s, %s)", [(i, *row) for i, row in enumerate(who)])
        for statement in STATEMENTS:
            cursor.execute(
                statement(),
                {
                    "ladder": ladder.pk, "matches": matches, "entries": entries, "per": per_round,
                    "first_round": first_round,
                },
            )  # fmt: skip
        cursor.execute("SET session_replication_role = DEFAULT")
        cursor.execute("ANALYZE")
    pairings = 2 * matches // entries
    Entry.objects.filter(ladder=ladder).update(pairings=pairings, won=pairings // 2, place_sum=pairings * 3 // 2)
    return owner


# Match n is one of round n / per, in which i always meets its neighbour. Every row is like the first but for what is
# named, so that columns which others add are filled too.
def copies(model: str, source: str, **columns: str) -> Callable[[], str]:
    """Return what makes the statement that copies a model's first row for each row of `source`, these columns set."""

    def statement() -> str:
        from django.apps import apps

        table = apps.get_model(model)._meta.db_table
        names = [field.column for field in apps.get_model(model)._meta.concrete_fields]
        values = ", ".join(columns.get(name, f'first."{name}"') for name in names)
        named = ", ".join(f'"{name}"' for name in names)
        return (
            f"INSERT INTO {table} ({named}) SELECT {values} "
            f"FROM {table} first, {source} n WHERE first.id = (SELECT min(id) FROM {table})"
        )

    return statement


EACH = "generate_series(2, %(matches)s)"
BOTH = (
    "(SELECT m AS n, spot, who.* FROM generate_series(2, %(matches)s) m CROSS JOIN generate_series(0, 1) spot "
    "JOIN who ON who.i = 2 * (m %% %(per)s) + spot)"
)
STATEMENTS = (
    copies("games.Match", EACH, id="n", code="lpad(to_hex(n), 16, '0')",
           finished_at="now() - (%(matches)s - n) * interval '1 second'"),
    copies("ladder.Pairing", EACH, id="n", round_id="%(first_round)s + n / %(per)s", number="n",
           commitment="lpad(to_hex(n), 64, '0')"),
    copies("ladder.PairedMatch", EACH, id="n", pairing_id="n", match_id="n"),
    copies("games.Seat", BOTH, id="2 * n.n + n.spot", match_id="n.n", entrant="n.spot", seat="n.spot", bot_id="n.bot",
           version_id="n.version", place="1 + n.spot"),
    copies("ladder.PairedEntry", BOTH, id="2 * n.n + n.spot", pairing_id="n.n", entry_id="n.entry", entrant="n.spot",
           version_id="n.version"),
    copies("ladder.RatingChange", BOTH, id="2 * n.n + n.spot", entry_id="n.entry", pairing_id="n.n",
           version_id="n.version",
           seat="n.spot", number="n.n", nth="1 + n.n / %(per)s", before="1500 + n.n %% 400",
           after="1500 + (n.n + 1) %% 400"),
    lambda: """UPDATE ladder_entry e SET rating = 1500 + 300 * sin(e.id), strength = 1500 + 300 * sin(e.id),
        recent_ratings = (SELECT jsonb_agg(1500 + (37 * e.id + 11 * n * n) %% 400) FROM generate_series(1, 21) n),
        half_width = 40, band = 1 + (300 - 300 * sin(e.id))::int / 60, is_provisional = false
        WHERE ladder_id = %(ladder)s""",
)  # fmt: skip


def measure(name: str, ask: Callable[[], Any], requests: int) -> None:
    """Print what one page costs."""
    from django.db import connection

    times, queries = [], []

    def count(execute: Any, sql: str, *rest: Any) -> Any:
        queries.append(sql)
        return execute(sql, *rest)

    with connection.execute_wrapper(count):
        answer = ask()
        assert answer.status_code == 200, (name, answer.status_code, answer.headers)
    for _ in range(requests):
        began = time.perf_counter()
        ask()
        times.append(1000 * (time.perf_counter() - began))
    print(
        f"{name:36} {median(times):7.1f} ms, 95 % within {quantiles(times, n=20)[-1]:7.1f} (limit {LIMIT_MS}), "
        f"{len(queries)} queries (limit {LIMIT_QUERIES})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--matches", type=int, default=1_000_000)
    parser.add_argument("--requests", type=int, default=30)
    asked = parser.parse_args()
    with site():
        began = time.monotonic()
        owner = fill(asked.entries, asked.matches)
        print(f"{asked.entries} entries, {asked.matches} matches written in {time.monotonic() - began:.0f} s")
        from django.test import Client

        reader = Client(SERVER_NAME="localhost")
        reader.force_login(owner)
        own = owner.bots.get().entries.get().pk
        pages = ["", "?page=10", "?sort=rating", "?sort=name&page=3", "versions/", "matrix/", f"entries/{own}/"]
        for page in pages:
            measure(f"/ladders/large/{page}", lambda page=page: reader.get(f"/ladders/large/{page}"), asked.requests)
        anybody = Client(SERVER_NAME="localhost")
        measure("anybody: /ladders/large/", lambda: anybody.get("/ladders/large/"), asked.requests)
        from django.db import connection

        connection.close()


if __name__ == "__main__":
    main()
