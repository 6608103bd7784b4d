"""The house bot `sage`: imagines what it cannot see, plays the hand to its end in its head, and chooses what did best.

First it judges every move at a glance: who will win the hand then (`turn.chances_to_win`), and how many opponents will
each outcome leave behind in the end (`Outlook`)? Then it deals the hidden cards at random, as they may lie, tries the
most promising moves on that deal, and plays the hand out with a simple policy for everybody. All moves are tried on the
same deals, so that luck counts for none of them; one that is surely behind is dropped, and what was seen at a glance
counts as much as GLANCE deals, so that chance alone turns nothing upside down.

It plays the same game again from the same seed as long as its clock does not cut a search short.
"""

from functools import lru_cache
from math import exp, sqrt
from time import process_time

import soureh_bot
from soureh_bot import KINDS, SLOTS

SECONDS = 0.03
"""CPU seconds after which a search ends: an answer within 0.05 s is free, and a deal more is tried before it looks."""

POOR = 1.0
"""CPU seconds in the bank below which it does not search at all."""

WIDTH = 6  # moves that are tried out
DEALS = 36  # deals on which they are, at most
BATCH = 6  # deals after which the moves that are surely behind are dropped
GLANCE = 80  # deals that the judgement at a glance is worth
SURE = 2.0  # standard errors by which a move must be behind to be dropped
SLIGHT = 0.002  # the share of an opponent that is not worth another deal

TRUST = 0.9
"""How far it believes that a card which its owner put down himself completed his coop."""

AHEAD = 10  # hands, the furthest that it looks ahead in the match
LONGEST = 60  # cards that are drawn before an imagined hand is given up, with nobody as its winner
HOPES = (0.12, 0.18, 0.25, 0.35, 0.5)  # in an imagined hand, the chance to win with so many valid coops
COOP = 8  # points that one more valid coop is worth to a player without a bonus to think of
WORTHWHILE = 8  # points that a move must gain to be better than a swap
BREAKS = 0.25  # how probably a swap must break a caller's coop to be made
SPOILS = 0.2  # how much rarer cards must fit for a swap although nobody has called

LOSSES = [*range(41), *range(-50, 0)]
"""What losing a hand can add to a total; a list with a value for each of these is indexed by the loss itself."""

NUMBER = {card: KINDS.index(card[0] + "sh"[soureh_bot.is_red(card)]) for card in soureh_bot.DECK}


class Sage:
    """Keeps what it has worked out for a match."""

    def __init__(self):
        self.game = self.hand = None

    def choose(self, turn):
        if turn.is_pick:
            return turn.best_pick()
        until = process_time() + SECONDS
        if turn.game is not self.game:
            self.game, self.tables, self.outlook = turn.game, Tables(turn.rules), Outlook(turn.rules, turn.seats)
            self.careless, self.hand = dict.fromkeys(range(turn.seats), 0.5), None
        if turn.hand is not self.hand:
            if self.hand:
                self.learn(self.hand.totals, turn.totals)
            self.hand, self.stakes = turn.hand, Stakes(turn, self.outlook)
        glance = {move: self.stakes.judge(turn, move) for move in turn.legal}
        moves = sorted(glance, key=glance.get, reverse=True)[:WIDTH]
        return moves[0] if turn.bank_s < POOR else self.search(turn, moves, glance, until)

    def learn(self, before, after):
        """Guess anew who is careless of the bonus, odds to one, from how the last hand changed the totals."""
        for seat, total in enumerate(before):
            if self.outlook.has_bonus and 12 <= 100 - total % 100 <= 32:
                # Who minds the bonus wins hardly any of these hands, who does not wins more than a quarter of them.
                odds = self.careless[seat] * (5 if after[seat] == total else 0.75)
                self.careless[seat] = min(50.0, max(0.02, odds))

    def search(self, turn, moves, glance, until):
        """Return the move that does best until the clock or the number of deals ends the search."""
        playouts = Playouts(self, turn)
        worth = {move: [] for move in moves}

        def score(move):
            return (sum(worth[move]) + GLANCE * glance[move]) / (len(worth[move]) + GLANCE)

        for deal in range(1, DEALS + 1):
            playouts.deal()
            for move in moves:
                worth[move].append(playouts.play_out(move))
            if process_time() > until:
                break
            if deal % BATCH == 0:
                best = max(moves, key=score)
                moves = [move for move in moves if score(best) - score(move) <= doubt(worth[best], worth[move])]
                if len(moves) == 1:
                    break
        return max(moves, key=score)


def doubt(leading, other):
    """Return how far behind a move must be to be surely worse than another: what each was worth, deal by deal."""
    gaps = [one - two for one, two in zip(leading, other, strict=True)]
    mean, deals = sum(gaps) / len(gaps), len(gaps)
    return max(0.0, SURE * sqrt(sum([(gap - mean) ** 2 for gap in gaps]) / (deals * (deals - 1))) - SLIGHT)


