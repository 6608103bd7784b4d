import os

import kit

kit.refused(os.execv, "/usr/bin/python3", ["python3", "-V"])
kit.refused_call(322, 0, b"/usr/bin/python3", 0, 0, 0)
kit.ready()
kit.play()
