import kit

kit.ready()
kit.reply('{"id":ID,"move":"\\ud800"}')
kit.play()
