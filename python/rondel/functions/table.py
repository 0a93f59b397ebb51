"""The functions of rondel.functions.onnx by name, for modules that onnx.py imports itself. onnx.py fills the table."""

FUNCTIONS: dict = {}


def function(name: str):
    return FUNCTIONS[name]
