import time

import kit

kit.ready()
kit.turn()
while True:
    time.sleep(0.001)
kit.play()
