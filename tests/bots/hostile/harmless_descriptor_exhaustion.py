import os

import kit

fds = []
try:
    while len(fds) < 1000:
        fds.append(os.dup(0))
except OSError:
    pass
if len(fds) > 32:
    raise SystemExit(f"{len(fds)} descriptors")
for fd in fds:
    os.close(fd)
kit.ready()
kit.play()
