import socket

import kit

for family in (socket.AF_INET, socket.AF_INET6):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        kit.refused(socket.socket, family, kind)
kit.ready()
kit.play()
