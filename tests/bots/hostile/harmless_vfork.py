import kit

kit.refused_call(58)
kit.refused_call(57)
kit.ready()
kit.play()
