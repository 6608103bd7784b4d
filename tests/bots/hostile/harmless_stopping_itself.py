import os
import signal
import threading

import kit

for number in (signal.SIGSTOP, signal.SIGTSTP):
    kit.refused(os.kill, os.getpid(), number)
    kit.refused(signal.pthread_kill, threading.get_ident(), number)
kit.ready()
kit.play()
