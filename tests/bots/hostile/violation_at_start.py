import kit

kit.libc.ptrace(16, 1, 0, 0)
kit.ready()
kit.play()
