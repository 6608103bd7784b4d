"""The ASGI application: pages by Django, table and ladder sockets by Channels."""

import gc
import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "soureh_site.settings")
django_application = get_asgi_application()

from channels.auth import AuthMiddlewareStack  # noqa: E402  (models must be loaded first)
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.urls import re_path  # noqa: E402

from soureh_site.bodies import bounded  # noqa: E402
from soureh_site.sockets import NoSuchSocket, websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": bounded(django_application),
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(URLRouter([*websocket_urlpatterns, re_path("", NoSuchSocket.as_asgi())]))
        ),
    }
)

# What is loaded by now lives as long as the process: full collections over it were pauses of 50 ms at live tables.
gc.collect()
gc.freeze()
gc.set_threshold(20_000, 20, 50)
