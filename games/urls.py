"""Addresses of games pages."""

from django.urls import URLPattern, path

from games import kit_views, views

urlpatterns: list[URLPattern] = [
    path("tables/new/", views.table_new, name="table_new"),
    path("tables/<slug:code>/", views.table, name="table"),
    path("tables/<slug:code>/deal/", views.table_deal, name="table_deal"),
    path("tables/<slug:code>/move/", views.table_move, name="table_move"),
    path("tables/<slug:code>/resign/", views.table_resign, name="table_resign"),
    path("matches/<slug:code>/record.json", views.match_record, name="match_record"),
    path("matches/<slug:code>/replay.json", views.match_frames, name="match_frames"),
    path("bots/<slug:slug>/versions/<int:number>/", views.version, name="version"),
    path("bots/kit/soureh_bot.py", kit_views.kit, name="kit"),
    path("health/", views.health, name="health"),
]
