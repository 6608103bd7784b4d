"""Signing up, when two do it at the same moment."""

from allauth.account.views import SignupView as AllauthSignupView
from django.http import HttpResponse

from soureh_site.accounts.forms import SignupForm, TakenMeanwhile


class SignupView(AllauthSignupView):
    """The page on which somebody signs up."""

    def form_valid(self, form: SignupForm) -> HttpResponse:
        """Make the account; show the form again if its name or address has just been taken."""
        answer: HttpResponse
        try:
            answer = super().form_valid(form)
        except TakenMeanwhile:
            # Without errors it was an address of which nobody may learn that it is in use: its owner gets a mail.
            answer = self.form_invalid(form) if form.errors else super().form_valid(form)
        return answer
