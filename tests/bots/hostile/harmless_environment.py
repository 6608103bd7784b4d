import os

import kit

found = set(os.environ) - {"OPENBLAS_NUM_THREADS", "PWD", "LC_CTYPE"}
if found:
    raise SystemExit(f"environment: {found}")
kit.ready()
kit.play()
