import os

import kit

kit.ready()
for call in (60, 231):
    kit.libc.syscall(call, 137)
os._exit(159)
kit.play()
