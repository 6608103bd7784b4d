import socket

import kit

NETLINK, PACKET, ALG, VSOCK, BLUETOOTH = 16, 17, 38, 40, 31
for family in (NETLINK, PACKET, ALG, VSOCK, BLUETOOTH):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        kit.refused(socket.socket, family, kind)
kit.ready()
kit.play()
