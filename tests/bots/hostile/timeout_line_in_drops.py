import os
import time

import kit

kit.ready()
kit.turn()
while True:
    os.write(1, b" ")
    time.sleep(0.01)
kit.play()
