"""Draw the deck: one SVG sprite with forty faces and the back.

`python -m games.cards_svg` writes `games/static/games/cards.svg`, which is committed; a test holds
that both agree. Each symbol is 100 by 140 and holds two drawings: a plain one (a large index and one
large suit), for cards narrower than 80 px, and one with pips. The custom properties `--card-plain` and
`--card-pips` (`inline` or `none`) choose; `--card-face`, `--card-edge`, `--card-back`, `--card-back-ink`,
`--suit-s`, `--suit-h`, `--suit-d`, `--suit-c` colour. They reach a symbol that `<use>` brings in,
while the page's selectors do not. Imports the standard library only.
"""

import math
from pathlib import Path

SPRITE = Path(__file__).parent / "static" / "games" / "cards.svg"
RANKS = "A23456789T"
SUITS = "shdc"
WIDTH, HEIGHT = 100, 140

# Each in a box of 100 by 100. They differ in outline, not in colour alone: a spade's point and foot, a
# heart's notch, a diamond's hollow sides, a club's three discs.
SUIT_PATHS = {
    "s": "M50 3C56 22 94 41 94 65A21 21 0 0 1 54.5 75C55.5 84 60 91 68 97H32C40 91 44.5 84 45.5 75"
    "A21 21 0 0 1 6 65C6 41 44 22 50 3Z",
    "h": "M50 96C40 76 5 58 5 31A23.5 23.5 0 0 1 50 21A23.5 23.5 0 0 1 95 31C95 58 60 76 50 96Z",
    "d": "M50 2Q64 29 88 50Q64 71 50 98Q36 71 12 50Q36 29 50 2Z",
    "c": "M50 3A21.5 21.5 0 0 1 65.5 39.5A21.5 21.5 0 1 1 55 70C55.5 82 60 91 69 97H31C40 91 44.5 82 45 70"
    "A21.5 21.5 0 1 1 34.5 39.5A21.5 21.5 0 0 1 50 3Z",
}
SUIT_COLOURS = {"s": "#1d2433", "h": "#a3243b", "d": "#a3243b", "c": "#1d2433"}
FONT = "'Iowan Old Style','Palatino Linotype',Palatino,'Book Antiqua',Georgia,'Noto Serif','Liberation Serif',serif"

LEFT, RIGHT = 36, 64
TOP, BOTTOM = 30, 110
_CORNERS: list[tuple[float, float]] = [(x, y) for y in (TOP, BOTTOM) for x in (LEFT, RIGHT)]
_EIGHT: list[tuple[float, float]] = [(x, y) for y in (TOP, 57, 83, BOTTOM) for x in (LEFT, RIGHT)]
PIPS: dict[str, list[tuple[float, float]]] = {
    "A": [(50, 70)],
    "2": [(50, TOP), (50, BOTTOM)],
    "3": [(50, TOP), (50, 70), (50, BOTTOM)],
    "4": _CORNERS,
    "5": [*_CORNERS, (50, 70)],
    "6": [*_CORNERS, (LEFT, 70), (RIGHT, 70)],
    "7": [*_CORNERS, (LEFT, 70), (RIGHT, 70), (50, 50)],
    "8": [*_CORNERS, (LEFT, 70), (RIGHT, 70), (50, 50), (50, 90)],
    "9": [*_EIGHT, (50, 70)],
    "T": [*_EIGHT, (50, 43.5), (50, 96.5)],
}


def sprite() -> str:
    """Return the whole sprite: a symbol for each card by its two letters, and `back`."""
    symbols = [_symbol(rank + suit, _face(rank, suit)) for suit in SUITS for rank in RANKS]
    symbols.append(_symbol("back", _back()))
    return '<svg xmlns="http://www.w3.org/2000/svg">\n' + "\n".join(symbols) + "\n</svg>\n"


def _symbol(name: str, body: str) -> str:
    return f'<symbol id="{name}" viewBox="0 0 {WIDTH} {HEIGHT}">{body}</symbol>'


