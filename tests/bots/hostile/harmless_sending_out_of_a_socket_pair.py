import socket

import kit

one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one.send(b"x")
if other.recv(1) != b"x":
    raise SystemExit("a pair does not work")
for address in ("\0abstract", "/bot/socket"):
    kit.refused(one.sendto, b"x", address)
    kit.refused(one.connect, address)
    kit.refused(one.bind, address)
kit.refused(one.sendmsg, [b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b"\0\0\0\0")])
kit.ready()
kit.play()
