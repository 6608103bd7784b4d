import kit

kit.ready()
kit.reply('{"id":ID,"x":' + "9" * 20 + "}")
kit.play()
