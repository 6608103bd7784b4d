import kit

kit.ready()
kit.reply('{"id":ID,"x":' + "[" * 2000 + "]" * 2000 + "}")
kit.play()
