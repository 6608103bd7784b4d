import kit

kit.ready()
hoard = []
while True:
    hoard.append([0] * 1000)
kit.play()
