import kit

kit.ready()
kit.reply('{"id":ID} // d')
kit.play()
