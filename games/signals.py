"""What `games` announces; it never knows who listens.

`match_finished` is sent once a match's ending has been committed, with `match_id` and `state`
(finished or void). A listener that misses it finds the match in its own sweep.

`match_held_back` is sent, with `match_id`, once a match has been played of which nothing may be told yet: sealed, or on
show. Nothing follows from it but that pages may say so.
"""

from django.dispatch import Signal

match_finished = Signal()
match_held_back = Signal()
