"""What allauth asks of this site: which public names are free, and where people go."""

import unicodedata
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter

from soureh_site.accounts.names import check_free, check_public_name


class AccountAdapter(DefaultAccountAdapter):
    """Accounts whose public names can be told apart."""

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """Return `username` normalised; ValidationError with a sentence if it may not be taken."""
        name = unicodedata.normalize("NFC", username.strip())
        check_public_name(name)
        if not shallow:
            check_free(name)
        return name

    def is_safe_url(self, url: str | None) -> bool:
        """Tell whether `url` leads nowhere but here; what cannot be read as an address does not."""
        try:
            return bool(super().is_safe_url(url))
        except ValueError:
            return False

    def get_password_change_redirect_url(self, request: Any) -> str:
        """Go home after a changed password rather than to the same form again."""
        return "/"
