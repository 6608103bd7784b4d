"""Which room answers which address."""

from allauth.account.decorators import secure_admin_login
from allauth.mfa.totp.views import activate_totp
from csp.decorators import csp_update
from django.contrib import admin
from django.urls import include, path
from rest_framework.authtoken.models import TokenProxy

from soureh_site.accounts.views import SignupView
from soureh_site.views import healthz

admin.autodiscover()
# Operators log in like everybody else: rate limits and the second factor hold for them too.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]
admin.site.site_header = admin.site.site_title = "Soureh"
# What that page could make is no token: the table keeps digests (tokens.py).
admin.site.unregister(TokenProxy)

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("admin/", admin.site.urls),
    # The QR code is an image in the page itself.
    path("accounts/2fa/totp/activate/", csp_update({"img-src": ["data:"]})(activate_totp), name="mfa_activate_totp"),
    path("accounts/signup/", SignupView.as_view(), name="account_signup"),
    path("accounts/", include("allauth.urls")),
    path("api/", include("soureh_site.api")),
    path("", include("ladder.urls")),
    path("", include("games.urls")),
    path("", include("bots.urls")),
]
