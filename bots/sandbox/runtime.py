"""What bots run on: the interpreter, and packages beside its standard library, as the environment names them.

BOT_PYTHON is a CPython's path (default: Debian's), BOT_PACKAGES a folder such as `pip install --target` makes. Both
are bound into the jail read-only. They are the operator's, and trusted: to learn where it lies the interpreter is run
once, outside.
"""

import functools
import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import SandboxError

DEFAULT_PYTHON = "/usr/bin/python3"
OLDEST = (3, 11)
# Where packages lie in the jail.
PACKAGES = "/packages"
ASK_S = 20.0
ASK = """
import json, os, sys
print(json.dumps({
    "python": os.path.realpath(sys.executable),
    "prefixes": [sys.base_prefix, sys.base_exec_prefix],
    "name": sys.implementation.name,
    "version": sys.version_info[:2],
}))
"""
# In the layout of PEP 552, never checked against the source: for whom it is made the two come together.
COMPILE = """
import importlib.util, json, marshal, sys
source = sys.stdin.buffer.read()
code = compile(source, sys.argv[1], "exec", dont_inherit=True)
sys.stdout.buffer.write(sys.implementation.cache_tag.encode() + b"\\n" + importlib.util.MAGIC_NUMBER)
sys.stdout.buffer.write((1).to_bytes(4, "little") + importlib.util.source_hash(source) + marshal.dumps(code))
"""


@dataclass(frozen=True)
class Runtime:
    """`python` as it is called in the jail and outside, the `folders` it needs beside /usr/lib, `packages` outside."""

    python: str = DEFAULT_PYTHON
    folders: tuple[str, ...] = ()
    packages: str | None = None


@functools.cache
def runtime() -> Runtime:
    """Return what bots run on here. Found once a process.

    Raises:
        SandboxError: a variable names nothing that a bot could run on; the text begins with its name.
    """
    try:
        python, packages = read_variables(os.environ)
    except ValueError as error:
        raise SandboxError(str(error)) from error
    if python == DEFAULT_PYTHON:
        return Runtime(packages=packages)
    found = _ask(python)
    if found["name"] != "cpython" or tuple(found["version"]) < OLDEST:
        wanted = "CPython " + ".".join(map(str, OLDEST))
        raise SandboxError(f"BOT_PYTHON: expected {wanted} or newer: {found['name']} {found['version']} ({python})")
    return Runtime(found["python"], _folders(found["prefixes"]), packages)


def bytecode(name: str, source: bytes) -> Mapping[str, bytes]:
    """Return what lies beside /bot/`name`, a module of ours, so that no bot has to compile it, by path inside /bot.

    Its own module of that name must not be given this. Raises SandboxError as `compiled` does.
    """
    tag, code = compiled(f"/bot/{name}", source)
    return {f"__pycache__/{name.removesuffix('.py')}.{tag}.pyc": code}


@functools.cache
def compiled(path: str, source: bytes) -> tuple[str, bytes]:
    """Return the tag of the interpreter, and a .pyc file of a source of ours that is found at `path` in the jail.

    Made once a process, by the interpreter that will read it. Never for a bot's own source, which no compiler outside
    of the jail should see.

    Raises:
        SandboxError: the interpreter does not compile it.
    """
    command = [runtime().python, "-I", "-S", "-c", COMPILE, path]
    try:
        done = subprocess.run(command, input=source, capture_output=True, timeout=ASK_S, check=True, env={})
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"{path} is not compiled by {runtime().python}: {error}") from error
    tag, _, code = done.stdout.partition(b"\n")
    return tag.decode(), code


def read_variables(environment: Mapping[str, str]) -> tuple[str, str | None]:
    """Return BOT_PYTHON and BOT_PACKAGES after a look at what they name.

    Raises:
        ValueError: one of them is no absolute path of an interpreter or of a folder.
    """
    python = environment.get("BOT_PYTHON") or DEFAULT_PYTHON
    packages = environment.get("BOT_PACKAGES") or None
    # The default is looked for when bots are started: a site without any need not have it.
    if python != DEFAULT_PYTHON and not (
        os.path.isabs(python) and os.path.isfile(python) and os.access(python, os.X_OK)
    ):
        raise ValueError(f"BOT_PYTHON: expected the whole path of an interpreter, such as {DEFAULT_PYTHON}: {python!r}")
    if packages and not (os.path.isabs(packages) and os.path.isdir(packages) and packages.strip("/")):
        raise ValueError(f"BOT_PACKAGES: expected the whole path of a folder: {packages!r}")
    return python, packages


def _ask(python: str) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [python, "-I", "-S", "-c", ASK], capture_output=True, text=True, timeout=ASK_S, check=True, env={}
        )
        return dict(json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise SandboxError(f"BOT_PYTHON: {python} does not run as an interpreter: {error}") from error


def _folders(prefixes: list[str]) -> tuple[str, ...]:
    """Return where an interpreter keeps its library, if that is not the system's, which every bot has."""
    folders = (Path(prefix) / name for prefix in dict.fromkeys(prefixes) for name in ("lib", "lib64"))
    return tuple(str(path) for path in folders if path.is_dir() and path.parent != Path("/usr"))
