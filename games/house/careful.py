"""The house bot `careful`: looks after its own four coops and after nobody else's.

It keeps a drawn card where that leaves it the most valid coops, and among those where it would
lose the fewest points; it calls as soon as it may and shows whatever it can show.
"""

import soureh_bot


def choose(turn):
    if turn.is_pick:
        return turn.best_pick()
    if "show" in turn.legal:
        return "show"
    own = [move for move in turn.legal if move in ("k0", "k1", "k2", "k3", "d")]
    best = max(own, key=lambda move: (sum(turn.coops_after(move)), -turn.lost_after(move)))
    # Some rules let one call on broken coops: an honest player does not.
    return turn.with_call(best) if all(turn.coops_after(best)) else best


soureh_bot.run(choose)
