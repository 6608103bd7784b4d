import kit

kit.ready()
kit.answer(kit.turn())
kit.say('{"id":2,"move":"d"}')
kit.play()
