"""Lock the door from the inside, then run the bot. Runs in the sandbox, before the bot's first line.

The order matters: limits -> no_new_privs -> uid (mode B) -> Landlock -> seccomp -> bot. Called by
the launcher as `boot.py ORDERS_FD MARK_FD MODULES [PATH...]`, with what of the standard library is to be
imported before the orders come, separated by commas, and what of the interpreter and the packages may be
read beside /usr and /bot. The orders are one line `uid memory cpu_s threads` (uid `-` in
mode A, memory in bytes), then the seccomp filter as raw BPF. On the mark it writes `.`
when it waits for its orders and `k` when every lock holds; without that, whatever happens is the
platform's failure and not the bot's.

It imports the standard library only and never writes anything but the mark and the bot's traceback.
"""

import ctypes
import errno
import io
import os
import resource
import sys

# As in `typing`, whose import would make every start slower.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType, TracebackType

PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 4, 22, 38
SECCOMP_MODE_FILTER = 2
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
LANDLOCK_CREATE_RULESET_VERSION, LANDLOCK_RULE_PATH_BENEATH = 1, 1
READ, WRITE, LIST = 1 << 2, 1 << 1, 1 << 3
PACKAGES = "/packages"
FOLDER = "/bot"

# Only harm to itself comes from a bot that fakes this status.
EXIT_MEMORY = 77

libc = ctypes.CDLL(None, use_errno=True)


class RulesetAttr(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class PathBeneathAttr(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("access", ctypes.c_uint64), ("fd", ctypes.c_int32)]


class FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def prctl(option: int, *args: int) -> int:
    values = [ctypes.c_ulong(value) for value in args + (0,) * (4 - len(args))]
    return checked(libc.prctl(option, *values))


def read_orders(orders_fd: int, mark_fd: int) -> tuple[bytes, list[int], bytes]:
    with open(orders_fd, "rb") as orders:
        uid, *numbers = orders.readline().split()
        instructions = orders.read()
    os.closerange(3, mark_fd)
    os.closerange(mark_fd + 1, 1 << 20)
    return uid, [int(number) for number in numbers], instructions


def set_limits(memory: int, cpu_s: int, threads: int) -> None:
    for name, value in (
        ("AS", memory),
        ("DATA", memory),
        ("CPU", cpu_s),
        ("NPROC", threads),
        ("FSIZE", 0),
        ("NOFILE", 32),
        ("CORE", 0),
        ("STACK", 8 << 20),
        ("MEMLOCK", 0),
        ("MSGQUEUE", 0),
        ("SIGPENDING", 64),
    ):
        resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))


def drop_uid(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def restrict_files(readable: list[str]) -> None:
    """Landlock, a second wall behind the mount namespace; skipped where the kernel has none."""
    version = libc.syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), LANDLOCK_CREATE_RULESET_VERSION)
    if version < 0 and ctypes.get_errno() in (errno.ENOSYS, errno.EOPNOTSUPP):
        return
    checked(version)
    rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    handled = RulesetAttr((1 << rights) - 1, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = checked(libc.syscall(LANDLOCK_CREATE_RULESET, ctypes.byref(handled), ctypes.c_size_t(size), 0))
    allowed = {"/usr": READ | LIST, FOLDER: READ | LIST, "/dev/null": READ | WRITE, "/dev/urandom": READ}
    allowed.update((path, READ | LIST if os.path.isdir(path) else READ) for path in readable)
    for path, access in allowed.items():
        fd = os.open(path, os.O_PATH)
        rule = PathBeneathAttr(access, fd)
        checked(libc.syscall(LANDLOCK_ADD_RULE, ruleset, LANDLOCK_RULE_PATH_BENEATH, ctypes.byref(rule), 0))
        os.close(fd)
    checked(libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def restrict_calls(instructions: bytes) -> None:
    code = ctypes.create_string_buffer(instructions, len(instructions))
    program = FilterProgram(len(instructions) // 8, ctypes.addressof(code))
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(program))


def lock(orders_fd: int, mark_fd: int, modules: str, readable: list[str]) -> None:
    for name in filter(None, modules.split(",")):
        __import__(name)
    os.write(mark_fd, b".")
    uid, (memory, cpu_s, threads), instructions = read_orders(orders_fd, mark_fd)
    set_limits(memory, cpu_s, threads)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if uid != b"-":
        drop_uid(int(uid))
    prctl(PR_SET_DUMPABLE, 0)
    restrict_files(readable)
    restrict_calls(instructions)
    os.write(mark_fd, b"k")
    os.close(mark_fd)


def bot_module() -> "ModuleType":
    """Return the module in which the bot runs: the real `__main__`, with nothing of this file in it."""
    module = type(sys)("__main__")
    module.__file__ = "bot.py"
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    sys.argv = ["bot.py"]
    sys.path.insert(0, FOLDER)
    if os.path.isdir(PACKAGES):
        sys.path.append(PACKAGES)
    # It has done its work, if the launcher set it.
    os.environ.pop("LD_LIBRARY_PATH", None)
    # A bot that forgets to flush would wait for an answer to a line that it still holds.
    assert isinstance(sys.stdout, io.TextIOWrapper)
    sys.stdout.reconfigure(line_buffering=True)
    return module


def show(kind: type[BaseException], error: BaseException, traceback: "TracebackType | None") -> None:
    """Print the traceback as the bot's author would see it at home: without this file's frames."""
    try:
        while traceback and traceback.tb_frame.f_code.co_filename == __file__:
            traceback = traceback.tb_next
        error.__traceback__ = traceback
        sys.__excepthook__(kind, error, traceback)
    finally:
        if issubclass(kind, MemoryError):
            os._exit(EXIT_MEMORY)


def run_bot() -> None:
    with open("bot.py", "rb") as file:
        source = file.read()
    module = bot_module()
    sys.excepthook = show
    try:
        exec(compile(source, "bot.py", "exec", dont_inherit=True), module.__dict__)
    except SystemExit as error:
        # The filter keeps 128 and above for signals.
        if isinstance(error.code, int) and error.code & 0x80:
            raise SystemExit(127) from None
        raise


if __name__ == "__main__":
    lock(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
    run_bot()
