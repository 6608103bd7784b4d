import os

import kit

for _ in range(100):
    kit.refused(os.memfd_create, "hoard")
kit.ready()
kit.play()
