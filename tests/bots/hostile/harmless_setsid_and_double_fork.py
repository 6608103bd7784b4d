import os

import kit

kit.refused(os.setsid)
kit.refused(os.setpgid, 0, 0)
kit.refused(os.fork)
kit.ready()
kit.play()
