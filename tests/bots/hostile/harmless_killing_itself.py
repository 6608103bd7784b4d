import fcntl
import os
import signal
import threading

import kit

# An unrequested SIGKILL counts as the host's doing: no bot may bring one about.
SIGKILL, TIMER = 9, 222
kit.refused(os.kill, os.getpid(), SIGKILL)
kit.refused(signal.pthread_kill, threading.get_ident(), SIGKILL)
kit.refused_call(200, os.getpid(), SIGKILL)
kit.refused_call(129, os.getpid(), SIGKILL, 0)
kit.refused_call(297, os.getpid(), os.getpid(), SIGKILL, 0)
kit.refused_call(424, 0, SIGKILL, 0, 0)
kit.refused_call(TIMER, 0, 0, 0)
kit.refused_call(157, 1, SIGKILL, 0, 0, 0)
with open("/dev/null") as file:
    kit.refused(fcntl.fcntl, file, fcntl.F_SETSIG, SIGKILL)
    kit.refused(fcntl.fcntl, file, fcntl.F_SETOWN, os.getpid())
kit.ready()
kit.play()
