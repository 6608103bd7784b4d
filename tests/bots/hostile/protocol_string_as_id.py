import kit

kit.ready()
kit.reply('{"id":"ID","move":"d"}')
kit.play()
