import os

import kit

kit.ready()
os.abort()
kit.play()
