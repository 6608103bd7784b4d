import kit

kit.ready()
kit.reply('{"id":ID,"x":{"a":1,"a":2}}')
kit.play()
