import resource

import kit

for name in ("AS", "DATA", "NPROC", "NOFILE", "FSIZE", "CPU", "STACK", "MEMLOCK"):
    limit = getattr(resource, "RLIMIT_" + name)
    _, hard = resource.getrlimit(limit)
    if hard == resource.RLIM_INFINITY and name != "CPU":
        raise SystemExit(f"{name} is not limited")
    kit.refused(resource.setrlimit, limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kit.ready()
kit.play()
