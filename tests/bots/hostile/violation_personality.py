import kit

kit.ready()
ADDR_NO_RANDOMIZE = 0x0040000
kit.libc.personality(ADDR_NO_RANDOMIZE)
kit.play()
