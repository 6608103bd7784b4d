import kit

kit.ready()
kit.libc.msgget(1234, 0o1666)
kit.play()
