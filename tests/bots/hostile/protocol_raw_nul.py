import kit

kit.ready()
kit.reply('{"id":ID,"move":"d\0"}')
kit.play()
