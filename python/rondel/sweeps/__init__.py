"""Sweeps: a model run for many values of its parameters, in native batches, with a table that is written as results come.

>>> from rondel import sweeps
>>> job = sweeps.MdfSweep("leak.yaml", 200, 0.05, set={"cell.tau": sweeps.span(1, 20, 1000)})   # doctest: +SKIP
>>> sweeps.run(job, "sweep.csv")                                                               # doctest: +SKIP

`rondel.ray.sweep` runs the same jobs on a cluster (docs/scale.md).
"""

from .columns import Summary
from .jobs import MdfSweep, OnnxSweep
from .points import NothingSwept, Over, over, span
from .running import run

__all__ = ["MdfSweep", "NothingSwept", "OnnxSweep", "Over", "Summary", "over", "run", "span"]
