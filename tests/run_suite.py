"""Lint, check types and run the tests on SQLite, on PostgreSQL and in a browser: what `./run test` does.

Arguments go to pytest; with any, only the tests that they choose run, on SQLite (or on DATABASE_URL). Without any, the
last line sums up all runs as pytest would. What this machine cannot run is named; with CI set that is a failure.
`./run test kill [OPTIONS]` runs the kill script instead.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.live import chromium  # noqa: E402  (found from the root)
from tests.postgres import find_server, throw_away_cluster  # noqa: E402

TYPED = ["bots", "games", "ladder", "soureh_site", "manage.py"]
# Long, without a database of their own: they run beside the rest, so that both take about as long.
JAILED = ("tests/bots/test_sandbox_hostile.py", "tests/games/test_play.py")
PACKAGES = {"Chromium": "chromium", "PostgreSQL": "postgresql", "bubblewrap": "bubblewrap"}


def main() -> int:
    """Run what the arguments ask for and return the exit status."""
    os.chdir(ROOT)
    arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="soureh-suite-") as folder:
        os.environ.setdefault("SOUREH_VAR", folder)
        if arguments[:1] == ["kill"]:
            return _run("python", "tests/endurance/kill.py", *arguments[1:])
        if arguments:
            return _run("pytest", *arguments)
        return Suite(Path(folder)).run()


class Part(NamedTuple):
    """Tests that run in one go: pytest's arguments and what is added to the environment."""

    name: str
    arguments: tuple[str, ...]
    environment: dict[str, str] = {}


class Suite:
    """All of it. `failed` names the parts that did not pass, `left_out` those that cannot run here."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.counts, self.started = folder, Counter[str](), time.monotonic()
        self.failed: list[str] = []
        self.left_out: list[str] = []

    def run(self) -> int:
        """Run every part, however the others went, and return 0 if all passed and none is missing under CI."""
        if not shutil.which("bwrap"):
            self.left_out.append("bubblewrap")
        self._check("lint", "ruff", "check", ".")
        self._check("types", "mypy", "--strict", *TYPED)
        with self._postgres() as url:
            beside = [Part("jail", JAILED)]
            if url:
                beside.append(Part("PostgreSQL", ("-m", "not browser", "--only-database"), {"DATABASE_URL": url}))
            if chromium():
                beside.append(Part("browser", ("-m", "browser")))
            else:
                self.left_out.append("Chromium")
            others = [f"--ignore={path}" for path in JAILED]
            self._test_beside(Part("SQLite", ("-m", "not browser", *others)), beside)
        return self._sum_up()

    def _test_beside(self, first: Part, others: list[Part]) -> None:
        """Run the first part, and the others one after the other beside it: each leaves a processor idle half the time.

        What the others print is shown once the first has ended.
        """
        with ThreadPoolExecutor(1) as pool, (self.folder / "beside").open("w+b") as shown:
            running = pool.submit(lambda: [self._test(part, shown) for part in others])
            names = ", ".join(part.name for part in others)
            print(f"\n== tests: {first.name} (beside it {names}, shown below)", flush=True)
            statuses = [self._test(first), *running.result()]
            shown.seek(0)
            sys.stdout.buffer.write(shown.read())
            sys.stdout.flush()
        for part, status in zip([first, *others], statuses, strict=True):
            if status:
                self.failed.append(f"tests: {part.name}")
            if self._report(part).exists():
                self._count(self._report(part))

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

    def _check(self, name: str, tool: str, *arguments: str) -> None:
        print(f"\n== {name}", flush=True)
        if _run(tool, *arguments):
            self.failed.append(name)

    def _test(self, part: Part, shown: IO[bytes] | None = None) -> int:
        """Run a part and return its exit status; what it prints goes to `shown`, if given."""
        if shown:
            shown.write(f"\n== tests: {part.name}\n".encode())
            shown.flush()
        var = self.folder / part.name
        var.mkdir()
        # A suite that grows slow says where.
        options = ("-q", "--durations=12", "--durations-min=5", f"--junitxml={self._report(part)}")
        return _run("pytest", *options, *part.arguments, shown=shown, SOUREH_VAR=str(var), **part.environment)

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


def _run(tool: str, *arguments: str, shown: IO[bytes] | None = None, **environment: str) -> int:
    """Run a tool of this environment and return its exit status."""
    command = [sys.executable, *([] if tool == "python" else ["-m", tool]), *arguments]
    return subprocess.run(command, env={**os.environ, **environment}, stdout=shown, stderr=shown).returncode


if __name__ == "__main__":
    sys.exit(main())
