"""The probe: a bot that tries what no bot may do, and prints what each attempt led to, as JSON.

Runs in the sandbox only. An attempt that fails as it must is "denied".
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import socket
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

libc = ctypes.CDLL(None, use_errno=True)


def calling(function: "Callable[..., object]", *args: object) -> "Callable[[], str]":
    """Return an attempt that counts as denied if the call raises."""

    def attempt() -> str:
        result = function(*args)
        if isinstance(result, int) and result == -1 and ctypes.get_errno():
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return f"done: {result!r:.60}"

    return attempt


def fork() -> str:
    child = os.fork()
    if child == 0:
        os._exit(0)
    return f"forked {child}"


def write_anywhere() -> str:
    for folder in ("/", "/bot", "/dev", "/dev/shm", "/tmp", "/usr/lib", "/var/tmp", "/run"):
        try:
            os.close(os.open(folder + "/mark", os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError:
            continue
        return f"wrote to {folder}"
    raise PermissionError


def see_environment() -> str:
    if set(os.environ) - {"OPENBLAS_NUM_THREADS", "PWD", "LC_CTYPE"}:
        return "names: " + " ".join(sorted(os.environ))
    raise PermissionError


def see_host_name() -> str:
    if os.uname().nodename != "bot":
        return f"name: {os.uname().nodename}"
    raise PermissionError


def hold_descriptors() -> str:
    extra = [fd for fd in range(3, 4096) if is_open(fd)]
    if extra:
        return f"open: {extra}"
    raise PermissionError


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def have_privileges() -> str:
    if 0 in (*os.getresuid(), *os.getresgid()) or 0 in os.getgroups():
        return f"uids {os.getresuid()} gids {os.getresgid()} groups {os.getgroups()}"
    raise PermissionError


def take_memory() -> str:
    # The probe runs with memory_mb 64.
    return f"got {len(bytearray(96 << 20))} bytes"


def start_threads() -> str:
    done = threading.Event()
    started = []
    # Were it the memory that ran out first, a thread that died of it would be waited for for ever.
    threading.stack_size(256 << 10)
    try:
        for _ in range(40):
            thread = threading.Thread(target=done.wait, daemon=True)
            thread.start()
            started.append(thread)
    finally:
        done.set()
        for thread in started:
            thread.join()
    return f"started {len(started)}"


def open_descriptors() -> str:
    fds = []
    try:
        for _ in range(64):
            fds.append(os.dup(0))
    finally:
        for fd in fds:
            os.close(fd)
    return f"opened {len(fds)}"


def raise_limit() -> str:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return "raised"


def see_other_processes() -> str:
    if os.getpid() > 2 or os.path.exists("/proc/self"):
        return f"pid {os.getpid()}"
    raise PermissionError


def read_first_of(*paths: str) -> str:
    for path in paths:
        try:
            with open(path, "rb") as file:
                file.read(1)
        except OSError:
            continue
        return f"read {path}"
    raise PermissionError


def lock_file() -> str:
    with open("/bot/bot.py", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    return "locked"


def drop_page_cache() -> str:
    with open("/bot/bot.py", "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return "dropped"


def send_out_of_band() -> str:
    one, other = socket.socketpair()
    with one, other:
        return f"sent {one.send(b'x', socket.MSG_OOB)}"


def clone3() -> str:
    if libc.syscall(435, None, 0) == -1 and ctypes.get_errno() == errno.ENOSYS:
        raise PermissionError
    return f"errno {ctypes.get_errno()}"


ATTEMPTS = {
    "fork": fork,
    "exec": calling(os.execv, "/usr/bin/python3", ["python3", "-V"]),
    "kill": calling(os.kill, -1, 0),
    "internet socket": calling(socket.socket, socket.AF_INET),
    "unix socket": calling(socket.socket, socket.AF_UNIX),
    "netlink socket": calling(socket.socket, 16, socket.SOCK_RAW),
    "vsock": calling(socket.socket, 40),
    "read files of the host": lambda: read_first_of("/etc/passwd", "/etc/hostname", "/root/.profile", "/sys/kernel/mm"),
    "list /proc": calling(os.listdir, "/proc"),
    "list /sys": calling(os.listdir, "/sys"),
    "list /home": calling(os.listdir, "/home"),
    "write a file": write_anywhere,
    "memfd": calling(os.memfd_create, "x"),
    "flock": lock_file,
    "inotify": calling(libc.inotify_init),
    "clone3": clone3,
    "drop page cache": drop_page_cache,
    "out-of-band data": send_out_of_band,
    "name of the host": see_host_name,
    "memory of the host": calling(libc.sysinfo, ctypes.create_string_buffer(128)),
    "disk of the host": calling(os.statvfs, "/usr/lib"),
    "environment": see_environment,
    "descriptors": hold_descriptors,
    "privileges": have_privileges,
    "other processes": see_other_processes,
    "memory": take_memory,
    "threads": start_threads,
    "many descriptors": open_descriptors,
    "raise a limit": raise_limit,
    "nice": calling(os.nice, -5),
}


def outcome(attempt: "Callable[[], str]") -> str:
    ctypes.set_errno(0)
    try:
        return attempt()
    except (OSError, MemoryError, RuntimeError, ValueError):
        return "denied"


print(json.dumps({name: outcome(attempt) for name, attempt in ATTEMPTS.items()}), flush=True)
