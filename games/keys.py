"""The names under which Redis holds what sandboxed workers read. Never imports Django: both sides use it."""


def source_key(sha256: str) -> str:
    """Return where the source with this content is kept."""
    return f"source:{sha256}"


def attempt_key(code: str) -> str:
    """Return where the number of a match's present attempt is kept."""
    return f"attempt:{code}"


def pause_key(worker: str) -> str:
    """Return what is there while a worker is to take up nothing new."""
    return f"paused:{worker}"
