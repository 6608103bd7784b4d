"""The house bot `sage`: imagines what it cannot see, plays the hand to its end in its head, and chooses what did best.

For each decision it deals the hidden cards at random, as they may lie, tries its moves on that deal, and
plays the hand out with a simple policy for everybody. All moves are tried on the same deals, so that luck
counts for none of them; those that do worst are dropped on the way, which leaves more deals for those that
are hard to tell apart. What an end is worth is not its points, but how many opponents it will leave behind.

It plays the same game again from the same seed as long as its clock does not cut a search short.
"""

from functools import lru_cache
from math import exp
from time import process_time

import soureh_bot
from soureh_bot import KINDS, SLOTS

SEARCH = ((99, 8), (4, 10), (2, 20))
"""So many of the best moves are tried on so many more deals, step by step."""

SECONDS = 0.04
"""CPU seconds that a search may take: thinking up to 0.05 s is free, and a deal more is tried before it looks."""

TRUST = 0.9
"""How far it believes that a card which its owner put down himself completed his coop."""

LONGEST = 60  # cards that are drawn before an imagined hand is given up, with nobody as its winner
SWAPS = 3  # of all swaps only so many are tried, those that most probably break a coop
COOP = 8  # points that it gives, in its imagination, for one more valid coop of its own
COOPS_FIRST = 100  # the same for the others, who complete and call whatever losing would earn them
BREAKS = 0.25  # how probably a swap must break a caller's coop for a policy to make it
SPOILS = 0.2  # how much rarer cards must fit for a policy to swap although nobody has called
FORESEEN = 12  # hands, the furthest that it looks ahead in the match
NUMBER = {card: KINDS.index(card[0] + "sh"[soureh_bot.is_red(card)]) for card in soureh_bot.DECK}


class Sage:
    """Keeps what it has worked out for a match."""

    def __init__(self):
        self.game = None

    def choose(self, turn):
        if turn.is_pick:
            return turn.best_pick()
        if turn.game is not self.game:
            self.game, self.tables, self.outlook = turn.game, Tables(turn.rules), Outlook(turn.rules, turn.seats)
        return self.search(turn, process_time() + (SECONDS if turn.bank_s > 1 else SECONDS / 4))

    def search(self, turn, until):
        """Return the move that does best until the clock or the number of deals ends the search."""
        worth = dict.fromkeys(candidates(turn), 0.0)
        for width, deals in SEARCH:
            worth = {move: worth[move] for move in sorted(worth, key=worth.get, reverse=True)[:width]}
            if len(worth) == 1:
                break
            for _ in range(deals):
                deal = Deal(self, turn)
                for move in worth:
                    worth[move] += deal.play_out(move)
                if process_time() > until:
                    return max(worth, key=worth.get)
        return max(worth, key=worth.get)


def candidates(turn):
    """Return the moves that are worth a thought: all of its own, and the few swaps that do most harm."""
    swaps = [move for move in turn.legal if move[0] == "s" and len(move) == 3]

    def broken(move):
        seat, slot = int(move[1]), int(move[2])
        return turn.chance_valid(seat, slot) - turn.chance_valid(seat, slot, up=turn.drawn)

    swaps = sorted(swaps, key=broken, reverse=True)[:SWAPS]
    own = [move for move in turn.legal if move[0] != "s" or move == "show"]
    return own + swaps + [move + "!" for move in swaps if move + "!" in turn.legal]


class Tables:
    """The rules as tables over the numbers of the twenty `KINDS`, face-up card first."""

    def __init__(self, rules):
        kinds = range(len(KINDS))
        self.scores_one, self.bonus = rules.scoring == "one", rules.century_bonus
        self.steers = self.bonus and not self.scores_one
        self.valid = [[rules.valid(up, down) for down in KINDS] for up in KINDS]
        values = [list(rules.ace_values) if kind[0] == "A" else [soureh_bot.rank(kind)] for kind in KINDS]
        if self.scores_one:
            sums = [[{high + low for high in values[up] for low in values[down]} for down in kinds] for up in kinds]
        else:
            sums = [[{*values[up], *values[down]} for down in kinds] for up in kinds]
        self.least = [[min(both) for both in row] for row in sums]
        # A coop's values as a polynomial, eight bits a term: a product of four has a term for each sum of theirs.
        self.terms = [[sum(1 << 8 * value for value in both) for both in row] for row in sums]

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

    def lost(self, ups, downs, total):
        """Return what losing the hand with these cards adds to a total, the century bonus included."""
        terms, (first, second, third, fourth) = self.terms, downs
        a, b, c, d = terms[ups[0]][first], terms[ups[1]][second], terms[ups[2]][third], terms[ups[3]][fourth]
        points = a | b | c | d if self.scores_one else a * b * c * d
        return price(points, 100 - total % 100 if self.bonus else 0)


