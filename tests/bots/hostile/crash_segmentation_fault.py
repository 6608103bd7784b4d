import ctypes

import kit

kit.ready()
ctypes.string_at(0)
kit.play()
