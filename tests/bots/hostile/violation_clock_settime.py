import time

import kit

kit.ready()
time.clock_settime(time.CLOCK_REALTIME, 0)
kit.play()
