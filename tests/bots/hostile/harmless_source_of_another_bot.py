import os

import kit

found = set(os.listdir("/bot"))
if found != {"bot.py", "kit.py", "project.txt"}:
    raise SystemExit(f"/bot holds {found}")
kit.refused(open, "/bot/../bot/control.py")
kit.ready()
kit.play()
