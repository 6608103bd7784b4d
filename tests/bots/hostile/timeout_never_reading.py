import time

import kit

kit.ready()
time.sleep(10**6)
kit.play()
