"""Why the machine does not run a program."""


class WrongProgram(Exception):
    """A node cannot run: shapes that do not go together, an index out of range, ..."""


class TooLong(WrongProgram):
    """More nodes run, or larger tensors are made, than were allowed."""


class Inexact(WrongProgram):
    """The bits of a result would depend on the order of evaluation."""
