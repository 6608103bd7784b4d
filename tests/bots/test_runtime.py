"""What bots run on: another interpreter, packages beside the standard library, and what is refused."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bots.process import BotProcess, Limits
from bots.sandbox import probe
from bots.sandbox.runtime import DEFAULT_PYTHON, Runtime, bytecode, read_variables, runtime
from games import referee

HELLO = {"type": "hello"}
TELL = b'\nprint(\'{"type":"ready"}\', flush=True)\ninput()\n'
LEFT_OUT = shutil.ignore_patterns("test", "tests", "site-packages", "dist-packages", "__pycache__", "config-*", "*.a")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    runtime.cache_clear()
    probe.cache_clear()
    yield
    runtime.cache_clear()
    probe.cache_clear()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may read, as the jail's does: pytest's own are for one alone."""
    with tempfile.TemporaryDirectory(prefix="soureh-runtime-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


def said(source: bytes, limits: Limits | None = None) -> str:
    """Return what a bot logs until it is ready, which it must be."""
    with BotProcess({"bot.py": source + TELL}, limits=limits or Limits()) as bot:
        bot.start(HELLO)
        bot.close()
        return bot.stderr.strip()


PACKAGE = b"""
import sys, json, tiny
assert tiny.WORD == "found" and json.loads("1") == 1
try:
    open("/packages/mark", "w")
except OSError as error:
    print(error.errno, sys.path.index("/packages") == len(sys.path) - 1, sys.path[0], file=sys.stderr)
"""


def test_packages_come_after_the_standard_library_and_are_read_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    (folder / "tiny").mkdir()
    (folder / "tiny" / "__init__.py").write_text("WORD = 'found'")
    (folder / "json.py").write_text("raise ImportError")
    monkeypatch.setenv("BOT_PACKAGES", str(folder))
    assert probe().ok, probe().reason
    assert said(PACKAGE) in ("13 True /bot", "30 True /bot")


NUMPY = b"""
import sys, numpy
numbers = numpy.random.default_rng(1).standard_normal((200, 200))
print(numpy.__file__.startswith("/packages/"), abs(numpy.linalg.det(numbers @ numpy.linalg.inv(numbers)) - 1) < 1e-6,
      file=sys.stderr)
"""


def test_numpy_works_within_the_default_limits(folder: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str) -> None:
    version = subprocess.run([DEFAULT_PYTHON, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    pip += ["--python-version", version.rpartition(".")[0], "--only-binary=:all:", "--target", str(folder), "numpy"]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode and not os.environ.get("CI"):
        pytest.skip(f"numpy cannot be installed here: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("BOT_PACKAGES", str(folder))
    assert probe().ok, probe().reason
    assert said(NUMPY) == "True True"


OTHER = b"""
import sys, os, ssl, ctypes, asyncio, random, decimal
print(sys.prefix, sys.executable, "LD_LIBRARY_PATH" in os.environ, *sys.version_info[:2], file=sys.stderr)
hoard = bytearray(%d << 20)
"""


def test_other_interpreter_runs_bots_with_every_lock(
    folder: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str, limits: Limits
) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    shutil.copytree(library, folder / "lib" / library.name, ignore=LEFT_OUT, symlinks=True)
    for shared in Path(sys.base_prefix, "lib").glob("libpython*.so*"):
        shutil.copy(shared, folder / "lib")
    (folder / "bin").mkdir()
    python = shutil.copy(os.path.realpath(sys.executable), folder / "bin")
    (folder / "python").symlink_to(python)
    monkeypatch.setenv("BOT_PYTHON", str(folder / "python"))
    assert runtime() == Runtime(python, (str(folder / "lib"),), None)
    assert probe().ok, probe().reason
    assert probe().mode == sandbox
    major, minor = sys.version_info[:2]
    # No less memory is left to a bot than on the default interpreter.
    assert said(OTHER % limits.memory_mb, limits) == f"{folder} {python} False {major} {minor}"


def test_venv_stands_for_the_interpreter_that_it_was_made_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    subprocess.run([DEFAULT_PYTHON, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    monkeypatch.setenv("BOT_PYTHON", str(folder / "venv" / "bin" / "python"))
    assert runtime() == Runtime(os.path.realpath(DEFAULT_PYTHON), (), None)
    assert said(b"import sys; print(sys.prefix, file=sys.stderr)") == "/usr"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("BOT_PYTHON", "python3", "BOT_PYTHON: expected the whole path of an interpreter"),
        ("BOT_PYTHON", "/no/such/python", "BOT_PYTHON: expected the whole path of an interpreter"),
        ("BOT_PYTHON", "/bin/false", "BOT_PYTHON: /bin/false does not run as an interpreter"),
        ("BOT_PACKAGES", "/no/such/folder", "BOT_PACKAGES: expected the whole path of a folder"),
    ],
)
def test_worker_refuses_a_bad_runtime_by_its_name(
    name: str, value: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert not probe().ok
    assert probe().reason.startswith(f"bots cannot run safely here: {reason}")


@pytest.mark.parametrize("broken", ["closed", "of another Python"])
def test_packages_that_no_bot_could_use_are_refused(
    broken: str, folder: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str
) -> None:
    (folder / "tiny").mkdir()
    (folder / "tiny" / "__init__.py").write_text("from tiny import _core")
    if broken == "closed":
        os.chmod(folder / "tiny", 0o000)
        os.chmod(folder, 0o000)
    else:
        (folder / "tiny" / "_core.cpython-36m-x86_64-linux-gnu.so").touch()
    monkeypatch.setenv("BOT_PACKAGES", str(folder))
    assert not probe().ok
    assert "BOT_PACKAGES: a bot cannot use them: " in probe().reason
    os.chmod(folder, 0o755)
    os.chmod(folder / "tiny", 0o755)


def test_module_of_ours_need_not_be_compiled_by_the_bot(sandbox: str) -> None:
    source = b"import sys, ours; print(ours.WORD, ours.__file__, file=sys.stderr)" + TELL
    # From two sources, so that it shows which of them was taken.
    files = {"bot.py": source, "ours.py": b"WORD = 'source'", **bytecode("ours.py", b"WORD = 'compiled'")}
    with BotProcess(files, limits=Limits()) as bot:
        bot.start(HELLO)
        bot.close()
        assert bot.stderr == "compiled /bot/ours.py\n"


def test_kit_of_the_bots_own_is_compiled_by_itself() -> None:
    kit = referee._kit()
    assert len(referee._with_bytecode({"bot.py": b"", "soureh_bot.py": kit})) == 3
    for files in ({"bot.py": b"", "soureh_bot.py": kit + b"#"}, {"bot.py": b""}):
        assert referee._with_bytecode(files) == files


def test_empty_variables_are_the_default() -> None:
    assert read_variables({"BOT_PYTHON": "", "BOT_PACKAGES": ""}) == (DEFAULT_PYTHON, None)
