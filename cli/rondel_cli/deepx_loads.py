"""Records the values that a program loads, for the ONNX model that is written from the program."""


class Recorded:
    """A folder for deepx sessions that records the loaded values: the files may change before the model is written, even by lines of
    the program itself."""

    def __init__(self, folder):
        self._folder, self._loaded, self._of_this_line = folder, [], []

    def save(self, path, value):
        self._folder.save(path, value)

    def load(self, path):
        return self._remembered(self._folder.load(path))

    def load_data(self, path, name, shape):
        return self._remembered(self._folder.load_data(path, name, shape))

    def on_line(self, line, metadata, error):
        """The `on_line` of a run: the values that a failed line has loaded are dropped."""
        if error is None:
            self._loaded += self._of_this_line
        self._of_this_line = []

    def replay(self):
        """A folder that returns the recorded values again, in order."""
        return _Replay(iter(self._loaded))

    def _remembered(self, value):
        self._of_this_line.append(value)
        return value


class _Replay:
    """A folder for exports, which load but never save."""

    def __init__(self, loaded):
        self._loaded = loaded

    def load(self, path):
        return next(self._loaded)

    def load_data(self, path, name, shape):
        return next(self._loaded)
