import kit

kit.ready()
kit.reply('{"id":ID,"move":"d\\u0000"}')
kit.play()
