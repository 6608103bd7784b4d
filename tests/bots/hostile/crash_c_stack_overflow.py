import sys

import kit

kit.ready()


class Abyss:
    def __getattr__(self, name):
        return getattr(self, name + "x")


sys.setrecursionlimit(10**9)
Abyss().a  # noqa: B018
kit.play()
