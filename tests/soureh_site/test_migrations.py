"""The migrations and the models say the same, so that tests may build their tables from either."""

from django.apps import apps
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from soureh_site.accounts.models import User

OURS = {User._meta.app_label, "bots", "games", "ladder"}


def test_no_model_has_changed_without_a_migration():
    loader = MigrationLoader(None)
    wanted = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps))
    changes = wanted.changes(graph=loader.graph)
    missing = {app: [str(each) for each in found[0].operations] for app, found in changes.items() if app in OURS}
    assert missing == {}
