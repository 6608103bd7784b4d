"""Fixtures of the ladder room: a person, and her browser."""

import pytest
from django.test import Client

from soureh_site.accounts.models import User
from tests.ladder.rows import make_user


@pytest.fixture
def ada(db: None) -> User:
    """A person who has entered nothing yet."""
    return make_user("ada")


@pytest.fixture
def by_ada(ada: User) -> Client:
    """Her browser, logged in."""
    client = Client()
    client.force_login(ada)
    return client
