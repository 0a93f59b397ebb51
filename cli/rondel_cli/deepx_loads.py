"""What a program has loaded, for the model that is written of it."""


class Recorded:
    """A folder as deepx sessions take it, which remembers what lines have loaded from it: the files may be others by the time that the model
    is written, by lines of the program itself too."""

    def __init__(self, folder):
        self._folder, self._loaded, self._of_this_line = folder, [], []

    def save(self, path, value):
        self._folder.save(path, value)

    def load(self, path):
        return self._remembered(self._folder.load(path))

    def load_data(self, path, name, shape):
        return self._remembered(self._folder.load_data(path, name, shape))

    def told(self, line, metadata, error):
        """The `on_line` of a run: what a line has loaded that failed is forgotten."""
        if error is None:
            self._loaded += self._of_this_line
        self._of_this_line = []

    def again(self):
        """A folder that gives the same lines the same values, in their order."""
        return _Again(iter(self._loaded))

    def _remembered(self, value):
        self._of_this_line.append(value)
        return value


class _Again:
    """An export loads, and saves nothing."""

    def __init__(self, loaded):
        self._loaded = loaded

    def load(self, path):
        return next(self._loaded)

    def load_data(self, path, name, shape):
        return next(self._loaded)
