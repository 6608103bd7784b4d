import kit

for name in ("mem", "maps", "environ", "status"):
    kit.refused(open, "/proc/self/" + name, "rb")
kit.ready()
kit.play()
