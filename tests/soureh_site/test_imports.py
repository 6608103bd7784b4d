"""Who may import whom, read from the sources; and what the sandboxed worker loads, with Django blocked."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ["bots", "games", "ladder", "soureh_site"]  # each may import those before it
WITHOUT_DJANGO = [
    "bots.diff",
    "bots.process",
    "bots.sandbox",
    "bots.uploads",
    "games.engine",
    "games.playing",
    "games.referee",
    "games.reproducer.packing",
    "games.sandbox_tasks",
    "ladder.elo",
    "ladder.fit",
    "soureh_site.broker",
    "soureh_site.guard",
    "soureh_site.logs",
    "soureh_site.sandbox_worker",
    "soureh_site.valkey",
]
BLOCK = """
import importlib.abc, sys
class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"django", "rest_framework", "channels", "allauth"}:
            raise ImportError("blocked: " + name)
sys.meta_path.insert(0, Blocked())
"""


def modules(room: str) -> list[Path]:
    """Return the source files of a room."""
    return sorted(path for path in (ROOT / room).rglob("*.py"))


def imported(path: Path) -> list[tuple[int, str]]:
    """Return line and full name of everything that a file imports, wherever in the file."""
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1], node.module or ""] if node.level else [node.module or ""]
            found.append((node.lineno, ".".join(part for part in base if part)))
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_imports_one_above_it(room):
    above = set(ROOMS[ROOMS.index(room) + 1 :])
    assert modules(room)
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules(room)
        for line, name in imported(path)
        if name.partition(".")[0] in above
    ]
    assert wrong == []


def test_the_engine_imports_the_standard_library_alone():
    allowed = sys.stdlib_module_names
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules("games/engine")
        for line, name in imported(path)
        if name.partition(".")[0] not in allowed and not name.startswith("games.engine")
    ]
    assert wrong == []


def test_house_bots_and_kit_import_the_standard_library_and_the_kit_alone():
    allowed = sys.stdlib_module_names | {"soureh_bot"}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for room in ("games/kit", "games/house")
        for path in modules(room)
        for line, name in imported(path)
        if name.partition(".")[0] not in allowed
    ]
    assert wrong == []


@pytest.mark.parametrize("name", WITHOUT_DJANGO)
def test_what_the_sandboxed_worker_loads_imports_without_django(name):
    code = f"{BLOCK}\nimport {name}\nassert 'django' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_blocking_django_is_noticed_by_a_module_that_needs_it():
    code = f"{BLOCK}\nimport soureh_site.celery, bots.models"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "blocked: django" in done.stderr
