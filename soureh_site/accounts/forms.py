"""The sign-up form, in this site's words."""

from typing import Any

from allauth.account.forms import SignupForm as AllauthSignupForm
from allauth.account.models import EmailAddress
from django.core.validators import MaxLengthValidator
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from soureh_site.accounts.names import MAX_LENGTH


class TakenMeanwhile(Exception):
    """Between looking and storing, somebody else took the name or the address."""


class SignupForm(AllauthSignupForm):
    """Public name, e-mail address, password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name, email = self.fields["username"], self.fields["email"]
        name.label = _("Public name")
        name.help_text = _("What everybody sees. It may not look like somebody else's.")
        name.max_length = MAX_LENGTH
        email.help_text = _("Only for logging in and for a forgotten password; nobody else sees it.")
        # What is longer would be cut off when it is stored, and be nobody's address.
        longest = EmailAddress._meta.get_field("email").max_length
        email.validators.append(MaxLengthValidator(longest))
        email.widget.attrs["maxlength"] = longest
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)

    def save(self, request: HttpRequest) -> Any:
        """Store the account. TakenMeanwhile if somebody else was faster; the form then says what was taken."""
        try:
            with transaction.atomic():
                return super().save(request)
        except IntegrityError as error:
            self.full_clean()
            if self.is_valid() and not self.account_already_exists:
                raise
            raise TakenMeanwhile from error
