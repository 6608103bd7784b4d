import os

import kit

kit.refused(os.listdir, "/proc")
kit.refused(os.listdir, "/proc/1")
kit.ready()
kit.play()
