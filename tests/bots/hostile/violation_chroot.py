import kit

kit.ready()
kit.libc.chroot(b"/bot")
kit.play()
