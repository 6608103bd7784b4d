import kit

for folder in ("/", "/bot", "/dev", "/dev/shm", "/tmp", "/var/tmp", "/run", "/usr", "/usr/lib", "/proc", "/home"):
    kit.refused(open, folder + "/big", "wb")
kit.refused(open, "/bot/bot.py", "r+b")
kit.refused(open, "/boot.py", "r+b")
kit.ready()
kit.play()
