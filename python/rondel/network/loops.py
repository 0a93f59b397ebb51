"""Loops and conditionals. Their boundaries are layers; which layers are inside follows from the data flow."""

from .._rondel.network import LoopOutput, TripLimit
from .arguments import checked
from .layers import Handle, ILayer, ITensor


class ILoopBoundaryLayer(ILayer):
    """A layer where values enter or leave a loop."""

    __slots__ = ()

    @property
    def loop(self) -> "ILoop":
        """The ILoop it belongs to."""
        return ILoop(self._network, self._raw.loop)


class ITripLimitLayer(ILoopBoundaryLayer):
    __slots__ = ()


class IRecurrenceLayer(ILoopBoundaryLayer):
    """Input 0: the value in the first trip. Input 1, set later: the value for the next trip."""

    __slots__ = ()


class IIteratorLayer(ILoopBoundaryLayer):
    __slots__ = ()


class ILoopOutputLayer(ILoopBoundaryLayer):
    """Input 1 (optional): the extent of the new axis."""

    __slots__ = ()


class IIfConditionalBoundaryLayer(ILayer):
    """A layer where values enter or leave a conditional."""

    __slots__ = ()

    @property
    def conditional(self) -> "IIfConditional":
        """The IIfConditional it belongs to."""
        return IIfConditional(self._network, self._raw.conditional)


class IConditionLayer(IIfConditionalBoundaryLayer):
    __slots__ = ()


class IIfConditionalInputLayer(IIfConditionalBoundaryLayer):
    __slots__ = ()


class IIfConditionalOutputLayer(IIfConditionalBoundaryLayer):
    __slots__ = ()


class ILoop(Handle):
    """A loop. A layer is inside the loop if it depends on a recurrence or an iterator of the loop by a path that does not
    pass through a loop output.

    Layers inside may use values from outside directly; these are the same in every trip. A loop needs a trip limit. A loop
    whose outputs are not used is never run.
    """

    __slots__ = ()

    @checked
    def add_recurrence(self, initial_value: ITensor) -> IRecurrenceLayer:
        """A value carried from trip to trip.

        initial_value: the value in the first trip, from outside the loop. `set_input(1, tensor)` sets the value for the
        next trip, which must have the same type and shape and usually comes from inside.
        """
        return IRecurrenceLayer(self._network, self._raw.add_recurrence(initial_value._raw))

    @checked
    def add_trip_limit(self, tensor: ITensor, kind: TripLimit) -> ITripLimitLayer:
        """Limits the number of trips. At most one limit of each kind; with both, the loop ends at the first one reached.

        TripLimit.COUNT: tensor is an INT32 or INT64 scalar from outside the loop; 0 or less: no trip.
        TripLimit.WHILE: tensor is a BOOL scalar, tested before each trip. It may depend only on recurrences of this loop
        and on values from outside the loop.
        """
        return ITripLimitLayer(self._network, self._raw.add_trip_limit(tensor._raw, kind))

    @checked
    def add_iterator(self, tensor: ITensor, axis: int = 0, reverse: bool = False) -> IIteratorLayer:
        """One slice of a tensor in each trip, starting with slice 0. The slices do not have the axis.

        tensor: from outside the loop. axis: a negative one counts from the end. reverse: starts with slice T-1, where T
        is the loop's COUNT, or the extent if the loop has no COUNT. A trip that reads past the extent is an error at that
        trip. Iterators of one loop may have different extents.
        """
        return IIteratorLayer(self._network, self._raw.add_iterator(tensor._raw, axis, reverse))

    @checked
    def add_loop_output(self, tensor: ITensor, kind: LoopOutput, axis: int = 0) -> ILoopOutputLayer:
        """A result of the loop.

        LoopOutput.LAST_VALUE: tensor is a recurrence of this loop; its value after the last trip, or its initial value if
        no trip was made. CONCATENATE: the tensor's values of all trips along a new axis. REVERSE: the same, last trip first.
        `set_input(1, length)` sets the extent of the new axis, an INT32 or INT64 scalar from outside the loop. A length
        below the number of trips made is an error at run time; with a larger length the tail is zeros. Without a length
        the extent is the number of trips made.
        """
        return ILoopOutputLayer(self._network, self._raw.add_loop_output(tensor._raw, kind, axis))

    def __repr__(self):
        return f"ILoop('{self.name}')"


class IIfConditional(Handle):
    """A choice between two branches that compute its outputs. Layers that only one branch needs run only when it is taken."""

    __slots__ = ()

    @checked
    def set_condition(self, condition: ITensor) -> IConditionLayer:
        """Sets the condition, a BOOL scalar from outside the conditional. True selects the first tensor of each output."""
        return IConditionLayer(self._network, self._raw.set_condition(condition._raw))

    @checked
    def add_input(self, input: ITensor) -> IIfConditionalInputLayer:
        """A value for use in the branches. Layers that depend on the result are inside the conditional."""
        return IIfConditionalInputLayer(self._network, self._raw.add_input(input._raw))

    @checked
    def add_output(self, true_subgraph_output: ITensor, false_subgraph_output: ITensor) -> IIfConditionalOutputLayer:
        """A result of the conditional: one of two tensors, which must have the same type and rank."""
        raw = self._raw.add_output(true_subgraph_output._raw, false_subgraph_output._raw)
        return IIfConditionalOutputLayer(self._network, raw)

    def __repr__(self):
        return f"IIfConditional('{self.name}')"
