import os

import kit

kit.ready()
kit.turn()
while True:
    os.write(2, b"x" * 65536)
kit.play()
