import fcntl
import termios

import kit

kit.refused(fcntl.ioctl, 0, termios.TIOCSTI, b"x")
kit.refused(fcntl.ioctl, 0, termios.TIOCLINUX, b"\x03")
kit.ready()
kit.play()
