"""Every test of the ladder speaks to a channel layer of its own, in memory."""

import pytest


@pytest.fixture(autouse=True)
def channel_layer(settings):
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