def price(points, gap):
    """Return what losing adds to a total which is `gap` short of a bonus (0: there is none); `points` as in `terms`."""
    if 0 < gap < 50 and points >> 8 * gap & 255:
        return gap - 50
    return (points & -points).bit_length() - 1 >> 3


class Outlook:
    """What totals are worth, by a model of the hands to come: one winner each, all equally strong."""

    def __init__(self, rules, seats):
        self.rules, self.winning = rules, 1 / seats
        self.losses = (9, 13, 17) if rules.scoring == "every" else (3, 5, 7)
        self.mean_after = lru_cache(None)(self._mean_after)
        self.lifetime = lru_cache(None)(self._lifetime)

    def share(self, mine, others, left):
        """Return the share of the others whom a player leaves behind, given all totals and the hands left, if known."""
        if left is None:
            left = min([self.lifetime(total, FORESEEN) for total in (mine, *others)])
        hands = min(FORESEEN, int(left + 0.5))
        spread, mean = 1.5 + 7 * hands**0.5, self.mean_after(mine, hands)
        return sum([1 / (1 + exp((mean - self.mean_after(total, hands)) / spread)) for total in others]) / len(others)

    def _mean_after(self, total, hands):
        """Return the total that is to be expected so many hands later."""
        return self._mix(self.mean_after, total, hands - 1) if hands and not self.is_out(total) else total

    def _lifetime(self, total, hands):
        """Return how many of the next hands a total stays below the target, on average."""
        return 1 + self._mix(self.lifetime, total, hands - 1) if hands and not self.is_out(total) else 0

    def is_out(self, total):
        return self.rules.end != "hands" and total >= self.rules.target

    def _mix(self, worth, total, hands):
        """Return the mean worth of a total after one hand more."""
        gap = 100 - total % 100
        lost = sum([worth(total + points, hands) for points in self.losses]) / len(self.losses)
        # So often a hand that is lost with this gap could be made to earn the bonus, in games of the house bots.
        bonus = min(0.85, (gap - 8) * 0.085, (38 - gap) * 0.085)
        if bonus > 0 and self.rules.century_bonus and self.rules.scoring == "every":
            lost = bonus * worth(total + gap - 50, hands) + (1 - bonus) * lost
        return self.winning * worth(total, hands) + (1 - self.winning) * lost


class Deal:
    """One way in which the hidden cards may lie, on which moves are tried."""

    def __init__(self, sage, turn):
        sample = turn.sample(trust=TRUST)
        self.turn, self.tables, self.outlook = turn, sage.tables, sage.outlook
        self.down = [[NUMBER[card] for card in cards] for cards in sample.down]
        self.up = [[NUMBER[card] for card in cards] for cards in turn.up]
        self.stock = [NUMBER[card] for card in sample.stock[:LONGEST]]

    def play_out(self, move):
        """Return what the end of the hand is worth if it begins with this move."""
        hand = Playout(self)
        if move == "show":
            return hand.worth(self.turn.seat)
        if move == "go":
            hand.caller = None
            return hand.play(0)
        hand.move(move)
        return hand.play(1)


