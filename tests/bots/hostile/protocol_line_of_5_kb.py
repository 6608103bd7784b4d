import kit

kit.ready()
kit.turn()
kit.say("x" * 5000)
kit.play()
