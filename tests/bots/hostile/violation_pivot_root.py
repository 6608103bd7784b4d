import kit

kit.ready()
kit.libc.syscall(155, b"/bot", b"/bot")
kit.play()
