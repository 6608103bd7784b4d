import signal

import kit

kit.ready()
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        continue
kit.turn()
while True:
    pass
kit.play()
