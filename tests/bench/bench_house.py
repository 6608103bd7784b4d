"""Whether each house bot is stronger than the one before it, in duplicate sets in the real sandbox.

    python tests/bench/bench_house.py [GAMES [JOBS]]

Plays GAMES (320) of each field and prints what `manage.py play --duplicate` prints, then for each two neighbours
whether their 95 % intervals are apart. A game with `sage` takes some 6 s of processor time.
"""

import sys
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from games.arena import Series, count_faults, load_bot, play_series
from games.comparison import compare
from games.engine import Rules

LADDER = ("random", "careful", "spoiler", "counter", "sage")
FIELDS = (LADDER[:4], LADDER[1:])
SEED = "house"


def main() -> None:
    """Play both fields and print how they compare."""
    games, jobs = [int(text) for text in [*sys.argv[1:], *("320", "1")[len(sys.argv) - 1 :]]]
    for names in FIELDS:
        series = Series([load_bot(f"house:{name}") for name in names], Rules.preset("classic"), games, SEED, True)
        with closing(play_series(series, jobs=jobs)) as playing:
            played = list(playing)
        rows = compare(names, [game.score for game in played], count_faults(len(names), played))
        print(f"\n{games} duplicate games, seed {SEED!r}")
        for row in rows:
            low, high = row["interval"]
            faults = {kind: count for kind, count in row["faults"].items() if count} or "none"
            print(
                f"{row['bot']:8} {row['elo']:+5.0f}  [{low:+.0f}, {high:+.0f}]  places {row['places']}  faults {faults}"
            )
        for weaker, stronger in zip(rows, rows[1:], strict=False):
            gap = stronger["interval"][0] - weaker["interval"][1]
            print(f"{weaker['bot']} < {stronger['bot']}: {'apart' if gap > 0 else 'NOT APART'} by {gap:+.0f}")


if __name__ == "__main__":
    main()
