import kit

kit.hear()
kit.say('{"type":"ready"}\n{"id":1,"move":"d"}')
kit.play()
