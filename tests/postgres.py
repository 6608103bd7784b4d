"""A PostgreSQL for one run of the suite: a cluster of its own in a temporary folder, on a unix socket alone."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USERS = ("postgres", "nobody")


def find_server() -> Path | None:
    """Return the folder of the newest server's programs on this machine, if there is one."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")]
    if found:
        return max(found, key=lambda path: int(path.parent.name) if path.parent.name.isdigit() else 0)
    on_path = shutil.which("postgres")
    return Path(on_path).resolve().parent if on_path and (Path(on_path).parent / "initdb").exists() else None


@contextmanager
def throw_away_cluster(programs: Path) -> Iterator[str]:
    """Start a cluster, yield the address of its database, and remove it. Not as root: PostgreSQL refuses that."""
    user = next(name for name in USERS if _exists(name)) if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="soureh-pg-"))
    try:
        if user:
            shutil.chown(folder, user)
        _run(user, programs / "initdb", "-D", folder / "data", "-U", "soureh", "-A", "trust", "-N")
        # Nothing here outlives the run, so nothing is written through to the disk.
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c full_page_writes=off -c synchronous_commit=off"
        _run(user, programs / "pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log", "-o", options, "start")
        try:
            yield f"postgresql://soureh@{str(folder).replace('/', '%2F')}/postgres"
        finally:
            _run(user, programs / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _run(user: str | None, program: Path, *arguments: object) -> None:
    """Run a program as `user` (None: as we are); its output is shown only if it fails."""
    command = [str(program), *map(str, arguments)]
    options = {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    # A server that stays in the background would keep a pipe open for ever: a file, then.
    with tempfile.TemporaryFile("w+") as output:
        if subprocess.run(command, cwd="/", stdout=output, stderr=subprocess.STDOUT, **options).returncode:
            output.seek(0)
            raise RuntimeError(f"{program.name} failed: {output.read()}")
