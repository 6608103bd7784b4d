import kit

kit.ready()
kit.reply('{"id":ID,"x":1e999}')
kit.play()
