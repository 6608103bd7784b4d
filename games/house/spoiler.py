"""The house bot `spoiler`: as careful as `careful`, and a nuisance to whoever is about to win.

Against a standing call it breaks what it can. When a drawn card is of no use to itself it gives it
to the opponent who seems nearest to calling, on top of the coop that it most probably breaks.
"""

import soureh_bot

WORTH_A_TURN = 0.25
"""How probably a swap must break a coop before it is better than throwing the card away."""


def choose(turn):
    if turn.is_pick:
        return turn.best_pick()
    if "show" in turn.legal:
        return "show"
    swap, harm = best_swap(turn)
    if turn.call and harm > WORTH_A_TURN:
        return turn.with_call(swap)
    best = max(own_moves(turn), key=lambda move: (sum(turn.coops_after(move)), -turn.lost_after(move)))
    if sum(turn.coops_after(best)) == sum(turn.my_valid()) and harm > WORTH_A_TURN:
        best = swap
    return turn.with_call(best) if all(turn.coops_after(best)) else best


def own_moves(turn):
    return [move for move in turn.legal if move in ("k0", "k1", "k2", "k3", "d")]


def best_swap(turn):
    """Return the swap that does the most harm, and how much: chance of breaking, times the danger of its owner."""
    swaps = [move for move in turn.legal if move[0] == "s" and len(move) == 3]
    if not swaps:
        return None, 0.0
    dangers = {seat: danger(turn, seat) for seat in turn.opponents}

    def harm(move):
        seat, slot = int(move[1]), int(move[2])
        broken = turn.chance_valid(seat, slot) - turn.chance_valid(seat, slot, up=turn.drawn)
        return broken * dangers[seat]

    best = max(swaps, key=harm)
    return best, harm(best)


def danger(turn, seat):
    """Return how near an opponent is to winning: 1 for the caller, else the share of his coops that seem valid."""
    if turn.call:
        return 1.0 if turn.call["seat"] == seat else 0.0
    return sum(turn.chance_valid(seat, slot) for slot in range(4)) / 4


soureh_bot.run(choose)
