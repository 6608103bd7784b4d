"""Addresses of games pages."""

from django.urls import URLPattern, path

from games import author_views, fairness_views, kit_views, rules_views, status_views, views

urlpatterns: list[URLPattern] = [
    path("rules/", rules_views.rules, name="rules"),
    path("tables/new/", views.table_new, name="table_new"),
    path("tables/<slug:code>/", views.table, name="table"),
    path("tables/<slug:code>/deal/", views.table_deal, name="table_deal"),
    path("tables/<slug:code>/move/", views.table_move, name="table_move"),
    path("tables/<slug:code>/resign/", views.table_resign, name="table_resign"),
    path("matches/<slug:code>/record.json", views.match_record, name="match_record"),
    path("matches/<slug:code>/replay.json", views.match_frames, name="match_frames"),
    path("matches/<slug:code>/seats/<int:seat>/reproducer.zip", author_views.reproducer, name="reproducer"),
    path("bots/<slug:slug>/versions/<int:number>/", views.version, name="version"),
    path("bots/<slug:slug>/versions/<int:number>/retry/", author_views.retry, name="version_retry"),
    path("bots/<slug:slug>/versions/<int:number>/leave/", author_views.leave, name="version_leave"),
    path("my/bots/aside/", author_views.asides, name="bots_aside"),
    path("bots/guide/", kit_views.guide, name="guide"),
    path("bots/reference/", kit_views.reference, name="reference"),
    path("bots/kit/soureh-kit.zip", kit_views.kit_zip, name="kit_zip"),
    path("bots/kit/soureh_bot.py", kit_views.kit, name="kit"),
    path("docs/fairness.md", fairness_views.about, name="fairness"),
    path("docs/verify_shuffles.py", fairness_views.verifier, name="verifier"),
    path("status/", status_views.status, name="status"),
    path("health/", views.health, name="health"),
]
