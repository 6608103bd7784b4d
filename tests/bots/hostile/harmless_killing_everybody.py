import os

import kit

kit.refused(os.kill, -1, 9)
kit.refused(os.kill, os.getppid(), 9)
kit.refused(os.kill, 1, 9)
kit.refused(os.killpg, 0, 9)
kit.ready()
kit.play()
