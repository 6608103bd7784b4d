"""Kill every process of a running site, at random moments with matches in flight, and check that nothing is lost.

`./run test kill [--times 10] [--seed N] [--only NAME ...]`. Starts a site of its own (`manage.py up`, its own
folder and port) and kills with SIGKILL, `--times` times over in a random order, each of TARGETS. After each kill,
within 60 s (of the restart, where the manager was killed), it requires: every match finished, exactly once, none
void, no fault noted; every process belongs to the manager. After each turn: every ladder's ledger equals its replay.
At the end: no process, socket or folder is left. Takes about half a minute a kill; prints a line for each, exits 1
at the first that does not hold, and then leaves the site's folder for inspection.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.live import Site, until  # noqa: E402  (found from the root)

MATCHES = 20
WITHIN_S = 60.0
# Part of the command line, and whether the group's leader or one of its children is meant.
TARGETS = {
    "manager": ("", "leader"),
    "guard": ("soureh_site/guard.py", "leader"),
    "valkey": ("valkey-server", "leader"),
    "web": ("soureh_site.web", "leader"),
    "beat": (" beat ", "leader"),
    "results parent": ("results@", "leader"),
    "results child": ("results@", "child"),
    "slow parent": ("slow@", "leader"),
    "slow child": ("slow@", "child"),
    "matches parent": ("matches@", "leader"),
    "matches child": ("matches@", "child"),
    "tables": ("tables@", "leader"),
    "answers parent": ("answers@", "leader"),
    "answers child": ("answers@", "child"),
}


class DoesNotHold(Exception):
    """A fact that must hold after a kill does not."""


def main() -> int:
    """Run the kills and return the exit status."""
    options = _options()
    chance = random.Random(options.seed)
    folder = Path(tempfile.mkdtemp(prefix="soureh-kill-"))
    print(f"seed {options.seed}, folder {folder}", flush=True)
    site = Site(folder, ROUND_S="15", SHOWCASE_PACE_MS="50")
    site.start()
    _set_up_django(site)
    try:
        _kill_all(site, chance, times=options.times, names=options.only or list(TARGETS))
        _check_stopped(site)
    except (DoesNotHold, AssertionError) as error:
        print(f"DOES NOT HOLD: {error}\nthe site's folder is {folder}", flush=True)
        return 1
    finally:
        if site.process is not None and site.process.poll() is None:
            site.stop()
    shutil.rmtree(folder)
    print("everything holds", flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kill every process of a site and check that nothing is lost.")
    parser.add_argument("--times", type=int, default=10, help="how often each process is killed (default: 10)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="for the same order and moments")
    parser.add_argument("--only", nargs="+", choices=list(TARGETS), metavar="NAME", help="kill these alone")
    return parser.parse_args()


def _set_up_django(site: Site) -> None:
    """Load Django here, on the site's own database; it has no broker, the site's tick finds what is made here."""
    os.environ.update(SOUREH_VAR=str(site.folder), DJANGO_SETTINGS_MODULE="soureh_site.settings", LOG_LEVEL="ERROR")
    os.environ["REDIS_URL"] = f"unix://{site.folder}/nobody.sock"
    import django

    django.setup()


def _kill_all(site: Site, chance: random.Random, *, times: int, names: list[str]) -> None:
    print(f"{'turn':>4}  {'killed':<16}{'after s':>8}{'in flight':>11}{'lost':>6}{'all well after s':>18}", flush=True)
    for turn in range(1, times + 1):
        for name in chance.sample(names, len(names)):
            print(f"{turn:>4}  {name:<16}" + _kill_one(site, chance, name), flush=True)
        _check_ledgers(site)
        _check_endings(site)


def _kill_one(site: Site, chance: random.Random, name: str) -> str:
    """Kill one process with matches in flight, wait until all is well, and return the figures."""
    pid = until(lambda: _pid(site, name, chance), within_s=WITHIN_S, what=f"a {name} to kill")
    codes = _start_matches()
    delay = chance.uniform(0.0, 4.0)
    time.sleep(delay)  # the random moment itself
    in_flight = _count_unfinished(codes)
    os.kill(pid, signal.SIGKILL)
    if name == "manager":
        _restart(site)
    began = time.monotonic()
    until(lambda: not _count_unfinished(codes), within_s=WITHIN_S, every_s=0.3, what=f"{name}: all matches finished")
    until(lambda: _pid(site, name, chance) not in (None, pid), within_s=WITHIN_S, what=f"another {name}")
    took = time.monotonic() - began
    _check_matches(codes)
    until(lambda: not _strays(site), within_s=10, what=f"{name}: no process but the manager's")
    return f"{delay:>8.2f}{in_flight:>11}{_count_lost(codes):>6}{took:>18.1f}"


def _restart(site: Site) -> None:
    """Start the site again once the guard has left nothing of the killed one."""
    assert site.process is not None and site.process.stdout is not None
    site.process.wait()
    site.process.stdout.close()
    until(lambda: not site.processes(), within_s=WITHIN_S, what="the killed manager's processes gone")
    site.start()


def _pid(site: Site, name: str, chance: random.Random) -> int | None:
    part, which = TARGETS[name]
    if name == "manager":
        return site.process.pid if site.process else None
    pids = [pid for pid, line in site.processes().items() if part in line]
    found = sorted(pid for pid in pids if (os.getpgid(pid) == pid) == (which == "leader"))
    return chance.choice(found) if found else None


def _strays(site: Site) -> dict[int, str]:
    """Return the site's processes that do not descend from its manager."""
    assert site.process is not None
    return {pid: line for pid, line in site.processes().items() if site.process.pid not in _ancestors(pid)}


