"""Fill what ladders, entries and the ledger have since seasons: from the rows that said it before."""

from typing import Any

from django.db import migrations
from django.db.models import OuterRef, Subquery

MANY = 2000


def fill(apps: Any, schema_editor: Any) -> None:
    """Fill the new columns; Meetings are sums over the ledger."""
    ladders = apps.get_model("ladder", "Ladder").objects
    ladders.filter(is_open=False).update(state="closed")
    ladders.update(entries_per_owner=None, daily_cap=None)
    entries = apps.get_model("ladder", "Entry").objects
    initial = apps.get_model("ladder", "Ladder").objects.filter(pk=OuterRef("ladder"))
    entries.update(seed_rating=Subquery(initial.values("initial_rating")))
    paired = apps.get_model("ladder", "PairedEntry").objects
    seats = apps.get_model("games", "Seat").objects.filter(
        match__paired__pairing=OuterRef("pairing"), entrant=OuterRef("entrant")
    )
    paired.update(version=Subquery(seats.values("version")[:1]))
    of_change = apps.get_model("ladder", "PairedEntry").objects.filter(
        pairing=OuterRef("pairing"), entry=OuterRef("entry")
    )
    pairings = apps.get_model("ladder", "Pairing").objects.filter(pk=OuterRef("pairing"))
    at_seat = apps.get_model("games", "Seat").objects.filter(
        match__paired__pairing=OuterRef("pairing"), bot__entries=OuterRef("entry")
    )
    apps.get_model("ladder", "RatingChange").objects.update(
        ladder=Subquery(pairings.values("ladder")[:1]),
        version=Subquery(of_change.values("version")[:1]),
        seat=Subquery(at_seat.values("seat")[:1]),
    )
    _meet(apps)


def _meet(apps: Any) -> None:
    """Sum up the ledger by pairs of entries."""
    change, meeting = apps.get_model("ladder", "RatingChange"), apps.get_model("ladder", "Meeting")
    rows = change.objects.order_by("ladder", "number", "entry").values_list("ladder", "pairing", "entry", "place")
    sums: dict[tuple[int, int, int], list[int]] = {}
    table: list[tuple[int, int, int, int]] = []
    for row in [*rows.iterator(MANY), (0, 0, 0, 0)]:
        if table and table[0][1] != row[1]:
            for i, (ladder, _, entry, place) in enumerate(table):
                for _, _, other, others in table[i + 1 :]:
                    found = sums.setdefault((ladder, entry, other), [0, 0, 0])
                    found[0] += 1
                    found[1] += place < others
                    found[2] += place == others
            table = []
        table.append(row)
    meeting.objects.bulk_create(
        (
            meeting(ladder_id=ladder, entry_id=entry, other_id=other, pairings=pairings, ahead=ahead, level=level)
            for (ladder, entry, other), (pairings, ahead, level) in sums.items()
        ),
        batch_size=MANY,
    )


def empty(apps: Any, schema_editor: Any) -> None:
    """Say in the old column what the new ones held."""
    apps.get_model("ladder", "Ladder").objects.filter(state__in=("frozen", "closed")).update(is_open=False)
    apps.get_model("ladder", "Entry").objects.filter(state="disqualified").update(state="withdrawn")


class Migration(migrations.Migration):
    dependencies = [("ladder", "0002_seasons_and_fits")]

    operations = [migrations.RunPython(fill, empty)]
