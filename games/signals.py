"""What `games` announces; it never knows who listens.

`match_finished` is sent once a match's ending has been committed, with `match_id` and `state`
(finished or void). A listener that misses it finds the match in its own sweep.
"""

from django.dispatch import Signal

match_finished = Signal()
