"""Addresses of the ladder's sockets."""

from django.urls import path

from ladder.consumers import LadderConsumer, NoticeConsumer

websocket_urlpatterns = [
    path("ws/home/", NoticeConsumer.as_asgi()),
    path("ws/ladders/<slug:slug>/", LadderConsumer.as_asgi()),
]
