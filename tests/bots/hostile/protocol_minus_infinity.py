import kit

kit.ready()
kit.reply('{"id":ID,"x":-Infinity}')
kit.play()
