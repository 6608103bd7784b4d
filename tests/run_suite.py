"""Lint, check types and run the tests on SQLite, on PostgreSQL and in a browser: what `./run test` does.

Arguments go to pytest; with any, only the tests that they choose run, on SQLite (or on DATABASE_URL). Without any, the
last line sums up all runs as pytest would. What this machine cannot run is named; with CI set that is a failure.
`./run test kill [OPTIONS]` and `./run test ledger [OPTIONS]` run a script of tests/endurance/ instead.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import IO, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.live import chromium  # noqa: E402  (found from the root)
from tests.postgres import find_server, throw_away_cluster  # noqa: E402

TYPED = ["bots", "games", "ladder", "soureh_site", "manage.py"]
# Long, and without a database.
JAILED = ("tests/bots/test_sandbox_hostile.py", "tests/games/test_play.py")
# Much of it waits for clocks and for processes to come up: one more than there are processors keeps these busy.
AT_ONCE = (os.cpu_count() or 1) + 1
ENDURANCE = ("kill", "ledger")
# What asks for pages is dear, and one database is enough for it: PostgreSQL refuses more of what is sent, and what is
# shown, and at how many queries, is the same on both. What the pages rest on is tested on both.
ON_POSTGRESQL = (
    "tests/test_hostile_requests.py",
    "tests/test_api.py",
    "tests/ladder/test_manage.py",
    "tests/ladder/test_pages.py",
)
ON_SQLITE = (
    "tests/test_query_counts.py",
    "tests/test_two_sets.py",
    "tests/test_two_worlds.py",
    "tests/bots/test_upload_compare.py",
    "tests/bots/test_upload_page.py",
    "tests/bots/test_upload_refusals.py",
    "tests/games/test_pages.py",
    "tests/soureh_site/test_accounts.py",
)
PACKAGES = {"Chromium": "chromium", "PostgreSQL": "postgresql", "bubblewrap": "bubblewrap"}


def main() -> int:
    """Run what the arguments ask for and return the exit status."""
    os.chdir(ROOT)
    # Else each of the hundreds of processes that tests start would compile the site anew, and pytest every test.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="soureh-suite-") as folder:
        os.environ.setdefault("SOUREH_VAR", folder)
        if arguments[:1] and arguments[0] in ENDURANCE:
            return _run("python", f"tests/endurance/{arguments[0]}.py", *arguments[1:])
        if arguments:
            return _run("pytest", *arguments)
        return Suite(Path(folder)).run()


class Part(NamedTuple):
    """What runs in one go: the command, a module and its arguments, and what is added to the environment."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = {}

    @property
    def is_tests(self) -> bool:
        """Whether these are tests, of which there is a report."""
        return self.command[0] == "pytest"

    @property
    def title(self) -> str:
        """What it is called where it is shown."""
        return f"tests: {self.name}" if self.is_tests else self.name


class Suite:
    """All of it. `failed` names the parts that did not pass, `left_out` those that cannot run here."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.counts, self.started = folder, Counter[str](), time.monotonic()
        self.failed: list[str] = []
        self.left_out: list[str] = []
        self._shows = Lock()

    def run(self) -> int:
        """Run every part, however the others went, and return 0 if all passed and none is missing under CI."""
        if not shutil.which("bwrap"):
            self.left_out.append("bubblewrap")
        with self._postgres() as url:
            parts = list(self._parts(url))
            names = ", ".join(part.name for part in parts)
            print(f"Running {names}: {AT_ONCE} at once, each shown when it has ended.", flush=True)
            with ThreadPoolExecutor(AT_ONCE) as pool:
                statuses = list(pool.map(self._run, parts))
        self.failed += [part.title for part, status in zip(parts, statuses, strict=True) if status]
        for part in parts:
            if part.is_tests and self._report(part).exists():
                self._count(self._report(part))
        return self._sum_up()

    def _parts(self, postgres: str) -> Iterator[Part]:
        """Yield what can run here; the longest parts first, so that none is waited for alone at the end."""
        yield Part("lint", ("ruff", "check", "."))
        yield Part("no-database", ("pytest", "-m", "not browser", "--database=none", *_but(JAILED)))
        on_database = ("pytest", "-m", "not browser", "--database=only")
        if postgres:
            yield Part("PostgreSQL", (*on_database, *_but(ON_SQLITE)), {"DATABASE_URL": postgres})
        # The migrations are gone through on PostgreSQL, and on SQLite by every site that is started.
        yield Part("SQLite", (*on_database, "--no-migrations", *(_but(ON_POSTGRESQL) if postgres else ())))
        if chromium():
            yield Part("browser", ("pytest", "-m", "browser", "--no-migrations"))
        else:
            self.left_out.append("Chromium")
        yield Part("jail", ("pytest", *JAILED))
        yield Part("types", ("mypy", "--strict", *TYPED))

    @contextmanager
    def _postgres(self) -> Iterator[str]:
        """Yield the address of a PostgreSQL for tests: the one given, one started for this, or nothing."""
        if given := os.environ.get("TEST_DATABASE_URL"):
            yield given
        elif server := find_server():
            with throw_away_cluster(server) as url:
                yield url
        else:
            self.left_out.append("PostgreSQL")
            yield ""

    def _run(self, part: Part) -> int:
        """Run a part, show what it printed, and return its exit status."""
        tool, *arguments = part.command
        environment = dict(part.environment)
        if part.is_tests:
            environment["SOUREH_VAR"] = str(self.folder / part.name)
            Path(environment["SOUREH_VAR"]).mkdir()
            # A suite that grows slow says where.
            arguments = ["-q", "--durations=12", "--durations-min=5", f"--junitxml={self._report(part)}", *arguments]
        with (self.folder / f"{part.name}.out").open("w+b") as shown:
            status = _run(tool, *arguments, shown=shown, **environment)
            shown.seek(0)
            with self._shows:
                print(f"\n== {part.title}", flush=True)
                shutil.copyfileobj(shown, sys.stdout.buffer)
                sys.stdout.flush()
        return status

    def _report(self, part: Part) -> Path:
        return self.folder / f"{part.name}.xml"

    def _count(self, report: Path) -> None:
        for suite in ElementTree.parse(report).getroot().iter("testsuite"):
            found = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
            self.counts["failed"] += found["failures"]
            self.counts["errors"] += found["errors"]
            self.counts["skipped"] += found["skipped"]
            self.counts["passed"] += found["tests"] - found["failures"] - found["errors"] - found["skipped"]

    def _sum_up(self) -> int:
        print()
        for name in self.left_out:
            print(f"Left out: what needs {name}. On Debian and Ubuntu:  sudo apt-get install {PACKAGES[name]}")
        if self.left_out and os.environ.get("CI"):
            self.failed.append("nothing may be left out under CI")
        if self.failed:
            print("Not passed: " + "; ".join(self.failed))
        words = [f"{self.counts[key]} {key}" for key in ("failed", "passed", "skipped", "errors") if self.counts[key]]
        print(f" {', '.join(words) or 'no tests ran'} in {time.monotonic() - self.started:.2f}s ".center(80, "="))
        return 1 if self.failed else 0


def _but(paths: Sequence[str]) -> list[str]:
    """Return the arguments that leave these files out of a part."""
    return [f"--ignore={path}" for path in paths]


def _run(tool: str, *arguments: str, shown: IO[bytes] | None = None, **environment: str) -> int:
    """Run a tool of this environment and return its exit status."""
    command = [sys.executable, *([] if tool == "python" else ["-m", tool]), *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, stdout=shown, stderr=shown).returncode


if __name__ == "__main__":
    sys.exit(main())
