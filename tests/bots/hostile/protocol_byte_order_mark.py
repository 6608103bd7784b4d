import kit

kit.ready()
kit.reply('\ufeff{"id":ID,"move":"d"}')
kit.play()
