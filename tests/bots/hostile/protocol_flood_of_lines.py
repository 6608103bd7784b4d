import os

import kit

kit.ready()
kit.turn()
while True:
    os.write(1, b'{"id":1}\n' * 1000)
kit.play()
