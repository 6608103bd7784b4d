"""Collect the static files into `var/static` when one of them has changed."""

import hashlib
from importlib.metadata import version

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command


def collect_if_changed() -> bool:
    """Run `collectstatic` unless the files are those of the last time; tell whether it ran."""
    stamp, seen = settings.STATIC_ROOT / ".stamp", _fingerprint()
    if stamp.exists() and stamp.read_text() == seen:
        return False
    settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
    call_command("collectstatic", verbosity=0, interactive=False, clear=True, ignore_patterns=["*.map"])
    stamp.write_text(seen)
    return True


def _fingerprint() -> str:
    """Return a digest of every static file's name, size and time, of the storage, and of what hashes them."""
    parts = [settings.STORAGES["staticfiles"]["BACKEND"], version("whitenoise"), version("django")]
    for finder in get_finders():
        for path, storage in finder.list([]):
            parts.append(f"{path} {storage.size(path)} {storage.get_modified_time(path).timestamp()}")
    return hashlib.sha256("\n".join(sorted(parts)).encode()).hexdigest()
