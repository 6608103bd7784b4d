import mmap

import kit

kit.refused(mmap.mmap, -1, 600 << 20)
kit.ready()
kit.play()
