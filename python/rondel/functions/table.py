"""The functions of rondel.functions.onnx by name, for the modules that they are made with. onnx.py fills it."""

FUNCTIONS: dict = {}


def function(name: str):
    return FUNCTIONS[name]
