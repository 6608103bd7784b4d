import kit

kit.ready()
kit.reply('{"id":ID,"x":1,"\\u0078":2}')
kit.play()
