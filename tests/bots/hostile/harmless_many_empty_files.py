import os

import kit

for number in range(100):
    kit.refused(os.mkdir, f"/bot/{number}")
    kit.refused(os.mknod, f"/bot/{number}")
    kit.refused(os.symlink, "/bot/bot.py", f"/bot/{number}")
    kit.refused(os.link, "/bot/bot.py", f"/bot/{number}")
kit.refused(os.rename, "/bot/bot.py", "/bot/x.py")
kit.refused(os.unlink, "/bot/bot.py")
kit.refused(os.chmod, "/bot/bot.py", 0o777)
kit.ready()
kit.play()
