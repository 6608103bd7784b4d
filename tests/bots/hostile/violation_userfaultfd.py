import kit

kit.ready()
kit.libc.syscall(323, 0)
kit.play()
