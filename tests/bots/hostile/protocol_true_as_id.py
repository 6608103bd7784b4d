import kit

kit.ready()
kit.reply('{"id":true,"move":"d"}')
kit.play()
