import os
import time

import kit

kit.ready()
os.close(0)
time.sleep(10**6)
kit.play()
