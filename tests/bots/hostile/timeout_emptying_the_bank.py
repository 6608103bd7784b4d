import kit

kit.ready()
while True:
    turn = kit.turn()
    kit.spin(0.2)
    kit.answer(turn)
kit.play()
