import kit

kit.ready()
kit.libc.semget(1234, 1, 0o1666)
kit.play()
