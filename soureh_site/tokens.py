"""Access tokens of the API: one for each account, shown once, kept only as a digest.

The table is that of `rest_framework.authtoken`; its `key` holds the digest, so that whoever reads
the database cannot speak for anybody.
"""

import hashlib
import logging
import secrets
from typing import Any

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from rest_framework import authentication
from rest_framework.authtoken.models import Token

from soureh_site.accounts.models import User

logger = logging.getLogger(__name__)

# A mark of their own lets people and scanners tell what they have found.
PREFIX = "soureh_"
DIGEST_DIGITS = 40  # as wide as the column: 160 bits


class SignedInRequest(HttpRequest):
    """What a view behind `login_required` gets."""

    user: User


class TokenAuthentication(authentication.TokenAuthentication):
    """`Authorization: Token soureh_…`, compared by digest."""

    def authenticate_credentials(self, key: str) -> tuple[Any, Any]:
        return super().authenticate_credentials(digest(key))


def digest(token: str) -> str:
    """Return what is stored of a token. Tokens are random, so they need neither salt nor stretching."""
    return hashlib.sha256(token.encode()).hexdigest()[:DIGEST_DIGITS]


def issue(user: User) -> str:
    """Return a new token for `user`; an earlier one stops working at once."""
    token = PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        Token.objects.filter(user=user).delete()
        Token.objects.create(user=user, key=digest(token))
    logger.info("api token issued user_id=%s", user.pk)
    return token


def revoke(user: User) -> None:
    """Make the user's token stop working; does nothing if he has none."""
    Token.objects.filter(user=user).delete()
    logger.info("api token revoked user_id=%s", user.pk)


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication_required(allow_get=True)
def api_token(request: SignedInRequest) -> HttpResponse:
    """Make, replace or revoke the reader's token. The answer that makes it is the only one that shows it."""
    if request.method != "POST":
        return _page(request)
    if "revoke" in request.POST:
        revoke(request.user)
        messages.success(request, _("The token is revoked. Programs that use it are locked out."))
        return redirect("api_token")
    return _page(request, token=issue(request.user))


def _page(request: SignedInRequest, *, token: str = "") -> HttpResponse:
    kept = Token.objects.filter(user=request.user).first()
    return render(request, "soureh_site/api_token.html", {"token": token, "kept": kept})
