import os

import kit

identities = {*os.getresuid(), *os.getresgid(), *os.getgroups()}
if 0 in identities:
    raise SystemExit(f"runs as {identities}")
if os.getpid() > 2:
    raise SystemExit(f"sees process ids of the host: {os.getpid()}")
kit.ready()
kit.play()
