import kit

kit.ready()
kit.reply("[ID]")
kit.play()
