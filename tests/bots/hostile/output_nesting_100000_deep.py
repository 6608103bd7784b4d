import kit

kit.ready()
kit.reply('{"id":ID,"x":' + "[" * 100000)
kit.play()
