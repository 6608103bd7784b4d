import kit

kit.ready()
kit.reply('{"move":"d"}')
kit.play()
