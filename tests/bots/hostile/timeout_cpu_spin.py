import kit

kit.ready()
kit.turn()
while True:
    pass
kit.play()
