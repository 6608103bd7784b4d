import kit

kit.hear()
kit.say('{"type":"hello"}')
kit.play()
