import os

import kit

kit.refused(os.nice, -5)
kit.refused(os.setpriority, os.PRIO_PROCESS, 0, -5)
kit.refused(os.sched_setaffinity, 0, {0})
kit.refused(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(1))
kit.refused_call(251, 1, 0, 0)
kit.ready()
kit.play()
