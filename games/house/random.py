"""The house bot `random`: any legal move, each as likely as the next.

The measure for everybody else: a bot that does not beat this one has a mistake.
"""

import soureh_bot


def choose(turn):
    return turn.rng.choice(turn.legal)


soureh_bot.run(choose)
