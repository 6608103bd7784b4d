import kit

kit.ready()
kit.reply("{'id':ID}")
kit.play()
