import os

import kit

kit.ready()
kit.turn()
while True:
    os.write(1, b"x" * 65536)
kit.play()
