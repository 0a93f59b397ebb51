"""The prompt of `rondel deepx`: lines are run as they are entered."""

import os
import pathlib
import sys

import rondel
from rondel import deepx
from rondel.texts import render

from .table import coloured

_WORDS = {
    "help": "help [INSTRUCTION ...]: what there is, or what instructions do",
    "show": "show [NAME ...]: all names with their types, or values",
    "exit": "exit, quit or Ctrl-D: leave",
}
_LINES_KEPT = 1000


class Prompt:
    """Reads lines and runs them in a session.

    read: called with a prompt text, returns the next line without its line end; raises EOFError at the end of input, and
    KeyboardInterrupt to discard a line. on_line: as in deepx.Session.run.
    """

    def __init__(self, session, read=input, on_line=None):
        self._session, self._read, self._on_line, self._program = session, read, on_line, []

    def run(self):
        """Runs until the end of input. Returns the program: the lines that did not fail."""
        print("deepx instructions, one per line; help lists them")
        with _LineEditor(self.completions):
            while (text := self._next()) is not None and self._act(text):
                pass
        return "".join(self._program)

    def completions(self, begin):
        """The completions of a prefix: names of the session, instructions, words of the prompt."""
        known = {*self._session.names(), *_WORDS, *(row.name for row in deepx.instructions())}
        return sorted(word for word in known if word.startswith(begin))

    def _next(self):
        """A line, or the lines of a block; None at the end."""
        text, shown = "", "deepx> "
        while True:
            try:
                text += self._read(shown) + "\n"
            except EOFError:
                print()
                return None
            except KeyboardInterrupt:
                print()
                text, shown = "", "deepx> "
                continue
            if not deepx.ends_in_block(text):
                return text
            shown = "   ... "

    def _act(self, text):
        """Runs a line. Returns False if the line ends the prompt."""
        word, *operands = text.partition("//")[0].split() or [""]
        try:
            if word in ("exit", "quit"):
                if operands:
                    raise rondel.CallerError(f"'{word}' takes no operands")
                return False
            if word == "help":
                print("\n".join(map(deepx.help, operands)) if operands else _overview())
            elif word == "show":
                print("\n".join(str(self._value(name)) for name in operands) if operands else self._names())
            else:
                self._session.run(text, on_line=self._on_line)
                self._program.append(text)
        except rondel.Error as error:
            print(coloured(f"rondel: {error}", "31", sys.stderr), file=sys.stderr)
        except KeyboardInterrupt:
            print("interrupted; the line has no effect", file=sys.stderr)
        return True

    def _names(self):
        rows = []
        for name in self._session.names():
            kind, dtype, shape = self._session.kind(name)
            rows.append((name, kind, dtype, list(shape)))
        return render(("name", "kind", "dtype", "shape"), rows) if rows else "no names yet"

    def _value(self, name):
        if name not in self._session:
            raise rondel.CallerError(f"there is no '{name}'")
        return self._session[name]


def _overview():
    rows = [(row.usage, row.doc) for row in deepx.instructions()]
    return render(("instruction", "what it does"), rows) + "\n\n" + "\n".join(_WORDS.values())


class _LineEditor:
    """Completion and history, if Python has readline. The history is kept in a file."""

    def __init__(self, completions):
        self._completions = completions

    def __enter__(self):
        try:
            import readline
        except ImportError:
            return
        if not sys.stdin.isatty():
            return
        readline.set_completer(self._complete)
        readline.set_completer_delims(" \t\n()[]{}<>,:|@-")
        readline.parse_and_bind("tab: complete")
        try:
            readline.read_history_file(_history())
        except OSError:
            pass

    def _complete(self, begin, number):
        found = self._completions(begin)
        return found[number] if number < len(found) else None

    def __exit__(self, *_):
        if "readline" not in sys.modules or not sys.stdin.isatty():
            return
        import readline

        readline.set_history_length(_LINES_KEPT)
        try:
            _history().parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(_history())
        except OSError:  # a history that cannot be kept is no reason to fail
            pass


def _history():
    state = os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local" / "state"
    return pathlib.Path(state) / "rondel" / "deepx_history"
