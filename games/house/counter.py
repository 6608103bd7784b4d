"""The house bot `counter`: counts the cards, and plays for expected points.

For every legal move it asks: who wins this hand from there, and what does each outcome cost me?

- A coop is missing with the chance that it is invalid (its own it knows; the others' it counts
  from the unseen cards), and a missing coop costs as many turns as a fitting card is rare.
- The fewer turns a player still needs, the more probably he wins: his weight is exp(-HASTE * turns).
- Losing costs its lowest pick, the century bonus included (which can make losing a gain);
  the others' losses count in its favour.
"""

from math import exp

import soureh_bot

HASTE = 0.15  # how steeply the chance to win falls with each turn that a player still needs
CALLED = 6.0  # the weight of a player who has called with four valid coops
USUAL_LOSS = 13.0  # points that losing a hand costs the others, on average
LONGEST = 6.0  # turns after which nobody waits for a fitting card any longer


class Counter:
    """The chances of one turn, and what each move makes of them."""

    def __init__(self, turn):
        self.turn = turn
        self.waits = {}
        self.chances = {seat: [turn.chance_valid(seat, slot) for slot in range(4)] for seat in turn.opponents}
        self.weights = {seat: self.weight(seat, turn.up[seat], self.chances[seat]) for seat in turn.opponents}
        self.others = sum(self.weights.values())
        self.mine = self.my_weight("d")
        self.lost = turn.lost_after("d")

    def value(self, move):
        """Return what a move is worth, in points: the others' expected losses less its own."""
        mine = self.mine if move[0] != "k" and move[-1] != "!" else self.my_weight(move)
        others = self.others + self.harm(int(move[1]), int(move[2])) if move[0] == "s" else self.others
        return self.worth(mine, others, self.turn.lost_after(move) if move[0] == "k" else self.lost)

    def worth(self, mine, others, lost):
        """Return the worth of a position: `mine` and `others` weigh who wins it, `lost` is the price of losing it."""
        winning = mine / (mine + others)
        return winning * USUAL_LOSS - (1 - winning) * (lost - USUAL_LOSS * (1 - 1 / len(self.weights)))

    def my_weight(self, move):
        """Return my own weight after a move."""
        coops = self.turn.coops_after(move)
        if move[-1] == "!" and all(coops):
            return CALLED
        return self.patience(self.turn.my_up, coops)

    def patience(self, ups, chances):
        """Return the weight of a player who must wait for cards on the coops that he probably misses."""
        return exp(-HASTE * sum([(1 - chances[slot]) * self.wait(ups[slot]) for slot in soureh_bot.SLOTS]))

    def weight(self, seat, ups, chances):
        """Return the weight of an opponent with these face-up cards and these chances that his coops are valid."""
        weight = self.patience(ups, chances)
        if self.turn.call and self.turn.call["seat"] == seat:
            weight += CALLED * chances[0] * chances[1] * chances[2] * chances[3]
        return weight

    def harm(self, seat, slot):
        """Return by how much an opponent weighs more (or, below zero, less) once he has the drawn card on a slot."""
        drawn = self.turn.drawn
        ups, chances = list(self.turn.up[seat]), list(self.chances[seat])
        ups[slot], chances[slot] = drawn, self.turn.chance_valid(seat, slot, up=drawn)
        return self.weight(seat, ups, chances) - self.weights[seat]

    def wait(self, up):
        """Return how many draws it takes, on average, to complete a coop under this face-up card."""
        if up not in self.waits:
            self.waits[up] = 1 / max(self.turn.chance_fits(up), 1 / LONGEST)
        return self.waits[up]


def choose(turn):
    if turn.is_pick:
        return turn.best_pick()
    counter = Counter(turn)
    if "show" in turn.legal:
        # With the century bonus in reach a lost hand may be worth more than a won one.
        shown = counter.worth(1.0, 0.0, 0)
        return "show" if shown >= counter.worth(counter.mine, counter.others, counter.lost) else "go"
    return max(turn.legal, key=counter.value)


soureh_bot.run(choose)
