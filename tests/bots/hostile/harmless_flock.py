import fcntl

import kit

with open("/bot/bot.py") as file:
    kit.refused(fcntl.flock, file, fcntl.LOCK_SH)
with open("/usr/bin/python3") as file:
    kit.refused(fcntl.flock, file, fcntl.LOCK_EX)
kit.ready()
kit.play()
