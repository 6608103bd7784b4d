"""The seccomp policy: which system calls a bot may make. An allow-list.

Whatever is not named gets ENOSYS, as from an older kernel, so that glibc falls back to what is
allowed. FORBIDDEN calls have no place in any bot and end the process with SIGSYS.
"""

import errno
import functools
import logging
import tempfile
from typing import Any

from .errors import SandboxError

logger = logging.getLogger(__name__)

ALLOWED = """
    read write readv writev pread64 preadv close lseek fstat stat lstat newfstatat statx access faccessat
    faccessat2 readlink readlinkat open openat getdents64 getcwd chdir dup dup2 dup3 pipe
    mprotect munmap mremap brk mincore set_robust_list get_robust_list rseq set_tid_address
    arch_prctl membarrier gettid getpid getppid getuid geteuid getgid getegid getresuid getresgid getgroups getpgrp
    getpgid getsid uname getrusage times getrlimit clock_gettime clock_getres clock_nanosleep nanosleep
    gettimeofday time getcpu poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait
    epoll_pwait2 eventfd2 timerfd_create timerfd_settime timerfd_gettime alarm setitimer getitimer rt_sigaction
    rt_sigprocmask rt_sigreturn rt_sigtimedwait rt_sigpending rt_sigsuspend sigaltstack restart_syscall sched_yield
    sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min getrandom
    wait4 waitid
"""

# timer_create is here because its timer can deliver any signal, SIGKILL too, and an unrequested
# SIGKILL is taken for the host's doing. fadvise64 drops what others read from the page cache. What
# sysinfo and statfs tell, memory, load and room on the disk, is the host's, and moves as other bots do.
REFUSED = """
    socket fork vfork execve execveat flock kill tkill setrlimit setpriority sched_setaffinity sched_setscheduler setsid
    setpgid memfd_create mlock mlockall mlock2 vmsplice splice tee mkdir unlink rename inotify_init inotify_init1 prctl
    timer_create rt_sigqueueinfo rt_tgsigqueueinfo pidfd_open pidfd_send_signal fadvise64
    sysinfo statfs fstatfs
"""

FORBIDDEN = """
    ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp bpf perf_event_open userfaultfd
    io_uring_setup io_uring_enter io_uring_register keyctl add_key request_key mount umount2 pivot_root chroot
    move_mount open_tree fsopen fspick fsconfig fsmount mount_setattr unshare setns init_module finit_module
    delete_module kexec_load kexec_file_load reboot swapon swapoff acct settimeofday clock_settime clock_adjtime
    adjtimex sethostname setdomainname ioperm iopl modify_ldt open_by_handle_at name_to_handle_at fanotify_init
    quotactl syslog vhangup setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capset
    personality shmget shmat semget msgget mq_open memfd_secret
"""

CLONE_FILES, CLONE_THREAD = 0x00000400, 0x00010000
# NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
CLONE_NAMESPACES = 0x7E020080
# DUPFD GETFD SETFD GETFL SETFL DUPFD_CLOEXEC: no locks, leases or signals
FCNTL_COMMANDS = (0, 1, 2, 3, 4, 1030)
# TCGETS TIOCGWINSZ FIONREAD FIOCLEX FIONBIO
IOCTL_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5451, 0x5421)
MAP_HUGETLB = 0x40000
CLOSE_RANGE_UNSHARE = 2
NOTIFICATION_PIPE = 0x80
# NORMAL RANDOM SEQUENTIAL WILLNEED DONTNEED FREE HUGEPAGE NOHUGEPAGE DONTDUMP DODUMP
MADVICE = (0, 1, 2, 3, 4, 8, 14, 15, 16, 17)
FUTEX_PRIVATE, FUTEX_CLOCK_REALTIME = 0x80, 0x100
# WAIT, WAIT_BITSET
FUTEX_WAITS = (0, 9)
# DONTWAIT NOSIGNAL, and PEEK DONTWAIT WAITALL
SEND_FLAGS, RECEIVE_FLAGS = 0x4040, 0x142
ALL_BITS = (1 << 64) - 1
# SIGINT SIGABRT SIGUSR1: what raise() and abort() need; SIGKILL and SIGSTOP are not for a bot to send
SIGNALS_TO_ITSELF = (2, 6, 10)


