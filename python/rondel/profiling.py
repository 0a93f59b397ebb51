"""Times of a session and its runs: a file of the trace format that chrome://tracing and Perfetto show, or a page by itself."""

import itertools
import json
import os
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import _rondel
from .errors import CallerError
from .texts import profile_table_html


class ProfilePath(str):
    """The name of a profile's file. Notebooks show the file as a table: how often each event was, and how long it took."""

    def _repr_html_(self) -> str | None:
        try:
            return profile_table_html(self, _read_events(self))
        except CallerError:  # it was moved, or written over: the name is shown
            return None


class _Events(list):
    """The events of a session itself; as many are kept as the engine keeps of its own."""

    MOST = 200_000
    dropped = 0

    def keep(self, event):
        if len(self) < self.MOST:
            self.append(event)
        else:
            self.dropped += 1


class Profile:
    """What takes time in a session from now on. Written once: by `finish`, or when the session or the process ends."""

    def __init__(self) -> None:
        self.start_ns = time.monotonic_ns()
        self.engine = _rondel.Profile()
        self._events = _Events()
        self._finish = None

    def begin_file(self, prefix: str, owner: object) -> None:
        """Makes the file, which is written at the latest when `owner` ends. The child of a fork writes a file of its own."""
        now = time.time()
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime(now)) + f"_{int(now * 1000) % 1000:03}"
        name = _new_file(f"{prefix}_{stamp}", ".json")
        self._finish = weakref.finalize(owner, _write, name, os.path.abspath(name), os.getpid(), self._events, self.engine, self.start_ns)

    def add(self, name: str, begin_ns: int, **details: Any) -> None:
        """Adds an event of this thread that began at `begin_ns` and ends now; nothing once the file is written."""
        if self._finish is None or self._finish.alive:
            self._events.keep((name, begin_ns, time.monotonic_ns(), threading.get_native_id(), details))

    def finish(self) -> str | None:
        """Writes the file, and returns its name; None if that has been done."""
        return self._finish()


def _new_file(stem, suffix):
    """Makes an empty file with a name that no file has yet, and returns the name."""
    for count in itertools.count():
        path = f"{stem}_{count}{suffix}" if count else stem + suffix
        try:
            with open(path, "x"):
                return path
        except FileExistsError:
            continue
        except OSError as error:
            raise CallerError(f"the profile cannot be written to '{path}': {error.strerror}; set profile_file_prefix") from error


def _write(name, path, process, events, engine, start_ns):
    """Writes the file `path`, and returns `name` where that is the same file in the current folder, else the path."""
    if os.getpid() != process:
        path = _new_file(f"{path.removesuffix('.json')}_{os.getpid()}", ".json")
    text = "[\n" + ",\n".join(json.dumps(event) for event in trace(events, engine, start_ns)) + "\n]\n"
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise CallerError(f"the profile cannot be written to '{path}': {error.strerror}") from error
    return name if os.path.abspath(name) == path else path


# ---- the trace format ---------------------------------------------------------------------------------------

#: Tracks that are no threads: kind of event -> name of the track. Events that overlap get further tracks.
_TRACKS = {"chunk": "tiers", "compile": "compiling", "queue": "waiting for the compiler", "wait": "waiting for native code"}
_FIRST_TRACK = 1 << 30  # far above the numbers of threads


