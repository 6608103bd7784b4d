"""The jail in which bots run. `README.md` says what it guarantees and by what."""

from .cgroups import own_cgroups
from .errors import SandboxError
from .limits import Limits
from .probing import ProbeReport, probe, require

__all__ = ["Limits", "ProbeReport", "SandboxError", "own_cgroups", "probe", "require"]
