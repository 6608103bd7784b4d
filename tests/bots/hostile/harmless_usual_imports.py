import importlib

import kit

for name in [
    "collections",
    "dataclasses",
    "decimal",
    "functools",
    "hashlib",
    "heapq",
    "itertools",
    "json",
    "math",
    "random",
    "re",
    "typing",
]:
    importlib.import_module(name)
kit.ready()
kit.play()
