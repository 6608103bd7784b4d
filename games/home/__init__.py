"""The kit at home: `python -m soureh` of the download. In it this package is `soureh`, and `lib` holds what it uses."""

import os
import sys

# Before anything is imported that an older Python cannot read.
if sys.version_info < (3, 10) or not sys.platform.startswith("linux"):
    sys.exit(f"expected Python 3.10 or newer on Linux (on Windows: in WSL): {sys.version.split()[0]} on {sys.platform}")

_LIB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib")
if os.path.isdir(_LIB):
    sys.path.insert(0, _LIB)
