"""Addresses of the pages that show ladders, bots, people and matches."""

from django.urls import URLPattern, path, re_path

from bots.versions import RESERVED_SLUGS
from ladder import (
    bot_views,
    entry_views,
    judgement_views,
    manage_views,
    match_views,
    pairing_views,
    schedule_views,
    strength_views,
    views,
)

urlpatterns: list[URLPattern] = [
    path("", views.home, name="home"),
    path("ladders/", views.ladder_list, name="ladder_list"),
    path("ladders/new/", manage_views.create, name="ladder_new"),
    path("ladders/<slug:slug>/", views.ladder, name="ladder"),
    path("ladders/<slug:slug>/manage/", manage_views.manage, name="ladder_manage"),
    path("ladders/<slug:slug>/settings/", manage_views.settings, name="ladder_settings"),
    path("ladders/<slug:slug>/judge/", manage_views.judge, name="ladder_judge"),
    re_path(
        r"^ladders/(?P<slug>[-a-zA-Z0-9_]+)/judgements/(?P<judgement>[0-9]{1,18})/$",
        judgement_views.judgement,
        name="ladder_judgement",
    ),
    path("ladders/<slug:slug>/hold/", manage_views.hold, name="ladder_hold"),
    path("ladders/<slug:slug>/fit/", manage_views.fit_now, name="ladder_fit"),
    path("ladders/<slug:slug>/house-bots/", manage_views.house_bots, name="ladder_house_bots"),
    path("ladders/<slug:slug>/history/", manage_views.events, name="ladder_events"),
    re_path(
        r"^ladders/(?P<slug>[-a-zA-Z0-9_]+)/move/(?P<to>open|start|freeze)/$", manage_views.move, name="ladder_move"
    ),
    re_path(
        r"^ladders/(?P<slug>[-a-zA-Z0-9_]+)/flags/(?P<flag>[0-9]{1,18})/$", manage_views.decide, name="ladder_decide"
    ),
    path("ladders/<slug:slug>/versions/", strength_views.versions, name="ladder_versions"),
    path("ladders/<slug:slug>/matrix/", strength_views.matrix, name="ladder_matrix"),
    re_path(
        r"^ladders/(?P<slug>[-a-zA-Z0-9_]+)/entries/(?P<pk>[0-9]{1,18})/$", strength_views.entry, name="ladder_entry"
    ),
    path("ladders/<slug:slug>/rounds/", pairing_views.rounds, name="ladder_rounds"),
    re_path(
        r"^ladders/(?P<slug>[-a-zA-Z0-9_]+)/rounds/(?P<number>[0-9]{1,9})/$",
        pairing_views.ladder_round,
        name="ladder_round",
    ),
    re_path(
        r"^ladders/(?P<slug>[-a-zA-Z0-9_]+)/pairings/(?P<pairing>[0-9]{1,18})/$",
        pairing_views.pairing,
        name="ladder_pairing",
    ),
    path("ladders/<slug:slug>/schedule/", schedule_views.schedule, name="ladder_schedule"),
    path("ladders/<slug:slug>/calendar.ics", schedule_views.calendar, name="ladder_calendar"),
    path("ladders/<slug:slug>/register/", entry_views.register, name="ladder_register"),
    path("entries/", entry_views.mine, name="my_entries"),
    path("entries/ready/", entry_views.ready, name="ready"),
    re_path(
        r"^entries/(?P<pk>[0-9]{1,18})/(?P<change>pause|resume|withdraw|return|ready|unready)/$",
        entry_views.change_entry,
        name="entry_change",
    ),
    path("bots/", bot_views.bot_list, name="bot_list"),
    # What is no bot's page at such an address is the bots' own.
    re_path(
        rf"^bots/(?!(?:{'|'.join(sorted(RESERVED_SLUGS))})/$)(?P<slug>[-a-zA-Z0-9_]+)/$", bot_views.bot, name="bot"
    ),
    path("people/<str:username>/", bot_views.person, name="person"),
    path("matches/", match_views.match_list, name="match_list"),
    path("matches/<slug:code>/", match_views.match, name="match"),
]
