"""Models in ModECI's Model Description Format (MDF), run as one loop.

>>> import rondel.mdf
>>> results = rondel.mdf.load("States.json").run(200, 0.01)   # doctest: +SKIP
>>> results["sine_node.out_port"], results["time"]            # doctest: +SKIP

docs/mdf.md defines the meaning of a model.
"""

from .evaluable_graph import EvaluableGraph
from .install import install, uninstall
from .model import Model, Results, Simulation, load, loads

__all__ = ["EvaluableGraph", "Model", "Results", "Simulation", "install", "load", "loads", "uninstall"]
