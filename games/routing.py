"""Addresses of the games room's sockets."""

from django.urls import path

from games.consumers import TableConsumer

websocket_urlpatterns = [path("ws/tables/<slug:code>/", TableConsumer.as_asgi())]
