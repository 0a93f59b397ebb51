"""deepx: programs with one instruction per line, on named tensors, vectors and scalars ("arguments"). See docs/deepx.md.

>>> from rondel import deepx
>>> session = deepx.Session()
>>> session.run("newtensor@float32 [2 3] -> t\\nconstant 1.5 -> t")
[]
>>> session["t"].sum()
np.float32(9.0)
"""

from .server import Server
from .session import Instruction, Session, ends_in_block, formatted, help, instructions

__all__ = ["Instruction", "Server", "Session", "ends_in_block", "formatted", "help", "instructions"]
