"""The house bot `counter`: counts the cards, and plays for expected points.

For every legal move it asks: who wins this hand from there (`turn.chances_to_win`), and what does each outcome cost me?
Losing costs its lowest pick, the century bonus included (which can make losing a gain); the others' losses count in
its favour.
"""

import soureh_bot

USUAL_LOSS = 13.0  # points that losing a hand costs the others, on average


def choose(turn):
    if turn.is_pick:
        return turn.best_pick()
    if "show" in turn.legal:
        # With the century bonus in reach a lost hand may be worth more than a won one.
        return "show" if value(turn, "show") >= value(turn, "go") else "go"
    return max(turn.legal, key=lambda move: value(turn, move))


def value(turn, move):
    """Return what a move is worth, in points: the others' expected losses less its own."""
    winning, others = turn.chances_to_win(move)[turn.seat], len(turn.opponents)
    return winning * USUAL_LOSS - (1 - winning) * (turn.lost_after(move) - USUAL_LOSS * (1 - 1 / others))


soureh_bot.run(choose)