class Outlook:
    """What totals are worth, by a model of the hands to come: one winner each, all equally strong."""

    def __init__(self, rules, seats):
        self.rules, self.winning = rules, 1 / seats
        self.has_bonus = rules.century_bonus and rules.scoring == "every"
        self.losses, self.usual = ((6, 8, 11, 13, 17), 12) if rules.scoring == "every" else ((3, 4, 5, 6, 7), 5)
        self.steps, self.moments = lru_cache(None)(self._steps), lru_cache(None)(self._moments)
        # A long match has more outcomes than there is memory.
        self.ahead, self.share = lru_cache(None)(self._ahead), lru_cache(1 << 14)(self._share)

    def _share(self, mine, others, left):
        """Return the share of the others whom a player leaves behind, given all totals and the hands left, if known."""
        me, they = self.ahead(mine), [self.ahead(total) for total in others]
        worth, going = 0.0, 1.0
        for hands in range(AHEAD + 1):
            mean, variance, still = me[hands]
            for other in they:
                still *= other[hands][2]
            if left is not None:
                still = float(hands < left)
            ends = going - still if hands < AHEAD else going
            # What is improbable is left to the hand after it.
            if ends > 0.03 or hands == AHEAD:
                for other in they:
                    worth += ends * below(mean, variance, *other[hands][:2])
                going = still
        return worth / len(others)

    def _ahead(self, total):
        """Return for 0 to AHEAD hands: the mean total then, its variance, the chance that it is below the target."""
        found = [self.moments(total, hands) for hands in range(AHEAD + 1)]
        return [(mean, max(0.0, square - mean * mean), alive) for mean, square, alive in found]

    def _moments(self, total, hands):
        """Return the means of a total so many hands later, of its square, and of whether it is below the target."""
        if self.is_out(total):
            return total, total * total, 0.0
        if not hands:
            return total, total * total, 1.0
        steps = [(chance, self.moments(after, hands - 1)) for after, chance in self.steps(total)]
        return tuple([sum([chance * moments[which] for chance, moments in steps]) for which in range(3)])

    def is_out(self, total):
        return self.rules.end != "hands" and total >= self.rules.target

    def _steps(self, total):
        """Return what one hand may make of a total, each with its chance."""
        gap, bonus = 100 - total % 100, 0.0
        if self.has_bonus:
            # So often a lost hand earns it with this gap, in games of the house bots.
            bonus = max(0.0, min(0.94, (38 - gap) * 0.085, (gap - 5) * 0.1))
        # Who may earn it seldom wins.
        win = self.winning * (1 - bonus)
        usual = (1 - win) * (1 - bonus) / len(self.losses)
        return [(total, win), (total + gap - 50, (1 - win) * bonus), *[(total + loss, usual) for loss in self.losses]]


def below(mean, variance, other_mean, other_variance):
    """Return the chance that a total is below another, a tie counting half."""
    distance = 1.7 * (mean - other_mean) / sqrt(variance + other_variance + 0.04)
    return 1 / (1 + exp(max(-50.0, min(50.0, distance))))


class Stakes:
    """What the outcomes of one hand are worth to me."""

    def __init__(self, turn, outlook):
        self.seat, self.opponents, self.totals = turn.seat, turn.opponents, turn.totals
        self.outlook = outlook
        self.left = turn.rules.hands - turn.hand.no if turn.rules.end == "hands" else None
        self.won = self.worth(0, turn.seat)
        # By the winner, and by what I lose; and the mean over all winners.
        self.lost = {seat: [self.worth(lost, seat) for lost in LOSSES] for seat in self.opponents}
        self.mean = [sum(worths) / len(worths) for worths in zip(*self.lost.values(), strict=True)]

    def worth(self, lost, winner):
        """Return what it is worth if somebody wins, I lose so much, and the others lose as usual."""
        others = [self.totals[seat] + (seat != winner and self.usual(self.totals[seat])) for seat in self.opponents]
        return self.outlook.share(self.totals[self.seat] + lost, tuple(others), self.left)

    def usual(self, total):
        """Return what losing usually adds to a total."""
        gap = 100 - total % 100
        return gap - 50 if self.outlook.has_bonus and 14 <= gap <= 32 else self.outlook.usual

    def judge(self, turn, move):
        """Return what a move is worth at a glance."""
        chances, lost = turn.chances_to_win(move), turn.lost_after(move)
        return chances[self.seat] * self.won + sum([chances[seat] * self.lost[seat][lost] for seat in self.opponents])


