"""The table of all ops: a name, and a function of the attributes and the inputs.

A function gives one value, or a list of them for the ops that `core.MANY` names. `attributes["outputs"]` is the number of outputs.
"""

from . import elementwise, movement, products, recurrent, reductions, reference, sequences

OPS = {**elementwise.OPS, **reductions.OPS, **movement.OPS, **products.OPS, **sequences.OPS, **recurrent.OPS, **reference.OPS}
