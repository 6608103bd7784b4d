import sys
import time

import kit

kit.ready()
kit.turn()
sys.stdout.write('{"id":')
sys.stdout.flush()
time.sleep(10**6)
kit.play()
