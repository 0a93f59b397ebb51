"""How much memory a run may take, if nobody says it."""

from __future__ import annotations

import os
import pathlib

#: The share of the machine's memory that a run may take.
_SHARE = 0.5
#: Where Linux tells how much a container may take.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def default_budget() -> int:
    """Half of the memory of the machine, or of the container if it has less."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _LIMITS:
        try:
            sizes.append(int(pathlib.Path(path).read_text()))
        except (OSError, ValueError):  # there is no such file, or it says "max"
            pass
    return int(_SHARE * min(sizes))