def _face(rank: str, suit: str) -> str:
    colour = f"var(--suit-{suit},{SUIT_COLOURS[suit]})"
    return (
        '<rect x=".75" y=".75" width="98.5" height="138.5" rx="9" fill="var(--card-face,#fff)" '
        'stroke="var(--card-edge,#b9b1a1)" stroke-width="1.5"/>'
        f'<g fill="{colour}" font-family="{FONT}" font-weight="600" text-anchor="middle">'
        f'<g display="var(--card-plain,inline)">{_plain(rank, suit)}</g>'
        f'<g display="var(--card-pips,none)">{_with_pips(rank, suit)}</g></g>'
    )


def _plain(rank: str, suit: str) -> str:
    return _index(rank, x=26, y=47, size=54) + _pip(suit, 60, 95, 64)


def _with_pips(rank: str, suit: str) -> str:
    corner = _index(rank, x=13, y=23, size=24) + _pip(suit, 13, 35, 13)
    size = 46 if rank == "A" else 19
    pips = "".join(_pip(suit, x, y, size, upside_down=y > 70) for x, y in PIPS[rank])
    return f'{corner}<g transform="rotate(180 50 70)">{corner}</g>{pips}'


def _index(rank: str, *, x: float, y: float, size: float) -> str:
    if rank == "T":
        # Two figures in the width of one and a half, whatever the font; the box keeps them off the edge.
        width = size * 0.78
        return (
            f'<text x="{_n(x + size * 0.06)}" y="{_n(y)}" font-size="{_n(size)}" textLength="{_n(width)}" '
            'lengthAdjust="spacingAndGlyphs">10</text>'
        )
    return f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}">{rank}</text>'


def _pip(suit: str, x: float, y: float, size: float, *, upside_down: bool = False) -> str:
    scale = size / 100
    flip = f"{_n(scale)} {_n(-scale)}" if upside_down else _n(scale)
    dy = y + size / 2 if upside_down else y - size / 2
    return f'<path d="{SUIT_PATHS[suit]}" transform="translate({_n(x - size / 2)} {_n(dy)}) scale({flip})"/>'


def _back() -> str:
    """Draw tiles of stars and crosses in a frame, a large star in their midst."""
    ink = 'fill="none" stroke="var(--card-back-ink,#faf7f2)"'
    tiles = "".join(_star(50 + 18 * dx, 70 + 18 * dy, 9) for dx in range(-2, 3) for dy in range(-3, 4))
    hearts = "".join(_star(50 + 18 * dx, 70 + 18 * dy, 3.2) for dx in range(-2, 3) for dy in range(-3, 4))
    return (
        '<rect x=".75" y=".75" width="98.5" height="138.5" rx="9" fill="var(--card-face,#fff)" '
        'stroke="var(--card-edge,#b9b1a1)" stroke-width="1.5"/>'
        '<rect x="5" y="5" width="90" height="130" rx="5.5" fill="var(--card-back,#1c6480)"/>'
        f'<path d="{tiles}" {ink} stroke-width="1" opacity=".5"/>'
        f'<path d="{hearts}" fill="var(--card-back-ink,#faf7f2)" opacity=".35"/>'
        f'<path d="{_star(50, 70, 30)}" fill="var(--card-back,#1c6480)" stroke="var(--card-back-ink,#faf7f2)" '
        'stroke-width="2.5" stroke-linejoin="round"/>'
        f'<path d="{_star(50, 70, 21)}" {ink} stroke-width="1.5" stroke-linejoin="round"/>'
        f'<path d="{_star(50, 70, 9)}" fill="var(--card-back-ink,#faf7f2)"/>'
    )


def _star(x: float, y: float, radius: float) -> str:
    """Return the outline of two squares laid across each other: eight points at `radius`."""
    inner = radius * math.cos(math.pi / 4) / math.cos(math.pi / 8)
    points = []
    for step in range(16):
        reach = inner if step % 2 else radius
        angle = step * math.pi / 8
        points.append(f"{_n(x + reach * math.sin(angle))} {_n(y - reach * math.cos(angle))}")
    return "M" + "L".join(points) + "Z"


def _n(value: float) -> str:
    return f"{round(value, 2):g}"


def main() -> None:
    """Write the sprite to its place among the static files."""
    SPRITE.write_text(sprite(), encoding="utf-8")


if __name__ == "__main__":
    main()
