import kit

kit.ready()
kit.reply('{"id":0,"move":"d"}')
kit.play()
