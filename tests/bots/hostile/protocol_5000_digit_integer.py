import kit

kit.ready()
kit.reply('{"id":ID,"x":' + "9" * 5000 + "}")
kit.play()
