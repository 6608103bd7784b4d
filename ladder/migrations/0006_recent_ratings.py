"""Keep each entry's last ratings with it, so that no page reads a history; filled from the ledger."""

from typing import Any

from django.db import migrations, models

RECENT = 20  # pairings
MANY = 2000


def fill(apps: Any, schema_editor: Any) -> None:
    """Write the ratings before the last pairings and after each of them."""
    entries, changes = (apps.get_model("ladder", name).objects for name in ("Entry", "RatingChange"))
    for entry in entries.filter(pairings__gt=0).only("pairings").iterator(MANY):
        rows = changes.filter(entry=entry, nth__gt=entry.pairings - RECENT).order_by("nth")
        moves = list(rows.values_list("before", "after"))
        if moves:
            entry.recent_ratings = [moves[0][0], *(after for _, after in moves)]
            entry.save(update_fields=["recent_ratings"])


class Migration(migrations.Migration):
    dependencies = [("ladder", "0005_people_sets_and_judging")]

    operations = [
        migrations.AddField("entry", "recent_ratings", models.JSONField(blank=True, default=list)),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
