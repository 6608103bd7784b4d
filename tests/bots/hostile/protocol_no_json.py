import kit

kit.ready()
kit.reply("k2")
kit.play()
