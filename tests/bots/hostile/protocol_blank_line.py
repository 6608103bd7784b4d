import kit

kit.ready()
kit.reply("")
kit.play()
