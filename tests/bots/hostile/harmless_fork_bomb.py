import os

import kit

for _ in range(100):
    kit.refused(os.fork)
kit.ready()
kit.play()
