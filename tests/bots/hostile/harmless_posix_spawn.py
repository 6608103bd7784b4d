import os

import kit

kit.refused(os.posix_spawn, "/usr/bin/python3", ["python3", "-V"], {})
kit.ready()
kit.play()
