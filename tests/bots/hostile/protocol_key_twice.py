import kit

kit.ready()
kit.reply('{"id":0,"id":ID,"move":"d"}')
kit.play()