class Tables:
    """The rules as tables over the numbers of the twenty `KINDS`, face-up card first."""

    def __init__(self, rules):
        kinds = range(len(KINDS))
        self.scores_one, self.bonus = rules.scoring == "one", rules.century_bonus
        self.valid = [[int(rules.valid(up, down)) for down in KINDS] for up in KINDS]
        values = [list(rules.ace_values) if kind[0] == "A" else [soureh_bot.rank(kind)] for kind in KINDS]
        if self.scores_one:
            sums = [[{high + low for high in values[up] for low in values[down]} for down in kinds] for up in kinds]
        else:
            sums = [[{*values[up], *values[down]} for down in kinds] for up in kinds]
        # A coop's values as a polynomial, eight bits a term: a product of four has a term for each sum of theirs.
        self.terms = [[sum(1 << 8 * value for value in both) for both in row] for row in sums]
        least = [[min(both) for both in row] for row in sums]
        value = [[COOP * self.valid[up][down] - least[up][down] for down in kinds] for up in kinds]
        # What it gains to put a new card (last) under a face-up card in the place of an old one.
        self.gains = [[[new - value[up][down] for new in value[up]] for down in kinds] for up in kinds]

        def is_open(old, new):
            return KINDS[old][0] != "A" or (rules.ace_guard == "ten" and KINDS[new][0] == "T")

        def breaking(old, new):
            both = sum(map(int.__and__, self.valid[old], self.valid[new]))
            return 1 - both / max(1, sum(self.valid[old])) if is_open(old, new) else -1

        def spoiling(old, new):
            return (sum(self.valid[old]) - sum(self.valid[new])) / len(KINDS) if is_open(old, new) else -1

        # What a swap of `new` for `old` does to a coop that is valid, and to one of which nothing is known.
        self.breaking = [[breaking(old, new) for new in kinds] for old in kinds]
        self.spoiling = [[spoiling(old, new) for new in kinds] for old in kinds]
        self.spoils = [max(row[new] for row in self.spoiling) > SPOILS for new in kinds]

    def lost(self, ups, downs, total):
        """Return what losing the hand with these cards adds to a total, the century bonus included."""
        a, b, c, d = [self.terms[up][down] for up, down in zip(ups, downs, strict=True)]
        return price(a | b | c | d if self.scores_one else a * b * c * d, self.bits_to_bonus(total))

    def bits_to_bonus(self, total):
        """Return the place, in a polynomial, of the points that earn a bonus; 0 if none do."""
        return 8 * (100 - total % 100) if self.bonus else 0


def price(points, bonus):
    """Return what losing adds to a total: `points` as in `terms`, `bonus` as of `bits_to_bonus`."""
    if 0 < bonus < 400 and points >> bonus & 255:
        return (bonus >> 3) - 50
    return (points & -points).bit_length() - 1 >> 3


