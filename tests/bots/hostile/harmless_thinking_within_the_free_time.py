import kit

kit.ready()
while True:
    turn = kit.turn()
    kit.spin(0.02)
    kit.answer(turn)
kit.ready()
kit.play()
