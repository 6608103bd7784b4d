import os

import kit

kit.refused(os.listdir, "/sys")
kit.refused(open, "/sys/kernel/mm/transparent_hugepage/enabled")
kit.ready()
kit.play()
