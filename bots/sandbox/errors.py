"""What can go wrong with the sandbox itself. Never a bot's fault: that is `bots.process.BotFault`."""


class SandboxError(Exception):
    """The platform failed: the sandbox is missing, did not start, or was ended from outside.

    Whoever was playing is to play again from the same seed; no bot may be charged with it.
    """