def trace(own_events: Iterable[tuple[str, int, int, int, dict[str, Any]]], engine: Any, start_ns: int) -> list[dict[str, Any]]:
    """The events of a profile as dicts of the trace format; times are microseconds since `start_ns`. The last ones are the session's own.

    "X": something that took time, with its kind as "cat"; threads are tracks, and so are compiling, tiers and waiting. "C": the memory
    that a session has in use. "M": names of tracks.
    """
    process, found, tracks, threads = os.getpid(), [], {}, set()
    recorded = [_Event(*event) for event in engine.events()]
    for event in sorted(recorded, key=lambda e: (e.begin, -e.end)):
        if event.kind in _TRACKS:
            thread = _free_track(tracks, event)
        else:
            thread = event.thread
            threads.add(thread)
        found.append(_complete(event.shown_name(), event.kind, process, thread, event.begin - start_ns, event.end - start_ns, event.details()))
    found += _memory(recorded, process, start_ns)
    dropped = engine.dropped() + getattr(own_events, "dropped", 0)
    if dropped:
        found.append(_complete(f"{dropped} more events were not kept", "dropped", process, _FIRST_TRACK - 1, 0, 0, {}))
    for name, begin, end, thread, details in own_events:
        threads.add(thread)
        found.append(_complete(name, "Session", process, thread, begin - start_ns, end - start_ns, details))
    names = [(thread, f"thread {thread}", k) for k, thread in enumerate(sorted(threads))]
    names += [(number, name, len(names) + k) for k, (name, number, _) in enumerate(sorted(tracks.values()))]
    return [*_names(names, process), *found]


class _Event:
    """An event of the engine; see ProfileEvent of include/rondel/profile.h."""

    def __init__(self, kind, name, begin, end, thread, trips, interpreted, weight, memory):
        self.kind, self.name, self.begin, self.end, self.thread = kind, name, begin, end, thread
        self.trips, self.interpreted, self.weight, self.memory = trips, interpreted, weight, memory

    def shown_name(self):
        if self.kind == "trip":
            return f"trip {self.trips}"
        if self.kind == "chunk":
            return f"{'interpreted' if self.interpreted else 'native'}: {self.name}"
        return f"prepare {self.name}" if self.kind == "prepare" else self.name.removeprefix("program ")

    def details(self):
        told = {}
        if self.trips >= 0 and self.kind in ("step", "chunk"):
            told["trips"] = self.trips
        if self.interpreted >= 0 and self.kind == "step":
            told["tier"] = self._tier()
        if self.trips >= 0 and self.interpreted < 0 and self.kind == "step":
            told["tier"] = "step by step"
        if self.weight > 1:
            told["stands_for"] = self.weight
        return told

    def _tier(self):
        if self.interpreted == 0:
            return "native"
        if self.trips >= 0 and self.interpreted < self.trips:
            return f"native, after {self.interpreted} interpreted trips"
        return "interpreted"


def _complete(name, kind, process, thread, begin_ns, end_ns, details):
    begin, end = begin_ns / 1e3, end_ns / 1e3
    return {"cat": kind, "pid": process, "tid": thread, "dur": round(end - begin, 3), "ts": round(begin, 3), "ph": "X", "name": name, "args": details}


def _free_track(tracks, event):
    """The number of a track of the event's kind in which nothing else happens at that time. tracks: key -> [name, number, busy until]."""
    kind = _TRACKS[event.kind]
    for count in itertools.count(1):
        name = kind if count == 1 else f"{kind} ({count})"
        track = tracks.setdefault(name, [name, _FIRST_TRACK + len(tracks), event.begin])
        if track[2] <= event.begin:
            track[2] = event.end
            return track[1]


def _memory(events, process, start_ns):
    """The memory in use, where it changes."""
    found, last = [], None
    for event in sorted((e for e in events if e.memory >= 0), key=lambda e: e.end):
        if event.memory != last:
            last = event.memory
            found.append({"cat": "memory", "pid": process, "tid": 0, "ts": round((event.end - start_ns) / 1e3, 3), "dur": 0, "ph": "C", "name": "memory", "args": {"bytes": last}})
    return found


def _names(tracks, process):
    """Names and order of the tracks. The fields that have no meaning here are what readers of ONNX Runtime's profiles look for."""
    rest = {"cat": "", "pid": process, "ts": 0, "dur": 0, "ph": "M"}
    found = [{**rest, "tid": 0, "name": "process_name", "args": {"name": "rondel"}}]
    for thread, name, order in tracks:
        found.append({**rest, "tid": thread, "name": "thread_name", "args": {"name": name}})
        found.append({**rest, "tid": thread, "name": "thread_sort_index", "args": {"sort_index": order}})
    return found


# ---- the page -----------------------------------------------------------------------------------------------


