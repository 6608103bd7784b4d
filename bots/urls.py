"""Addresses of the bots' pages."""

from django.urls import URLPattern, path

from bots import views

urlpatterns: list[URLPattern] = [
    path("bots/upload/", views.upload, name="bot_upload"),
    path("bots/<slug:slug>/edit/", views.edit, name="bot_edit"),
    path("bots/<slug:slug>/versions/", views.versions, name="bot_versions"),
    path("bots/<slug:slug>/versions/compare/", views.version_compare, name="version_compare"),
    path("bots/<slug:slug>/versions/<int:number>/activate/", views.version_activate, name="version_activate"),
    path("bots/<slug:slug>/versions/<int:number>/source", views.source, name="version_source"),
    path("my/bots/", views.mine, name="my_bots"),
]
