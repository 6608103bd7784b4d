"""Run a bot as the site does, but for the jail: `run.py BOOT MEMORY`, in the folder of the bot.

Everything is as in the boot script `BOOT`, which is read and not changed: how the bot is run, what a traceback shows,
the status after a lack of memory. Of its locks there is one, on memory (bytes).
"""

from __future__ import annotations

import os
import resource
import sys

TYPE_CHECKING = False  # a bot's start is timed
if TYPE_CHECKING:
    from typing import Any

boot, memory = sys.argv[1], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
# Under this file's name, so that its frames, too, are left out of tracebacks; not as __main__, or it would lock.
names: dict[str, Any] = {"__name__": "boot", "__file__": __file__}
with open(boot, "rb") as file:
    exec(compile(file.read(), __file__, "exec"), names)
names["FOLDER"] = os.getcwd()
names["run_bot"]()
