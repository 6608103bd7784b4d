import kit

kit.ready()
kit.reply('{"id":ID.0,"move":"d"}')
kit.play()
