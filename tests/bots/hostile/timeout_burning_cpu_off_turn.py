import kit

kit.ready()
kit.answer(kit.turn())
kit.spin(0.4)
kit.play()