class Playout:
    """A hand that is played to its end by a simple policy."""

    def __init__(self, deal):
        turn = self.turn = deal.turn
        self.tables, self.outlook, self.stock = deal.tables, deal.outlook, deal.stock
        self.up, self.down = [list(cards) for cards in deal.up], [list(cards) for cards in deal.down]
        self.order = [turn.seat, *turn.opponents]
        self.full_shield = LONGEST if turn.rules.caller_shield is None else turn.rules.caller_shield
        self.caller = turn.call["seat"] if turn.call else None
        self.shield = 0 if turn.call and turn.call["shield_used"] else self.full_shield

    def move(self, move):
        """Make my own move."""
        drawn = NUMBER[self.turn.drawn]
        if move[0] == "k":
            self.down[self.turn.seat][int(move[1])] = drawn
        elif move[0] == "s":
            self.up[int(move[1])][int(move[2])] = drawn
            self.shield -= int(move[1]) == self.caller
        if move[-1] == "!":
            self.call(self.turn.seat)

    def call(self, seat):
        self.caller, self.shield = seat, self.full_shield

    def play(self, at):
        """Play on from this place in the order; return what the end is worth."""
        valid, totals, me = self.tables.valid, self.turn.totals, self.turn.seat
        good = [[valid[up][down] for up, down in coops] for coops in map(zip, self.up, self.down)]
        for drawn in self.stock:
            seat = self.order[at]
            at = (at + 1) % len(self.order)
            if self.caller == seat:
                if all(good[seat]):
                    return self.worth(seat)
                self.caller = None
            ups, downs, mine = self.up[seat], self.down[seat], good[seat]
            if self.tables.steers and totals[seat] % 100 > 55:
                coop = COOP if seat == me else COOPS_FIRST
                slot, lost, is_gain = self.steer(ups, downs, mine, drawn, totals[seat], coop)
            else:
                slot, lost, is_gain = self.improve(ups, downs, mine, drawn)
            swap = self.swap(seat, drawn, slot is None) if lost > 0 and not is_gain else None
            if swap:
                other, slot = swap
                self.up[other][slot] = drawn
                good[other][slot] = valid[drawn][self.down[other][slot]]
            elif slot is not None:
                downs[slot] = drawn
                mine[slot] = valid[ups[slot]][drawn]
            if self.caller is None and all(mine) and (lost > 0 or seat != me):
                self.call(seat)
        return self.worth(None)

    def improve(self, ups, downs, mine, drawn):
        """Return the slot where to keep a card, or None; a price of losing above zero; whether a coop is won."""
        valid, least = self.tables.valid, self.tables.least
        best, chosen, is_gain = 0, None, False
        for slot in SLOTS:
            up = ups[slot]
            gain = least[up][downs[slot]] - least[up][drawn] + COOPS_FIRST * (valid[up][drawn] - mine[slot])
            if gain > best:
                best, chosen, is_gain = gain, slot, valid[up][drawn] > mine[slot]
        return chosen, 1, is_gain and self.caller is None

    def steer(self, ups, downs, mine, drawn, total, coop):
        """Return the same as `improve`, with an eye on the century bonus; a coop is worth `coop` points."""
        valid, terms, gap = self.tables.valid, self.tables.terms, 100 - total % 100
        rows = terms[ups[0]], terms[ups[1]], terms[ups[2]], terms[ups[3]]
        a, b, c, d = rows[0][downs[0]], rows[1][downs[1]], rows[2][downs[2]], rows[3][downs[3]]
        ab, cd = a * b, c * d
        kept = rows[0][drawn] * b * cd, a * rows[1][drawn] * cd, ab * rows[2][drawn] * d, ab * c * rows[3][drawn]
        lost = best = price(ab * cd, gap)
        chosen, is_gain = None, False
        for slot in SLOTS:
            after, gained = price(kept[slot], gap), valid[ups[slot]][drawn] - mine[slot]
            if after - coop * gained < best:
                best, chosen, lost, is_gain = after - coop * gained, slot, after, gained > 0
        return chosen, lost, is_gain and self.caller is None

    def swap(self, seat, drawn, is_idle):
        """Return the seat and the slot of a swap that is better than an own move, or None."""
        if self.caller is not None:
            chances = [(self.tables.breaking[old][drawn], slot) for slot, old in enumerate(self.up[self.caller])]
            chance, slot = max(chances)
            if self.shield < 1 or chance < BREAKS:
                return None
            self.shield -= 1
            return self.caller, slot
        if not is_idle:
            return None
        most, target = SPOILS, None
        for other in self.order:
            for slot, old in enumerate(self.up[other] if other != seat else ()):
                if self.tables.spoiling[old][drawn] > most:
                    most, target = self.tables.spoiling[old][drawn], (other, slot)
        return target

    def worth(self, winner):
        """Return what the end of the hand is worth to me."""
        turn, totals = self.turn, list(self.turn.totals)
        for seat in self.order:
            if seat != winner:
                totals[seat] += self.tables.lost(self.up[seat], self.down[seat], totals[seat])
        left = turn.rules.hands - turn.hand.no if turn.rules.end == "hands" else None
        return self.outlook.share(totals[turn.seat], [totals[seat] for seat in turn.opponents], left)


soureh_bot.run(Sage().choose)
