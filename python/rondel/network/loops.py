"""Loops and conditionals: constructs whose boundaries are layers, and whose insides follow from the data flow."""

from .._rondel.network import LoopOutput, TripLimit
from .arguments import Attribute, checked
from .layers import Handle, ILayer, ITensor


class ILoopBoundaryLayer(ILayer):
    """A layer where values enter or leave a loop."""

    __slots__ = ()

    @property
    def loop(self):
        """The ILoop it belongs to."""
        return ILoop(self._network, self._raw.loop)


class ITripLimitLayer(ILoopBoundaryLayer):
    __slots__ = ()
    kind = Attribute(TripLimit, "COUNT or WHILE.", settable=False)


class IRecurrenceLayer(ILoopBoundaryLayer):
    """Input 0: its value in the first trip. Input 1, set later: its value in the next."""

    __slots__ = ()


class IIteratorLayer(ILoopBoundaryLayer):
    __slots__ = ()
    axis = Attribute(int, "The axis it goes along; a negative one counts from the end.")
    reverse = Attribute(bool, "True: from the last trip's slice to the first.")


class ILoopOutputLayer(ILoopBoundaryLayer):
    """Input 1, which may be left out: the extent of the new axis."""

    __slots__ = ()
    kind = Attribute(LoopOutput, "LAST_VALUE, CONCATENATE or REVERSE.", settable=False)
    axis = Attribute(int, "The new axis; a negative one counts from the end of the result.")


class IIfConditionalBoundaryLayer(ILayer):
    """A layer where values enter or leave a conditional."""

    __slots__ = ()

    @property
    def conditional(self):
        """The IIfConditional it belongs to."""
        return IIfConditional(self._network, self._raw.conditional)


class IConditionLayer(IIfConditionalBoundaryLayer):
    __slots__ = ()


class IIfConditionalInputLayer(IIfConditionalBoundaryLayer):
    __slots__ = ()


class IIfConditionalOutputLayer(IIfConditionalBoundaryLayer):
    __slots__ = ()


class ILoop(Handle):
    """A loop. A layer is inside of it when it depends on a recurrence or iterator of it other than through a loop output.

    Inside, values from outside may be used directly: they are the same in every trip. A loop needs a trip limit. One whose
    outputs nobody needs is never run.
    """

    __slots__ = ()

    name = Attribute(str, "Shown in errors.")

    @checked
    def add_recurrence(self, initial_value: ITensor) -> IRecurrenceLayer:
        """A value carried from trip to trip.

        initial_value: its value in the first trip, from outside of the loop. What the next trip gets is given later, by
        `set_input(1, tensor)`; it has the same type and shape, and usually comes from inside.
        """
        return IRecurrenceLayer(self._network, self._raw.add_recurrence(initial_value._raw))

    @checked
    def add_trip_limit(self, tensor: ITensor, kind: TripLimit) -> ITripLimitLayer:
        """How many trips it makes. At most one limit of each kind; of two, the one that is reached first counts.

        TripLimit.COUNT: tensor is an INT32 or INT64 scalar from outside of the loop; 0 or less: no trip.
        TripLimit.WHILE: tensor is a BOOL scalar, tested before each trip, that depends only on recurrences of this loop
        and on values from outside of it.
        """
        return ITripLimitLayer(self._network, self._raw.add_trip_limit(tensor._raw, kind))

    @checked
    def add_iterator(self, tensor: ITensor, axis: int = 0, reverse: bool = False) -> IIteratorLayer:
        """One slice of a tensor a trip, the first in the first trip; the axis goes.

        tensor: from outside of the loop. axis: a negative one counts from the end. reverse: slice T-1 in the first trip,
        T being the loop's trip count, or the extent where it has none. A trip that reads past the extent is an error at
        that trip; iterators of different extents may go together.
        """
        return IIteratorLayer(self._network, self._raw.add_iterator(tensor._raw, axis, reverse))

    @checked
    def add_loop_output(self, tensor: ITensor, kind: LoopOutput, axis: int = 0) -> ILoopOutputLayer:
        """What the loop gives to the outside.

        LoopOutput.LAST_VALUE: tensor is a recurrence of this loop; its value after the last trip, the initial one if there
        was none. CONCATENATE: the tensor's values of all trips along a new axis. REVERSE: the same, last trip first.
        `set_input(1, length)` gives the extent of the new axis, an INT32 or INT64 scalar from outside of the loop: below
        the trips made it is an error at run time, above them the rest is zeros. Without it: exactly the trips made.
        """
        return ILoopOutputLayer(self._network, self._raw.add_loop_output(tensor._raw, kind, axis))

    def __repr__(self):
        return f"ILoop('{self.name}')"


class IIfConditional(Handle):
    """A choice between two ways of computing its outputs. Layers that only one way needs run only when it is taken."""

    __slots__ = ()

    name = Attribute(str, "Shown in errors.")

    @checked
    def set_condition(self, condition: ITensor) -> IConditionLayer:
        """A BOOL scalar from outside of the conditional: True takes the first tensor of each output."""
        return IConditionLayer(self._network, self._raw.set_condition(condition._raw))

    @checked
    def add_input(self, input: ITensor) -> IIfConditionalInputLayer:
        """A value as the two ways see it. What depends on it is inside of the conditional."""
        return IIfConditionalInputLayer(self._network, self._raw.add_input(input._raw))

    @checked
    def add_output(self, true_subgraph_output: ITensor, false_subgraph_output: ITensor) -> IIfConditionalOutputLayer:
        """What the conditional gives to the outside: the one tensor or the other, of one type and rank."""
        raw = self._raw.add_output(true_subgraph_output._raw, false_subgraph_output._raw)
        return IIfConditionalOutputLayer(self._network, raw)

    def __repr__(self):
        return f"IIfConditional('{self.name}')"
