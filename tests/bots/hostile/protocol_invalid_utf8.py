import os

import kit

kit.ready()
kit.turn()
os.write(1, b'{"id":1,"move":"\xff"}\n')
kit.play()
