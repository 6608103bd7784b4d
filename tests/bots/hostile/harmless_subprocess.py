import subprocess

import kit

kit.refused(subprocess.run, ["/usr/bin/python3", "-V"])
kit.ready()
kit.play()
