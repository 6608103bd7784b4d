"""There is no sandbox to be found at home. Stands in for `bots.sandbox.probing`."""


def require() -> str:
    """Return the way in which bots are run: without a jail."""
    return "none"
