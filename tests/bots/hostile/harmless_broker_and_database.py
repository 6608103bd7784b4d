import socket

import kit

for port in (6379, 5432, 8000):
    kit.refused(socket.create_connection, ("127.0.0.1", port), timeout=0.1)
kit.ready()
kit.play()
