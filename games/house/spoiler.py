"""The house bot `spoiler`: as careful as `careful`, and a nuisance to whoever is most dangerous.

A turn that is given to spoiling is a turn not given to its own cards, and at a full table the others gain
by it too. So it spoils only where that costs it little: against a standing call, which ends the hand
unless somebody breaks it, and with a drawn card that helps it nowhere.

And it knows when not to: a lost hand that brings the total to a round hundred earns the century bonus and is
worth more than a won one. With that in reach it neither calls nor spoils, and lets the others win.
"""

import soureh_bot

WORTH_A_TURN = 0.25
"""How probably a swap must break a coop before it is better than throwing the card away."""

SMALL_GAIN = 8
"""So many points saved in a lost hand are less than a spoilt opponent."""


def choose(turn):
    if turn.is_pick:
        return turn.best_pick()
    if "show" in turn.legal:
        return "go" if turn.lost_after("d") < 0 else "show"
    own = [move for move in turn.legal if move in ("k0", "k1", "k2", "k3", "d")]
    best = max(own, key=lambda move: (sum(turn.coops_after(move)), -turn.lost_after(move)))
    if turn.lost_after(best) < 0:
        return min(own, key=lambda move: (turn.lost_after(move), -sum(turn.coops_after(move))))
    if turn.call or gains_little(turn, best):
        swap, harm = best_swap(turn)
        if harm > WORTH_A_TURN:
            return turn.with_call(swap) if all(turn.my_valid()) else swap
    return turn.with_call(best) if all(turn.coops_after(best)) else best


def gains_little(turn, best):
    """Return whether a move completes no coop and saves few points."""
    return (
        sum(turn.coops_after(best)) == sum(turn.my_valid())
        and turn.lost_after("d") - turn.lost_after(best) <= SMALL_GAIN
    )


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
    return sum(turn.chance_valid(seat, slot) for slot in soureh_bot.SLOTS) / 4


soureh_bot.run(choose)
