"""Make the authors' download out of the tree: kit, engine, house bots, guide, and a referee that needs no sandbox."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from games.zips import packed

ROOT = Path(__file__).parents[2]
NAME = "soureh-kit.zip"
FOLDER = "soureh-kit"
LIB = "soureh/lib"

AS_THEY_ARE = (
    *("bots/__init__.py", "bots/archives.py", "bots/faults.py", "bots/process.py"),
    *("bots/upload_rules.py", "bots/uploads.py"),
    *("bots/sandbox/boot.py", "bots/sandbox/ending.py", "bots/sandbox/errors.py"),
    *("bots/sandbox/limits.py", "bots/sandbox/runtime.py"),
    *("games/__init__.py", "games/arena.py", "games/comparison.py", "games/duplicates.py"),
    *("games/playing.py", "games/referee.py"),
    "games/sequential.py",
    *("games/times.py", "games/kit/__init__.py", "games/kit/soureh_bot.py"),
)
FOLDERS = ("games/engine", "games/house")
ELSEWHERE = {
    "README.md": "games/home/README.md",
    "docs/bots.md": "docs/bots.md",
    "docs/engine.md": "games/engine/README.md",
    "docs/example_bot.py": "docs/example_bot.py",
    "docs/guide.md": "docs/guide.md",
    "my_bot.py": "docs/example_bot.py",
    "soureh_bot.py": "games/kit/soureh_bot.py",
    "soureh/__init__.py": "games/home/__init__.py",
    "soureh/__main__.py": "games/home/__main__.py",
    "soureh/checking.py": "games/home/checking.py",
    "soureh/commands.py": "games/home/commands.py",
    f"{LIB}/bots/lines.py": "games/home/stand_ins/lines.py",
    f"{LIB}/bots/sandbox/__init__.py": "games/home/stand_ins/sandbox.py",
    f"{LIB}/bots/sandbox/launcher.py": "games/home/stand_ins/launcher.py",
    f"{LIB}/bots/sandbox/probing.py": "games/home/stand_ins/probing.py",
    f"{LIB}/bots/sandbox/run.py": "games/home/stand_ins/run.py",
    f"{LIB}/bots/sandbox/spares.py": "games/home/stand_ins/spares.py",
}
# The documents link to each other as they lie in the tree.
LINKS = {"docs/bots.md": (b"../games/engine/README.md", b"engine.md")}


def contents() -> Iterator[tuple[str, Path]]:
    """Yield each file of the download, by its path in it, and where it is in the tree; in order of the former."""
    found = {f"{LIB}/{name}": name for name in AS_THEY_ARE} | ELSEWHERE
    for folder in FOLDERS:
        found |= {f"{LIB}/{path.relative_to(ROOT)}": str(path.relative_to(ROOT)) for path in _modules(folder)}
    for name in sorted(found):
        yield name, ROOT / found[name]


def _modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).glob("*.py"))


@cache
def bundle() -> bytes:
    """Return the download, a zip of one folder; made once a process, the same bytes for the same files."""
    files = {name: path.read_bytes() for name, path in contents()}
    for name, (here, there) in LINKS.items():
        files[name] = files[name].replace(here, there)
    return packed(files, folder=FOLDER)
