"""What `bots` announces; it never knows who listens.

`version_uploaded` is sent once a new version has been committed, with `version_id`. A listener that
misses it finds the version, still in state `trial`, in its own sweep.
"""

from django.dispatch import Signal

version_uploaded = Signal()
