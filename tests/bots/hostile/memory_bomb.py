import kit

kit.ready()
hoard = []
while True:
    hoard.append(bytearray(1 << 20))
kit.play()
