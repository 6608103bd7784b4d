import kit

kit.ready()
kit.turn()
kit.say("x" * (1 << 20))
kit.play()
