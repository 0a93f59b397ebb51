"""A cache of sessions of graphs that were written node by node, by their serialized models."""

import threading
from collections import OrderedDict

from .. import _rondel
from ..models import issue_warnings
from ..options import SessionOptions

#: The number of cached sessions; the least recently used one is evicted first.
MOST = 512
_kept: OrderedDict = OrderedDict()
_lock = threading.Lock()


def find(key):
    """The cached session of this key, or None."""
    with _lock:
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
        return found


def keep(key, session):
    with _lock:
        _kept[key] = session
        while len(_kept) > MOST:
            _kept.popitem(last=False)


def session_of(writer):
    """The session of a writer's model, which is compiled once. The writer must not be used afterwards."""
    key = writer.model_bytes()
    found = find(key)
    if found is not None:
        return found
    made, warnings = _rondel.session_of_writer(writer, SessionOptions())
    issue_warnings(warnings, stacklevel=6)
    keep(key, made)
    return made
