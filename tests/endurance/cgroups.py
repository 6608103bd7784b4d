"""Run bots in cgroups of their own on a kernel that has cgroup v2 with all its controllers, whatever the host has.

`.venv/bin/python tests/endurance/cgroups.py [--kernel linux.uml]`. The kernel is Debian's user-mode-linux (apt install
user-mode-linux, or `apt-get download` and `dpkg -x`), which runs as a process on this machine's files, read-only.
Needs root, and a minute. Prints a line for each fact and exits 1 unless all of them hold: what is written where; that
a bot may use all of its memory; that one which is killed at its own limit has a `memory` fault, and one which is
killed from outside, or because its worker is short of memory, has none; what is left of a killed worker; a worker that
is not root; and a cgroup with others in it, which is left alone. Both modes of the jail.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True

from bots import process  # noqa: E402  (found from the root)
from bots.process import BotFault, BotProcess, Limits, SandboxError  # noqa: E402
from bots.sandbox import cgroups, probe  # noqa: E402
from bots.sandbox.policy import filter_program  # noqa: E402

HIERARCHY = Path("/sys/fs/cgroup")
HELD = "all of it held"
INIT = f"""#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t cgroup2 cg {HIERARCHY}
mount -t tmpfs run /run; mount -t tmpfs tmp /var/tmp
PATH=/usr/bin:/bin:/usr/sbin:/sbin {sys.executable} {Path(__file__).resolve()} --inside
echo o > /proc/sysrq-trigger
sleep 60
"""
# Patient: an emulated system call takes twenty times as long.
LIMITS = Limits(memory_mb=96, start_s=60, move_s=30, bank_s=300, wall_s=100)
HELLO = {"type": "hello"}
BOT = b"""
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"ready"}')
    else:
        hoard = bytearray(message["mb"] << 20)
        for at in range(0, len(hoard), 4096):
            hoard[at] = 1
        del hoard
        print(json.dumps({"id": message["id"]}))
"""


def main() -> int:
    """Boot the kernel, show what the tests inside say, and return 0 if they all hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default="linux.uml", help="the kernel's program")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        run_inside()
        return 0
    kernel = shutil.which(arguments.kernel)
    if kernel is None:
        print(f"{arguments.kernel}: not found (apt install user-mode-linux)", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="soureh-kernel-") as folder:
        init = Path(folder) / "init"
        init.write_text(INIT)
        init.chmod(0o755)
        root = ["root=/dev/root", "rootfstype=hostfs", "ro", f"init={init}"]
        console = ["con=null", "con0=null,fd:1", "quiet", f"umid=soureh-{os.getpid()}"]
        command = [kernel, "mem=1500M", *root, *console]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    print(done.stdout)
    return 0 if HELD in done.stdout else 1


def run_inside() -> None:
    """Check everything; AssertionError at the first that does not hold."""
    (HIERARCHY / "cgroup.subtree_control").write_text("+memory +pids")
    unit = enter("unit")
    report = probe()
    assert report.ok and not report.no_cgroups, report
    assert folders(unit) == [cgroups.LEAF]
    fact(f"{report}; controllers of the unit's children: {(unit / 'cgroup.subtree_control').read_text().strip()}")
    for mode in ("A", "B"):
        process.require = lambda mode=mode: mode  # type: ignore[misc]
        for check in (limits_are_written, own_limit_is_its_fault, kill_is_not, need_of_the_worker_is_not):
            check(unit)
            fact(f"mode {mode}: {check.__name__.replace('_', ' ')}")
            assert folders(unit) == [cgroups.LEAF]
    in_child(die_with_a_bot)
    found = cgroups.own_cgroups().cgroups
    assert len(folders(unit)) == 2 and found is not None and found.sweep() == 1 and folders(unit) == [cgroups.LEAF]
    fact("a killed worker's cgroup is swept")
    in_child(be_a_user)
    in_child(be_in_company)
    print(HELD, flush=True)


def fact(text: str) -> None:
    """Say what has been seen to hold."""
    print(f"held: {text}", flush=True)


def enter(name: str) -> Path:
    """Make a cgroup, as systemd does for a unit, and move this process in."""
    path = HIERARCHY / name
    path.mkdir(exist_ok=True)
    (path / "cgroup.procs").write_text(str(os.getpid()))
    return path


