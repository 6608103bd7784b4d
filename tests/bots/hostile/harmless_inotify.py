import kit

kit.refused_call(253)
kit.refused_call(294, 0)
kit.ready()
kit.play()
