import time

import kit

kit.ready()
kit.turn()
time.sleep(10**6)
kit.play()
