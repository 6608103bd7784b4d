"""What happens only once: the first administrator."""

import secrets

from allauth.account.models import EmailAddress
from django.db import transaction

from soureh_site.accounts.models import User

NAME, ADDRESS = "admin", "admin@localhost.localdomain"


@transaction.atomic
def create_first_administrator() -> str | None:
    """Create the account `admin` if nobody administers the site; return its one-time password, which is kept nowhere.

    The account has to change it at its first login.
    """
    if User.objects.filter(is_superuser=True).exists():
        return None
    password = "-".join(secrets.token_hex(3) for _ in range(4))
    user = User(username=NAME, email=ADDRESS, is_staff=True, is_superuser=True, must_change_password=True)
    user.set_password(password)
    user.save()
    EmailAddress.objects.create(user=user, email=ADDRESS, primary=True, verified=True)
    return password
