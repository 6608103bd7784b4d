hoard = bytearray(2 << 30)