@functools.cache
def filter_program() -> bytes:
    """Return the compiled filter as raw BPF, 8 bytes an instruction. Made once a process.

    Raises:
        SandboxError: libseccomp is missing or refused the policy.
    """
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError) as error:
        raise SandboxError(f"libseccomp is missing (apt install libseccomp2): {error}") from error

    rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.ENOSYS))
    rules.set_attr(pyseccomp.Attr.ACT_BADARCH, pyseccomp.KILL_PROCESS)
    rules.set_attr(pyseccomp.Attr.CTL_OPTIMIZE, 2)
    for action, names in (
        (pyseccomp.ALLOW, ALLOWED),
        (pyseccomp.ERRNO(errno.EPERM), REFUSED),
        (pyseccomp.KILL_PROCESS, FORBIDDEN),
    ):
        for name in names.split():
            _add(pyseccomp, rules, action, name)
    _add_conditional(pyseccomp, rules)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add_conditional(seccomp: Any, rules: Any) -> None:
    """Allow the calls that are harmless with certain arguments only."""
    allow, arg, equal, masked = seccomp.ALLOW, seccomp.Arg, seccomp.EQ, seccomp.MASKED_EQ
    # clone3 takes its flags in memory, out of a filter's sight: ENOSYS, and glibc uses clone. A thread with a table of
    # descriptors of its own would have as many once more as a bot may, and hold what is in their pipes.
    thread = CLONE_THREAD | CLONE_FILES
    _add(seccomp, rules, allow, "clone", arg(0, masked, thread | CLONE_NAMESPACES, thread))
    _add(seccomp, rules, allow, "close_range", arg(2, masked, CLOSE_RANGE_UNSHARE, 0))
    # The pool of huge pages is the host's, set aside for a database perhaps.
    _add(seccomp, rules, allow, "mmap", arg(3, masked, MAP_HUGETLB, 0))
    # MERGEABLE pages are shared with other processes, and writing to one tells whether another has the like.
    for advice in MADVICE:
        _add(seccomp, rules, allow, "madvise", arg(2, equal, advice))
    # Files of /usr are the same in every jail, and a futex at a page of theirs too: whoever woke a
    # waiter there could tell another bot something. pthread_join waits at what only the kernel wakes.
    _add(seccomp, rules, allow, "futex", arg(1, masked, FUTEX_PRIVATE, FUTEX_PRIVATE))
    for operation in FUTEX_WAITS:
        _add(seccomp, rules, allow, "futex", arg(1, masked, ALL_BITS & ~FUTEX_CLOCK_REALTIME, operation))
    # What watches keys and mounts has been a way out of sandboxes too, and no bot needs it.
    _add(seccomp, rules, allow, "pipe2", arg(1, masked, NOTIFICATION_PIPE, 0))
    # asyncio wakes itself through a pair of sockets; a message with an address could leave the pair,
    # and out-of-band data is rare code that has been a way out of sandboxes.
    _add(seccomp, rules, allow, "socketpair", arg(0, equal, 1))
    _add(seccomp, rules, allow, "sendto", arg(3, masked, ALL_BITS & ~SEND_FLAGS, 0), arg(4, equal, 0))
    _add(seccomp, rules, allow, "recvfrom", arg(3, masked, ALL_BITS & ~RECEIVE_FLAGS, 0))
    _add(seccomp, rules, allow, "prlimit64", arg(0, equal, 0), arg(2, equal, 0))
    # bwrap reports the end by signal n as status 128 + n: so that no bot can fake one, and with
    # it a failure of the platform, statuses from 128 up are refused.
    for name in ("exit", "exit_group"):
        _add(seccomp, rules, allow, name, arg(0, masked, 0x80, 0))
    for command in FCNTL_COMMANDS:
        _add(seccomp, rules, allow, "fcntl", arg(1, equal, command))
    for request in IOCTL_REQUESTS:
        _add(seccomp, rules, allow, "ioctl", arg(1, equal, request))
    for signal in SIGNALS_TO_ITSELF:
        _add(seccomp, rules, allow, "tgkill", arg(2, equal, signal))


def _add(seccomp: Any, rules: Any, action: int, name: str, *args: Any) -> None:
    number = seccomp.resolve_syscall(seccomp.Arch.NATIVE, name)
    if number == -1:
        # Unknown to this libseccomp, so it falls to the default, ENOSYS: denied all the same.
        logger.debug("unknown call=%s", name)
        return
    rules.add_rule(action, number, *args)