def _ancestors(pid: int) -> set[int]:
    """Return a process, its parent, and so on up; empty if it has ended meanwhile."""
    found = set()
    while pid > 1:
        found.add(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return found
    return found


def _start_matches() -> list[str]:
    """Create the matches, between house bots in turn, and return their codes."""
    from django.db import transaction

    from bots.models import BotVersion
    from games.engine import Rules
    from games.matches import create_match

    versions = list(BotVersion.objects.filter(bot__owner=None, state=BotVersion.State.READY).order_by("pk"))
    rules = Rules.preset("classic", target=100).to_json()
    with transaction.atomic():
        return [
            create_match(
                kind="ranked",
                rules=rules,
                entrants=[{"version": versions[(number + k) % len(versions)]} for k in range(2 + number % 3)],
                share="ladder:0",
            ).code
            for number in range(MATCHES)
        ]


def _of(codes: list[str]) -> Any:
    from games.models import Match

    return Match.objects.filter(code__in=codes)


def _count_unfinished(codes: list[str]) -> int:
    from games.models import Match

    return int(_of(codes).filter(state__in=Match.UNFINISHED).count())


def _count_lost(codes: list[str]) -> int:
    return sum(_of(codes).values_list("lost_attempts", flat=True))


def _check_matches(codes: list[str]) -> None:
    """Require of these matches: finished with a record, none void, and no bot to blame."""
    _require(
        lambda: _of(codes).filter(state="finished", record__isnull=False).count() == MATCHES, "every match finished"
    )
    _require(lambda: not any(faults for faults in _of(codes).values_list("faults", flat=True)), "no fault noted")


def _check_endings(site: Site) -> None:
    """Require of all matches so far: each ended once, by the log; none void; no house bot faulted or set aside."""
    from bots.models import BotVersion
    from games.models import Match, Seat

    lines = [line for path in (site.folder / "log").glob("results.log*") for line in path.read_text().splitlines()]
    endings = Counter(word for line in lines if " match ended " in line for word in line.split() if "match=" in word)
    finished = {f"match={code}" for code in Match.objects.filter(state="finished").values_list("code", flat=True)}
    twice = [code for code, count in endings.items() if count > 1]
    _require(lambda: not twice, f"each match ends once: {twice}")
    # Not the reverse: a process killed right after its commit could not log it.
    _require(lambda: set(endings) <= finished and bool(endings), "what the log says has ended has")
    _require(lambda: not Match.objects.filter(state="void").exists(), "no match void")
    _require(lambda: not Seat.objects.exclude(fault="").exists(), "no seat faulted")
    _require(lambda: not BotVersion.objects.exclude(state="ready").exists(), "no version set aside")


def _check_ledgers(site: Site) -> None:
    """Require that every ladder's ledger equals its replay and that every rated pairing stands in it once."""
    from ladder.models import Ladder

    for slug in Ladder.objects.values_list("slug", flat=True):
        site.manage("rerate", slug, "--check")


def _check_stopped(site: Site) -> None:
    """Stop the site and require that nothing of it is left."""
    import json

    run_dir = Path(json.loads((site.folder / "up.lock").read_text())["run_dir"])
    status = site.stop()
    _require(lambda: status == 0, f"expected status 0 of the stopped site: {status}")
    _require(lambda: not site.processes(), f"no process is left: {site.processes()}")
    _require(lambda: not run_dir.exists(), f"no socket is left: {run_dir}")


def _require(holds: Callable[[], bool], what: str) -> None:
    if not holds():
        raise DoesNotHold(what)


if __name__ == "__main__":
    sys.exit(main())
