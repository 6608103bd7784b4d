import fcntl

import kit

with open("/usr/bin/python3") as file:
    kit.refused(fcntl.lockf, file, fcntl.LOCK_SH)
    kit.refused(fcntl.fcntl, file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    kit.refused(fcntl.fcntl, file, fcntl.F_NOTIFY, fcntl.DN_ACCESS)
kit.ready()
kit.play()
