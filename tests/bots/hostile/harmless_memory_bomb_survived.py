import kit

hoard = []
try:
    while True:
        hoard.append(bytearray(10 << 20))
except MemoryError:
    hoard.clear()
kit.ready()
kit.play()