def profile_html(
    events: Sequence[Mapping[str, Any]] | str | os.PathLike[str], title: str | None = None, how: Mapping[str, str] | None = None
) -> str:
    """A page that shows a profile: the dearest nodes, a timeline, what ran natively and why the rest did not, memory over time. It is one
    file that needs no network.

    events: the file that `end_profiling` wrote, or the list that it holds. title: None: the name of the file, or "model". how: what
    `how_it_ran(tiers=True)` told; or else what the last run's event tells.
    """
    from .pages import page

    if isinstance(events, (str, os.PathLike)):
        title = os.path.basename(events) if title is None else title
        events = _read_events(events)
    title = "model" if title is None else title
    told = [e["args"]["how_it_ran"] for e in events if "how_it_ran" in e.get("args", {})]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    spans = [e for e in events if e["ph"] == "X" and e["cat"] != "Session"]
    begin = min((e["ts"] for e in spans), default=0)
    lanes = _lanes(spans)
    shown = [[e["cat"], e["name"], round(e["ts"] - begin, 3), e["dur"], e["tid"], lane, e["args"]] for e, lane in zip(spans, lanes)]
    memory = [[round(e["ts"] - begin, 3), e["args"]["bytes"]] for e in events if e["ph"] == "C"]
    return page(f"{title}: profile", "profile.js", {
        "title": title, "spans": shown, "tracks": names, "memory": memory, "dearest": dearest(spans),
        "how": how if how is not None else told[-1] if told else {},
    })  # fmt: skip


def _read_events(path):
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as error:
        raise CallerError(f"'{os.fspath(path)}' is no profile that can be read: {error}") from error
    fields = {"cat", "pid", "tid", "dur", "ts", "ph", "name", "args"}
    if not isinstance(found, list) or not all(isinstance(event, dict) and fields <= set(event) for event in found):
        raise CallerError(f"'{os.fspath(path)}' is no profile: expected a list of events, each with {', '.join(sorted(fields))}")
    return found


def dearest(spans: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """[name, seconds in itself, seconds in all, times, tiers] of each node, the dearest first. A span of trips that are not all recorded
    counts as often as it stands for; "prepare" is a row of its own."""
    rows = defaultdict(lambda: [0.0, 0.0, 0, set()])
    for event, own in zip(spans, _own_times(spans)):
        if event["cat"] not in ("step", "prepare", "compile", "load"):
            continue
        weight = event["args"].get("stands_for", 1)
        row = rows["compile " + event["name"] if event["cat"] == "compile" else event["name"]]
        row[0] += own * weight / 1e6
        row[1] += event["dur"] * weight / 1e6
        row[2] += weight
        row[3].add(event["args"].get("tier", ""))
    found = [[name, own, whole, times, ", ".join(sorted(tiers - {""}))] for name, (own, whole, times, tiers) in rows.items()]
    return sorted(found, key=lambda row: -row[1])


def _own_times(spans):
    """The microseconds of each span that are not those of steps and preparations inside it. Spans that begin at the same time are nested."""
    own = [e["dur"] for e in spans]
    for k, inside in _inside(spans):
        if spans[k]["cat"] in ("step", "prepare"):
            for around in inside:
                if spans[around]["cat"] != "trip":
                    own[around] -= spans[k]["dur"] * spans[k]["args"].get("stands_for", 1) / spans[around]["args"].get("stands_for", 1)
                    break
    return [max(0.0, t) for t in own]


def _lanes(spans):
    """The depth of each span in its track."""
    depth = [0] * len(spans)
    for k, inside in _inside(spans):
        depth[k] = len(inside)
    return depth


def _inside(spans):
    """(number of a span, numbers of the spans of its track around it, the nearest first), for all spans by begin."""
    open_spans = defaultdict(list)
    for k in sorted(range(len(spans)), key=lambda k: (spans[k]["ts"], -spans[k]["dur"])):
        event, around = spans[k], open_spans[spans[k]["tid"]]
        while around and spans[around[-1]]["ts"] + spans[around[-1]]["dur"] < event["ts"] + event["dur"] - 0.002:
            around.pop()
        yield k, around[::-1]
        around.append(k)
