"""The folder in which compiled code is kept, so that later processes need not compile again.

An entry holds the native code of one loop or group of ops, for this processor and this build of Rondel. A model itself is not kept, nor
its weights or inputs. The environment variable RONDEL_CACHE_DIR names the folder; else it is `rondel` in XDG_CACHE_HOME, or in `.cache`
of the home folder. With `RONDEL_CACHE_DIR=off` nothing is kept. The variable is read when code is first needed.

The folder and the files must belong to this user, and nobody else may write to them. Damaged files are removed and compiled again.

>>> rondel.code_cache.info().entries >= 0
True
"""

from dataclasses import dataclass

from . import _rondel


@dataclass(frozen=True)
class CodeCacheInfo:
    """The state of the folder.

    folder: its path; empty if there is none. off: why nothing is kept; empty if code is kept. entries: their number. bytes: of all
    entries. most_bytes: above it, the entries that were unused for longest are removed.
    """

    folder: str
    off: str
    entries: int
    bytes: int
    most_bytes: int


def info() -> CodeCacheInfo:
    """What is in the folder."""
    return CodeCacheInfo(*_rondel.code_cache_info())


def clear() -> CodeCacheInfo:
    """Removes all entries, and tells what was there. Code that this process uses stays in memory."""
    return CodeCacheInfo(*_rondel.clear_code_cache())
