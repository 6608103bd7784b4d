import kit

# NEWUSER, NEWPID, NEWNET with SIGCHLD, and NEWUSER beside CLONE_THREAD and what it needs
for flags in (0x10000011, 0x20000011, 0x40000011, 0x10010F00):
    kit.refused_call(56, flags, 0, 0, 0, 0)
kit.ready()
kit.play()
