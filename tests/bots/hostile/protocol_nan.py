import kit

kit.ready()
kit.reply('{"id":ID,"x":NaN}')
kit.play()
