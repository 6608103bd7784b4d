import threading

import kit

kit.ready()
kit.turn()
for _ in range(8):
    threading.Thread(target=kit.spin, args=(60,)).start()
threading.Event().wait()
kit.play()
