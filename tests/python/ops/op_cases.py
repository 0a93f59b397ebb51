"""Inputs for the differential test of ops: for each op, the tensors and attributes worth trying.

A case is a list of input arrays (None: left out), the attributes, and the number of outputs. Differences between opsets
(an attribute that became an input) are handled where the case is made, by the argument `opset`.
"""

import arithmetic_cases
import image_signal_text_cases
import movement_cases
import product_cases

# op -> (dtypes, cases, rtol for float32). rtol 0: bit for bit.
OPS = {**arithmetic_cases.OPS, **product_cases.OPS, **movement_cases.OPS, **image_signal_text_cases.OPS}
