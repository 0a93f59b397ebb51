"""Which parameters no gradient reaches. The engine knows: `rondel.grad` writes zeros for them, added up where a loop or a branch reads one."""

from collections import ChainMap

from ..naming import subgraphs

_KEEP_ZEROS = ("Identity", "Expand", "Add")  # what `rondel.grad` makes of these zeros


def zeros_among(graph, names):
    """The set of those `names`, values of a model that `rondel.grad` made, that are zeros whatever the model's inputs are."""
    zeros = _Zeros(graph)
    return {name for name in names if zeros.holds(name)}


class _Zeros:
    """What is zeros in a graph. outer: that of the graph around it, whose values it sees."""

    def __init__(self, graph, outer=None):
        own = dict.fromkeys(value.name for value in graph.input)  # made by nothing here
        own.update((tensor.name, tensor) for tensor in graph.initializer)
        own.update((name, (node, k)) for node in graph.node for k, name in enumerate(node.output))
        self._from = ChainMap(own, *outer._from.maps) if outer else ChainMap(own)

    def holds(self, name, assumed=()):
        """Whether a value is zeros if those of `assumed` are."""
        from onnx import numpy_helper

        waiting, seen = [name], set(assumed)
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            made = self._from.get(name)
            if made is None:
                return False
            if not isinstance(made, tuple):
                if numpy_helper.to_array(made).any():
                    return False
            elif made[0].op_type in _KEEP_ZEROS:
                waiting += made[0].input[:1] if made[0].op_type == "Expand" else made[0].input
            elif not self._result(*made):
                return False
        return True

    def _result(self, node, k):
        """Whether result `k` of a node with graphs is zeros."""
        if node.op_type == "If":
            return all(_Zeros(branch, self).holds(branch.output[k].name) for branch in subgraphs(node))
        return node.op_type in ("Loop", "Scan") and self._state(node, k)

    def _state(self, node, k):
        """Whether result `k` is a state that begins as zeros and stays zeros in each trip."""
        skipped = 2 if node.op_type == "Loop" else 0  # the trip count and the condition
        scanned = next((a.i for a in node.attribute if a.name == "num_scan_inputs"), 0)
        if k >= len(node.input) - skipped - scanned or not self.holds(node.input[skipped + k]):
            return False
        (body,) = subgraphs(node)
        return _Zeros(body, self).holds(body.output[k + skipped // 2].name, [body.input[skipped + k].name])
