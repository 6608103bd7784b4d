import socket

import kit

kit.refused(socket.socket, socket.AF_UNIX, socket.SOCK_STREAM)
kit.refused(socket.socket, socket.AF_UNIX, socket.SOCK_DGRAM)
kit.refused(socket.socketpair, socket.AF_INET)
kit.ready()
kit.play()
