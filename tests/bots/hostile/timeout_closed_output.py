import os
import time

import kit

kit.ready()
kit.turn()
os.close(1)
time.sleep(10**6)
kit.play()
