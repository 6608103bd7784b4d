import os

import kit

for folder, most in (("/", {"usr", "lib", "lib64", "dev", "bot", "boot.py"}), ("/dev", {"null", "urandom"})):
    try:
        found = set(os.listdir(folder))
    except PermissionError:
        continue
    if found - most:
        raise SystemExit(f"{folder} holds {found - most}")
for folder in ("/usr/local", "/usr/src", "/usr/sbin", "/home", "/root", "/opt", "/srv", "/var", "/work", "/tmp"):
    kit.refused(os.listdir, folder)
kit.ready()
kit.play()