class Playouts:
    """Hands that are played to their end by a simple policy, from one turn on."""

    def __init__(self, sage, turn):
        self.sage, self.turn, self.tables, self.stakes = sage, turn, sage.tables, sage.stakes
        self.order = [turn.seat, *turn.opponents]
        self.full_shield = LONGEST if turn.rules.caller_shield is None else turn.rules.caller_shield
        self.dealt_up = [[NUMBER[card] for card in cards] for cards in turn.up]
        # What a player wants who minds the bonus, by his valid coops and what losing would add; None if he does not.
        steering = [[hope * 13 - (1 - hope) * lost for lost in LOSSES] for hope in HOPES]
        self.minding = {}
        if sage.outlook.has_bonus:
            self.minding = {seat: steering for seat in turn.opponents if 8 <= 100 - turn.totals[seat] % 100 <= 40}
        self.mine = [[hope * self.stakes.won + (1 - hope) * worth for worth in self.stakes.mean] for hope in HOPES]
        # Losing is better than winning where this is True.
        gains = [lost < 0 for lost in LOSSES]
        self.is_gain = [gains if seat in self.minding else [False] * len(gains) for seat in range(turn.seats)]
        self.is_gain[turn.seat] = [worth > self.stakes.won for worth in self.stakes.mean]

    def deal(self):
        """Deal one way in which the hidden cards may lie, and guess who minds the bonus."""
        sample = self.turn.sample(trust=TRUST)
        self.dealt_down = [[NUMBER[card] for card in cards] for cards in sample.down]
        self.stock = [NUMBER[card] for card in sample.stock[:LONGEST]]
        self.wants = [None] * self.turn.seats
        for seat, wanted in self.minding.items():
            if self.turn.rng.random() * (1 + self.sage.careless[seat]) < 1:
                self.wants[seat] = wanted
        if not self.tables.scores_one:
            self.wants[self.turn.seat] = self.mine

    def play_out(self, move):
        """Return what the end of the hand is worth if it begins with this move."""
        turn, me = self.turn, self.turn.seat
        self.up, self.down = [cards[:] for cards in self.dealt_up], [cards[:] for cards in self.dealt_down]
        self.caller = turn.call["seat"] if turn.call else None
        self.shield = 0 if turn.call and turn.call["shield_used"] else self.full_shield
        if move == "show":
            return self.worth(me)
        if move == "go":
            self.caller = None
            return self.play(0)
        drawn = NUMBER[turn.drawn]
        if move[0] == "k":
            self.down[me][int(move[1])] = drawn
        elif move[0] == "s":
            self.up[int(move[1])][int(move[2])] = drawn
            self.shield -= int(move[1]) == self.caller
        if move[-1] == "!":
            self.caller, self.shield = me, self.full_shield
        return self.play(1)

    def play(self, at):
        """Play on from this place in the order; return what the end is worth."""
        valid, order, wants = self.tables.valid, self.order, self.wants
        last = len(order) - 1
        for drawn in self.stock:
            seat, at = order[at], at + 1 if at < last else 0
            up, down, want = self.up[seat], self.down[seat], wants[seat]
            good = valid[up[0]][down[0]] + valid[up[1]][down[1]] + valid[up[2]][down[2]] + valid[up[3]][down[3]]
            if self.caller == seat:
                if good == 4 and not self.would_lose(seat, want):
                    return self.worth(seat)
                self.caller = None
            slot, is_content = self.steer(seat, want, good, drawn) if want else self.improve(up, down, drawn)
            if not is_content and self.swap(seat, drawn, slot is None):
                slot = None
            if slot is not None:
                good += valid[up[slot]][drawn] - valid[up[slot]][down[slot]]
                down[slot] = drawn
            if good == 4 and self.caller is None and not self.would_lose(seat, want):
                self.caller, self.shield = seat, self.full_shield
        return self.worth(None)

    def would_lose(self, seat, want):
        """Whether a player likes losing better than winning."""
        if not want:
            return False
        return self.is_gain[seat][self.tables.lost(self.up[seat], self.down[seat], self.turn.totals[seat])]

    def improve(self, up, down, drawn):
        """Return the slot where to keep a card, or None; and whether that is better than a swap."""
        gains, best, chosen = self.tables.gains, 0, None
        for slot in SLOTS:
            gain = gains[up[slot]][down[slot]][drawn]
            if gain > best:
                best, chosen = gain, slot
        return chosen, best > WORTHWHILE

    def steer(self, seat, want, good, drawn):
        """Return the same for a player who minds what he would lose."""
        up, down, valid, terms = self.up[seat], self.down[seat], self.tables.valid, self.tables.terms
        bonus = self.tables.bits_to_bonus(self.turn.totals[seat])
        rows = terms[up[0]], terms[up[1]], terms[up[2]], terms[up[3]]
        a, b, c, d = rows[0][down[0]], rows[1][down[1]], rows[2][down[2]], rows[3][down[3]]
        ab, cd = a * b, c * d
        kept = rows[0][drawn] * b * cd, a * rows[1][drawn] * cd, ab * rows[2][drawn] * d, ab * c * rows[3][drawn]
        chosen, lost = None, price(ab * cd, bonus)
        first = best = want[good][lost]
        for slot in SLOTS:
            row, after = valid[up[slot]], price(kept[slot], bonus)
            value = want[good - row[down[slot]] + row[drawn]][after]
            if value > best:
                best, chosen, lost = value, slot, after
        return chosen, self.is_gain[seat][lost] or best - first > (0.02 if want is self.mine else 2)

    def swap(self, seat, drawn, is_idle):
        """Swap the drawn card, if there is reason to; return whether there was."""
        if self.caller is not None:
            if self.shield < 1:
                return False
            row = self.up[self.caller]
            chance, slot = max([(self.tables.breaking[old][drawn], slot) for slot, old in enumerate(row)])
            if chance < BREAKS:
                return False
            self.shield -= 1
            row[slot] = drawn
            return True
        most, target = SPOILS, None
        for other in self.order if is_idle and self.tables.spoils[drawn] else ():
            for slot, old in enumerate(self.up[other] if other != seat else ()):
                if self.tables.spoiling[old][drawn] > most:
                    most, target = self.tables.spoiling[old][drawn], (other, slot)
        if target:
            self.up[target[0]][target[1]] = drawn
        return target is not None

    def worth(self, winner):
        """Return what the end of the hand is worth to me."""
        totals, lost = self.turn.totals, self.tables.lost
        mine, *others = [
            totals[seat] + (0 if seat == winner else lost(self.up[seat], self.down[seat], totals[seat]))
            for seat in self.order
        ]
        return self.sage.outlook.share(mine, tuple(others), self.stakes.left)


soureh_bot.run(Sage().choose)