def folders(path: Path) -> list[str]:
    """Return the names of the cgroups below one."""
    return sorted(child.name for child in path.iterdir() if child.is_dir())


class ReadyBot(BotProcess):
    """A bot that is ready."""

    def __init__(self) -> None:
        super().__init__({"bot.py": BOT}, limits=LIMITS)
        self.start(HELLO)

    @property
    def jail_pid(self) -> int:
        """The bot's process."""
        assert self._jail is not None
        return self._jail.pid

    @property
    def cgroup(self) -> Path:
        """Its cgroup's folder."""
        assert self._jail is not None and self._jail._cgroup is not None
        return self._jail._cgroup.path

    def use(self, mb: int) -> None:
        """Have it use that much memory."""
        self.ask({"type": "turn", "id": 1, "mb": mb}, id=1)


def limits_are_written(unit: Path) -> None:
    """A bot's limits stand in its cgroup, it alone is in it, and it may use all of its memory."""
    with ReadyBot() as bot:
        expected = {"memory.max": str(LIMITS.address_space), "memory.swap.max": "0", "pids.max": "18"}
        assert {name: (bot.cgroup / name).read_text().strip() for name in expected} == expected
        assert str(bot.jail_pid) in (bot.cgroup / "cgroup.procs").read_text().split()
        bot.use(LIMITS.memory_mb - 2)
        assert int((bot.cgroup / "memory.peak").read_text()) > (LIMITS.memory_mb - 2) << 20


def own_limit_is_its_fault(unit: Path) -> None:
    """Killed at its own limit, here set below what its rlimits allow, a bot has a memory fault."""
    with ReadyBot() as bot:
        (bot.cgroup / "memory.max").write_text(str(40 << 20))
        assert what_becomes_of(bot) == "memory"


def kill_is_not(unit: Path) -> None:
    """Killed by somebody, it is nobody's fault."""
    with ReadyBot() as bot:
        os.kill(bot.jail_pid, signal.SIGKILL)
        assert what_becomes_of(bot) == "ours"


def need_of_the_worker_is_not(unit: Path) -> None:
    """Killed at the limit of the whole unit, it is nobody's fault either."""
    with ReadyBot() as bot:
        (unit / "memory.max").write_text(str(int((unit / "memory.current").read_text()) + (20 << 20)))
        try:
            assert what_becomes_of(bot) == "ours"
        finally:
            (unit / "memory.max").write_text("max")


def what_becomes_of(bot: ReadyBot) -> str:
    """Return the kind of fault of a bot that is made to use 80 MB, or `ours`."""
    try:
        for _ in range(100):
            bot.use(80)
    except BotFault as fault:
        return fault.kind
    except SandboxError:
        return "ours"
    return "nothing"


def in_child(work: Callable[[], object]) -> None:
    """Do something in a process of its own, which may be killed at it."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, -signal.SIGKILL), status


def die_with_a_bot() -> None:
    """Be killed while a bot runs."""
    assert ReadyBot().jail_pid
    os.kill(os.getpid(), signal.SIGKILL)


def be_a_user() -> None:
    """A worker that is not root shapes what was given to its user."""
    path = enter("user")
    for name in ("", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
        os.chown(path / name, 1234, 1234)
    filter_program()
    os.setgroups([])
    os.setgid(1234)
    os.setuid(1234)
    cgroups.own_cgroups.cache_clear()
    process.require = lambda: "A"
    with ReadyBot() as bot:
        assert bot.cgroup.parent == path
        assert (bot.cgroup / "memory.max").read_text().strip() == str(LIMITS.address_space)
    assert folders(path) == [cgroups.LEAF]
    fact("a worker that is not root")


def be_in_company() -> None:
    """A cgroup with somebody else in it is left as it was."""
    path = enter("busy")
    cgroups.own_cgroups.cache_clear()
    with subprocess.Popen(["sleep", "600"]) as other:
        found = cgroups.own_cgroups()
        assert found.cgroups is None and "other processes" in found.reason, found
        assert folders(path) == [] and str(os.getpid()) in (path / "cgroup.procs").read_text().split()
        other.kill()
    fact(f"a cgroup in company: {found.reason}")


if __name__ == "__main__":
    sys.exit(main())
