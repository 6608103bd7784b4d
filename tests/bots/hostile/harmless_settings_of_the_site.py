import os

import kit

# Where the site lies on this host; no bot could know.
with open("/bot/project.txt") as file:
    project = file.read()
for name in ("", "/soureh_site", "/.git", "/var"):
    kit.refused(os.listdir, project + name)
for name in ("/soureh_site/settings.py", "/manage.py", "/.git/config"):
    kit.refused(open, project + name)
kit.ready()
kit.play()
