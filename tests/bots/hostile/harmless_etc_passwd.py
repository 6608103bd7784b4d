import kit

for name in ("passwd", "shadow", "hostname", "resolv.conf", "machine-id"):
    kit.refused(open, "/etc/" + name)
kit.ready()
kit.play()
