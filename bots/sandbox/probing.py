"""Find out, with a hostile bot through the real launcher, whether the sandbox holds on this host.

A mode counts only if every denial was seen. There is no switch to go on without.
"""

import functools
import json
import logging
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from . import late_file
from .cgroups import own_cgroups
from .errors import SandboxError
from .launcher import bwrap_path, launch
from .leftovers import end_leftovers
from .limits import Limits
from .runtime import runtime

logger = logging.getLogger(__name__)

PROBE_S = 20.0
OLDEST_BWRAP = (0, 8)
PROBE_LIMITS = Limits(memory_mb=64)
# One system call that must end the process, for a bot of its own.
KILLED = b"import ctypes\nctypes.CDLL(None).ptrace(16, 1, 0, 0)\nprint('alive', flush=True)\n"
# What bots cannot import would be their crash, and is the operator's mistake: permissions, another Python's build.
PACKAGES_WORK = b"""
import importlib, os
try:
    for name in sorted(os.listdir("/packages")):
        if os.path.exists(f"/packages/{name}/__init__.py"):
            importlib.import_module(name)
except Exception as error:
    raise SystemExit(f"BOT_PACKAGES: a bot cannot use them: {type(error).__name__}: {str(error).strip()[:200]}")
"""
APPARMOR = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
CLONE_SWITCH = Path("/proc/sys/kernel/unprivileged_userns_clone")
MAX_NAMESPACES = Path("/proc/sys/user/max_user_namespaces")
# To be pasted into a shell as it stands.
ALLOW_BWRAP = (
    "printf '%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' 'profile bwrap /usr/bin/bwrap flags=(unconfined) {'"
    " '  userns,' '}' | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap"
)


@dataclass(frozen=True)
class ProbeReport:
    """What the probe saw. `checks` maps each attempt to "denied", or to what happened instead.

    `no_cgroups` says why bots have no cgroups of their own here, which they can do without; empty if they have.
    """

    ok: bool
    mode: str | None
    reason: str
    checks: dict[str, str] = field(default_factory=dict)
    no_cgroups: str = ""

    def __str__(self) -> str:
        """Tell an operator in a few words how bots run here, or why they do not."""
        if not self.ok:
            return self.reason
        walls = f"without cgroups: {self.no_cgroups}" if self.no_cgroups else "each bot in a cgroup of its own"
        return f"sandbox mode {self.mode}, {walls}"


@functools.cache
def probe() -> ProbeReport:
    """Return the first mode in which every attempt of the probe bot is denied. Asked once a process.

    What workers that were killed have left behind is ended first.
    """
    end_leftovers()
    late_file.sweep()
    cgroups = own_cgroups()
    try:
        runtime()
        _require_bwrap()
    except SandboxError as error:
        return _refused([str(error)], {})
    reasons, checks = [], {}
    for mode in ("A", "B") if os.geteuid() == 0 else ("A",):
        try:
            checks = try_mode(mode)
        except SandboxError as error:
            reasons.append(f"mode {mode}: {error}{_hint(str(error))}")
            logger.info("sandbox without mode=%s reason=%r", mode, str(error))
            continue
        held = [name for name, seen in checks.items() if seen != "denied"]
        if not held:
            logger.info("sandbox mode=%s checks=%d", mode, len(checks))
            return ProbeReport(True, mode, "", checks, cgroups.reason)
        reasons.append(f"mode {mode}: not denied: " + ", ".join(f"{name} ({checks[name]})" for name in held))
    return _refused(reasons, checks)


def require() -> str:
    """Return the mode in which bots run here.

    Raises:
        SandboxError: there is none; the message says what is missing and what mends it.
    """
    report = probe()
    if not report.ok or report.mode is None:
        raise SandboxError(report.reason)
    return report.mode


def try_mode(mode: str) -> dict[str, str]:
    """Run the probe bots in this mode and return what each attempt led to.

    Raises:
        SandboxError: a probe bot did not run to its end.
    """
    deadline = time.monotonic() + PROBE_S
    source = Path(__file__).with_name("probe_bot.py").read_bytes()
    said, ending = _run(source, mode, deadline)
    try:
        checks = {str(name): str(seen) for name, seen in json.loads(said).items()}
    except (ValueError, AttributeError) as error:
        raise SandboxError(f"the probe bot did not report: {ending}") from error
    said, ending = _run(KILLED, mode, deadline)
    checks["ptrace"] = "denied" if ending == signal.SIGSYS and not said else f"ended by {ending}"
    if runtime().packages:
        _run(PACKAGES_WORK, mode, deadline, limits=Limits())
    return checks


def _run(source: bytes, mode: str, deadline: float, *, limits: Limits = PROBE_LIMITS) -> tuple[bytes, int | None]:
    """Run a bot to its end and return what it printed, and the signal that ended it, if one did."""
    jail = launch({"bot.py": source}, limits=limits, mode=mode)
    try:
        ending = jail.wait(deadline - time.monotonic())
        if ending is None:
            raise SandboxError(f"the probe bot did not end within {PROBE_S:.0f} s")
        if ending.status:
            lines = b"".join(_read_all(jail.stderr)).decode(errors="replace").strip().splitlines()
            raise SandboxError(f"the probe bot failed with status {ending.status}: {lines[-1:]}")
        return b"".join(_read_all(jail.stdout)), ending.signal
    finally:
        jail.close()


def _read_all(fd: int) -> Iterator[bytes]:
    """Yield what lies in the pipe of a bot that has ended; something of bwrap may still hold its other end."""
    with suppress(BlockingIOError):
        while chunk := os.read(fd, 65536):
            yield chunk


def _require_bwrap() -> None:
    path = bwrap_path()
    try:
        shown = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"{path} does not run: {error}") from error
    version = tuple(int(part) for part in shown.split()[-1].split(".")[:2])
    if version < OLDEST_BWRAP:
        raise SandboxError(f"expected bubblewrap 0.8 or newer: {shown.strip()} ({path})")


def _refused(reasons: list[str], checks: dict[str, str]) -> ProbeReport:
    reason = "bots cannot run safely here: " + "; ".join(reasons)
    logger.error("sandbox refused reason=%s", reason)
    return ProbeReport(False, None, reason, checks)


def _hint(error: str) -> str:
    """Return what allows bwrap a user namespace, if that is what it was refused."""
    if "namespace" not in error and "uid map" not in error and "Operation not permitted" not in error:
        return ""
    if _reads(APPARMOR, "1"):
        return f"; AppArmor forbids unprivileged user namespaces; to allow them to bwrap alone:  {ALLOW_BWRAP}"
    if _reads(CLONE_SWITCH, "0"):
        return "; user namespaces are switched off; to allow them:  sudo sysctl -w kernel.unprivileged_userns_clone=1"
    if _reads(MAX_NAMESPACES, "0"):
        return "; user namespaces are switched off; to allow them:  sudo sysctl -w user.max_user_namespaces=10000"
    return (
        "; user namespaces are forbidden here: in a container, allow unshare and mount in its seccomp profile"
        " (docker run --security-opt seccomp=… --security-opt apparmor=unconfined)"
    )


def _reads(path: Path, value: str) -> bool:
    try:
        return path.read_text().strip() == value
    except OSError:
        return False
