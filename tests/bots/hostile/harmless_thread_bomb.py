import threading

import kit

done = threading.Event()
threads = []
try:
    while len(threads) < 100:
        thread = threading.Thread(target=done.wait, daemon=True)
        thread.start()
        threads.append(thread)
except RuntimeError:
    done.set()
if len(threads) > 16:
    raise SystemExit(f"{len(threads)} threads")
for thread in threads:
    thread.join()
kit.ready()
kit.play()
