"""Which room answers which address."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("accounts/", include("allauth.urls")),
    path("", include("ladder.urls")),
    path("", include("games.urls")),
    path("", include("bots.urls")),
]
websocket_urlpatterns: list = []
