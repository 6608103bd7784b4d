"""Hold back an account that must change its password first."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

ALLOWED = ("account_change_password", "account_set_password", "account_reauthenticate", "account_logout", "healthz")


def new_password_first(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Redirect every page of such an account to the one where it changes its password."""

    def middleware(request: HttpRequest) -> HttpResponse:
        if _must_change(request) and request.path not in {reverse(name) for name in ALLOWED}:
            return redirect("account_change_password")
        return get_response(request)

    return middleware


def _must_change(request: HttpRequest) -> bool:
    return bool(request.user.is_authenticated and request.user.must_change_password)
