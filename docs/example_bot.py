import soureh_bot


def choose(turn):
    if turn.is_pick:
        return turn.best_pick()
    if "show" in turn.legal:
        return "show"
    best = max(("d", "k0", "k1", "k2", "k3"), key=lambda move: sum(turn.coops_after(move)))
    return turn.with_call(best)


soureh_bot.run(choose)
